"""Coscheduling's record of one group, besides what every kind of group has.

`PodGroups` changes it, and so do `MembersAtPermit`, `MinResourcesGuard` and `GroupActivation`. All times are on the
engine's clock. After a restart, only what the API stores is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from muster.framework.contract import Timer, Topology
from muster.framework.groups import GroupRecord

from .api import PodGroup
from .topology import topology_of

_LONGEST_SIBLING_BACKOFF_SECONDS = 10.0


class PodGroupReason(StrEnum):
    """The reason why a group is, or is not, scheduled, as conditions and events name it."""

    SCHEDULED = "Scheduled"
    """The quorum has nodes."""
    WAITING_FOR_PODS = "WaitingForPods"
    """Fewer pods than minMember exist, or name one of Muster's schedulers and may be tried."""
    GATED_PODS = "GatedPods"
    """Enough pods exist, but some have scheduling gates."""
    NOT_ENOUGH_RESOURCES = "NotEnoughResources"
    """Less than minResources is free."""
    UNSCHEDULABLE = "Unschedulable"
    """The members that the group lacks do not fit on the nodes together."""
    QUOTA_EXCEEDED = "QuotaExceeded"
    """The members that the group lacks would exceed a quota."""
    BINDING_FAILED = "BindingFailed"
    """Members of its quorum have nodes, and the API refused to bind the others."""
    TIMEOUT = "Timeout"
    """Members had nodes, but the others did not get nodes in time."""
    SCHEDULING = "Scheduling"
    """Enough pods exist, but fewer than the quorum have nodes. Not announced: the state of the pods shows it."""
    LOST_MEMBERS = "LostMembers"
    """The quorum had nodes, but pods are gone and their successors have no nodes yet. Not announced either."""
    HELD = "Held"
    """An operator holds the group. Not announced: its annotations show it."""


@dataclass(slots=True)
class GroupState:
    """The state of a group's attempts, from its first member until it has none left.

    Attributes:
        failed_at: when the group last failed to be placed; None if it has not failed since its quorum was complete.
        failures: how often it has failed since then.
        quorum_announced: whether the bound quorum has been announced.
        has_newcomer: whether a member has arrived since the last attempt.
        lacks_min_resources: whether less than minResources was free at the last attempt.
        may_fit_now: whether an event since then may have freed enough for minResources.
        refused: by pod key, why the API did not bind a member that had a node.
    """

    failed_at: float | None = None
    failures: int = 0
    quorum_announced: bool = False
    has_newcomer: bool = False
    lacks_min_resources: bool = False
    may_fit_now: bool = False
    refused: dict[str, str] = field(default_factory=dict)

    @property
    def sibling_backoff_seconds(self) -> float:
        """The time, in seconds, for which members are not retried together after the last failure (PodByPod)."""
        return min(_LONGEST_SIBLING_BACKOFF_SECONDS, 2.0 ** (self.failures - 1)) if self.failures else 0.0

    def backs_off_siblings(self, now: float) -> bool:
        """Whether this time is not over at `now`."""
        return self.failed_at is not None and now - self.failed_at < self.sibling_backoff_seconds

    def fail(self, now: float) -> None:
        """The group did not fit."""
        self.failed_at = now
        self.failures += 1
        self.may_fit_now = True

    def forget_failures(self) -> None:
        """Forget how often the group failed, and when, because the quorum has nodes."""
        self.failed_at, self.failures = None, 0


@dataclass(slots=True)
class MinResources:
    """The `minResources` of a group.

    Attributes:
        asked: as in the spec.
        need: the same in the units of `capacity.wanted`.
        progressed: when a member last got a node; None before the first.
        over: whether nothing is kept free for the group any more.
    """

    asked: Mapping[str, str | int]
    need: Mapping[str, int]
    progressed: float | None = None
    over: bool = False


@dataclass(slots=True, eq=False)
class PodGroupRecord(GroupRecord[PodGroup]):
    """The record of one PodGroup.

    Attributes:
        created: when its PodGroup was created.
        state: the state of its attempts; None while it has no member.
        waits_until: by UID, when the wait of each member at Permit ends, in the order in which waits began.
        min_resources: its minResources; None without any.
        retry: when the group is retried, and the timer for it.
        is_gathering: whether the group is about to be retried because a member arrived.
    """

    created: float = 0.0
    state: GroupState | None = None
    waits_until: dict[str, float] = field(default_factory=dict)
    min_resources: MinResources | None = None
    retry: tuple[float, Timer] | None = None
    is_gathering: bool = False

    @property
    def quorum(self) -> int:
        """The PodGroup's minMember; 0 while there is no PodGroup."""
        return self.group.spec.min_member if self.group is not None else 0

    @property
    def missing(self) -> int:
        """The number of members that still need a node for the quorum; 0 or less when the group has it."""
        return self.quorum - len(self.placed)

    @property
    def quorum_is_bound(self) -> bool:
        """Whether as many members are bound as the group needs."""
        return self.group is not None and len(self.bound) >= self.group.spec.min_member

    def tried(self) -> None:
        """The group was tried with all members that exist."""
        self.left_out_members = False
        if self.state is not None:
            self.state.has_newcomer = False

    def topology(self) -> Topology | None:
        """The domain in which members have to be together; None for anywhere. Raises AnnotationError."""
        return None if self.group is None else topology_of(self.group.metadata.annotations)
