"""Arguments of the Coscheduling plugin: those of scheduler-plugins, and one of Muster's own."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field

from muster.framework.contract.arguments import Int64, PluginArgs, Problem, Text, invalid, unsupported

TRANSACTION = "Transaction"
POD_BY_POD = "PodByPod"
PLACEMENTS = (TRANSACTION, POD_BY_POD)
DEFAULT_WAIT_SECONDS = 60


class CoschedulingArgs(PluginArgs):
    """The plugin's arguments.

    Attributes:
        permit_waiting_time_seconds: how long a member waits at Permit for its siblings (PodByPod) if the PodGroup does
            not say; 0 means 60. minResources are kept for later members for the same time.
        denied_pg_expiration_time_seconds: how long a denied group is rejected without a trial.
        pod_group_backoff_seconds: how long a group that did not fit is left alone; 0 for not at all.
        pod_group_reject_percentage: with PodByPod, when a member finds no node: reject its waiting siblings if more
            than this share of minMember is still missing, else let them wait.
        placement: `Transaction` places what a group lacks at once or not at all; `PodByPod` is the classic way, where
            members are placed one by one and wait for each other at Permit.
    """

    permit_waiting_time_seconds: Int64 = DEFAULT_WAIT_SECONDS
    denied_pg_expiration_time_seconds: Int64 = Field(default=3, alias="deniedPGExpirationTimeSeconds")
    pod_group_backoff_seconds: Int64 = 0
    pod_group_reject_percentage: Int64 = 10
    placement: Text = TRANSACTION

    def problems(self, path: str) -> Iterator[Problem]:
        """The problems with the values; `path` is the path of the arguments in the configuration."""
        for field, value in (
            ("permitWaitingTimeSeconds", self.permit_waiting_time_seconds),
            ("deniedPGExpirationTimeSeconds", self.denied_pg_expiration_time_seconds),
            ("podGroupBackoffSeconds", self.pod_group_backoff_seconds),
        ):
            if value < 0:
                yield invalid(f"{path}.{field}", value, "must be greater than or equal to 0")
        if not 0 <= self.pod_group_reject_percentage <= 100:
            yield invalid(
                f"{path}.podGroupRejectPercentage", self.pod_group_reject_percentage, "not in valid range [0-100]"
            )
        if self.placement not in PLACEMENTS:
            yield unsupported(f"{path}.placement", self.placement, PLACEMENTS)
