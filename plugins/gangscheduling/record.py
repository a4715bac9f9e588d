"""GangScheduling's record of one group, besides what every kind of group has, and the reasons that it announces.

`NativePodGroups` changes it, and so does the plugin. After a restart, only what the API stores is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from muster.framework.contract import QUOTA_EXCEEDED, Status, Topology
from muster.framework.groups import GroupRecord

from .api import NativePodGroup
from .trees import topology_of


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
    """The reason of a group that is rejected with this status."""
    if not status.rejected:
        return NativePodGroupReason.SCHEDULER_ERROR
    over_quota = status.condition_reason == QUOTA_EXCEEDED
    return NativePodGroupReason.QUOTA_EXCEEDED if over_quota else NativePodGroupReason.UNSCHEDULABLE


@dataclass(slots=True, eq=False)
class NativePodGroupRecord(GroupRecord[NativePodGroup]):
    """The record of one PodGroup.

    Attributes:
        was_unfit: whether too few members fitted in the last attempt, and no member has arrived since.
        lateness_reported: whether an Event has reported that the group waits for pods.
    """

    was_unfit: bool = False
    lateness_reported: bool = False

    @property
    def has_been_scheduled(self) -> bool:
        """Whether SCHEDULED has been announced."""
        return self.announced is not None and self.announced.reason is NativePodGroupReason.SCHEDULED

    @property
    def reports_hold(self) -> bool:
        """Whether users see a hold: in the latest announcement, else in the condition of an earlier process."""
        if self.announced is not None:
            return self.announced.reason is NativePodGroupReason.HELD
        condition = None if self.group is None else self.group.condition()
        return condition is not None and condition.reason == NativePodGroupReason.HELD

    @property
    def quorum(self) -> int:
        """The number of pods that have to be scheduled at once; 0 while there is no PodGroup."""
        return 0 if self.group is None else self.group.spec.min_count

    @property
    def missing(self) -> int:
        """The number of members that still must get a node for the quorum."""
        return self.quorum - self.placed_or_succeeded

    @property
    def placed_or_succeeded(self) -> int:
        """How many members have a node or have succeeded; a member that succeeded needs no successor."""
        return len(self.placed) + self.succeeded

    @property
    def existing(self) -> int:
        """The number of members that exist or have succeeded, of any scheduler, placed or not."""
        return len(self.pods) + self.succeeded

    @property
    def has_enough(self) -> bool:
        """Whether as many members exist as the gang needs; always, without a gang policy."""
        spec = None if self.group is None else self.group.spec
        return spec is None or spec.scheduling_policy.gang is None or self.existing >= spec.min_count

    @property
    def topology(self) -> Topology | None:
        """The domain in which its own members have to be together; None for anywhere."""
        return None if self.group is None else topology_of(self.group.spec.scheduling_constraints)
