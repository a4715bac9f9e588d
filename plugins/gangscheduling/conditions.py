"""The current condition `PodGroupInitiallyScheduled`: kube-scheduler's `updatePodGroupCondition`.

Pure: the reporter passes in the object and the latest decision on it, and writes the result.
"""

from __future__ import annotations

from enum import StrEnum

from muster.framework.contract import QUOTA_EXCEEDED, Status
from muster.framework.groups import Announcement, transition_time

from .api import INITIALLY_SCHEDULED, NativePodGroup, NativePodGroupCondition


class NativePodGroupReason(StrEnum):
    """The reason why a group is, or is not, scheduled, with the names that Kubernetes uses in the condition.

    Kubernetes has no holds.
    """

    SCHEDULED = "Scheduled"
    UNSCHEDULABLE = "Unschedulable"
    QUOTA_EXCEEDED = "QuotaExceeded"
    SCHEDULER_ERROR = "SchedulerError"
    HELD = "Held"
    """An operator holds the group, or a group above it."""


def reason_of(status: Status) -> NativePodGroupReason:
    """The reason of a group that is refused with this status."""
    if not status.rejected:
        return NativePodGroupReason.SCHEDULER_ERROR
    over_quota = status.condition_reason == QUOTA_EXCEEDED
    return NativePodGroupReason.QUOTA_EXCEEDED if over_quota else NativePodGroupReason.UNSCHEDULABLE


def next_condition(group: NativePodGroup, said: Announcement, *, now: float) -> NativePodGroupCondition | None:
    """The condition to write; None if nothing is to be written.

    Once True, the condition stays as it is. Its transition time is `now`, in seconds since the epoch, if its status
    changes.
    """
    before = group.condition()
    status = "True" if said.reason is NativePodGroupReason.SCHEDULED else "False"
    if before is not None and before.status == "True" != status:
        return None
    after = NativePodGroupCondition(
        type=INITIALLY_SCHEDULED,
        status=status,
        reason=said.reason.value,
        message=said.message,
        last_transition_time=transition_time(before, status, now=now),
        observed_generation=said.generation,
    )
    return None if after == before else after
