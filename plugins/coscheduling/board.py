"""The board: what was last decided about each group, for whoever tells people.

The plugin posts, the controller reads and subscribes. Both run on one event loop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class Reason(StrEnum):
    """Why a group is, or is not, scheduled: the machine-readable word of the condition and of events."""

    SCHEDULED = "Scheduled"
    """Its quorum has nodes."""
    WAITING_FOR_PODS = "WaitingForPods"
    """Fewer pods than minMember exist, or are there for Muster to try."""
    GATED_PODS = "GatedPods"
    """Enough pods exist, but some have scheduling gates."""
    NOT_ENOUGH_RESOURCES = "NotEnoughResources"
    """What is free is less than minResources."""
    UNSCHEDULABLE = "Unschedulable"
    """The members that it lacks do not fit on the nodes together."""
    TIMEOUT = "Timeout"
    """Members held nodes, but the others did not come in time."""
    SCHEDULING = "Scheduling"
    """Enough pods exist, and fewer than its quorum have nodes yet. No verdict: the pods show it."""
    LOST_MEMBERS = "LostMembers"
    """Its quorum had nodes; pods went, and their successors have none yet. No verdict: the pods show it."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The last word on a group.

    Attributes:
        reason: the word.
        message: a sentence with the counts.
        wall: when, in seconds since the epoch.
    """

    reason: Reason
    message: str
    wall: float


class Board:
    """Verdicts by group (`namespace/name`)."""

    def __init__(self) -> None:
        self._verdicts: dict[str, Verdict] = {}
        self._readers: list[Callable[[str], None]] = []

    def subscribe(self, reader: Callable[[str], None]) -> None:
        """`reader` is called with the group whose verdict has changed; it must not block."""
        self._readers.append(reader)

    def get(self, group: str) -> Verdict | None:
        """The last verdict."""
        return self._verdicts.get(group)

    def post(self, group: str, verdict: Verdict) -> None:
        """A verdict was reached; one that says the same as the last is left out, unless it is another timeout."""
        last = self._verdicts.get(group)
        same = last is not None and (last.reason, last.message) == (verdict.reason, verdict.message)
        if same and verdict.reason is not Reason.TIMEOUT:
            return
        self._verdicts[group] = verdict
        for reader in self._readers:
            reader(group)

    def forget(self, group: str) -> None:
        """The group is gone."""
        self._verdicts.pop(group, None)
