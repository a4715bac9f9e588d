"""What Coscheduling remembers of one group, besides what every kind of group has.

`PodGroups` and those whom it has make changes: `WaitingMembers`, `Reservations` and `GroupActivation`.
All times are on the engine's clock. A restart forgets everything but what the API tells.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from muster.framework.contract import Timer, Topology
from muster.framework.groups import GroupRecord

from .api import PodGroup
from .topology import topology_of

_LONGEST_SETBACK_SECONDS = 10.0


class PodGroupReason(StrEnum):
    """The reason why a group is, or is not, scheduled, as conditions and events name it."""

    SCHEDULED = "Scheduled"
    """The quorum has nodes."""
    WAITING_FOR_PODS = "WaitingForPods"
    """Fewer pods than minMember exist, or are there for Muster to try."""
    GATED_PODS = "GatedPods"
    """Enough pods exist, but some have scheduling gates."""
    NOT_ENOUGH_RESOURCES = "NotEnoughResources"
    """What is free is less than minResources."""
    UNSCHEDULABLE = "Unschedulable"
    """The members that it lacks do not fit on the nodes together."""
    BINDING_FAILED = "BindingFailed"
    """Members of its quorum have nodes, and the API refused to bind the others."""
    TIMEOUT = "Timeout"
    """Members held nodes, but the others did not come in time."""
    SCHEDULING = "Scheduling"
    """Enough pods exist, and fewer than its quorum have nodes yet. Not announced: the pods show it."""
    LOST_MEMBERS = "LostMembers"
    """The quorum had nodes; pods are gone, and their successors have none yet. Not announced: the pods show it."""


@dataclass(slots=True)
class GroupState:
    """The state of the attempts at a group, from its first member until the last has gone.

    Attributes:
        failed_at: when it last found no place; None while it has not.
        failures: how often it has found none since it last had its quorum.
        quorum_told: whether it was said that the quorum is bound.
        has_newcomer: whether a member has come since the group was last tried.
        was_incomplete: whether it lacked members at the last attempt that do exist.
        is_short: whether less than its minResources was free at the last look.
        may_fit_now: whether an event since the last look may have freed enough for minResources.
        refused: why the API did not bind members that had a node, by pod key.
    """

    failed_at: float | None = None
    failures: int = 0
    quorum_told: bool = False
    has_newcomer: bool = False
    was_incomplete: bool = False
    is_short: bool = False
    may_fit_now: bool = False
    refused: dict[str, str] = field(default_factory=dict)

    @property
    def setback_seconds(self) -> float:
        """How long members are not called together after the last of so many failures."""
        return min(_LONGEST_SETBACK_SECONDS, 2.0 ** (self.failures - 1)) if self.failures else 0.0

    def is_set_back(self, now: float) -> bool:
        """Whether members are not to be called together yet after they failed."""
        return self.failed_at is not None and now - self.failed_at < self.setback_seconds

    def tried(self) -> None:
        """The group was tried with its existing members."""
        self.has_newcomer = self.was_incomplete = False

    def fail(self, now: float) -> None:
        """The group did not fit."""
        self.failed_at = now
        self.failures += 1
        self.may_fit_now = True

    def settle(self) -> None:
        """The quorum is there: what failed before is forgotten."""
        self.failed_at, self.failures = None, 0


@dataclass(slots=True)
class Claim:
    """The `minResources` of a group.

    Attributes:
        asked: as it stands in the spec.
        need: as in `capacity.wanted`.
        progressed: when a member last got a node; None before the first.
        over: whether nothing is to be reserved any more.
    """

    asked: Mapping[str, str | int]
    need: Mapping[str, int]
    progressed: float | None = None
    over: bool = False


@dataclass(slots=True, eq=False)
class PodGroupRecord(GroupRecord[PodGroup]):
    """The record of one PodGroup.

    Attributes:
        created: when its PodGroup was.
        state: None while it has no member.
        waits: until when members wait at Permit, by UID, in the order they began to.
        claim: None for a group that asks for nothing.
        look: when the group is looked at, and what goes off then.
        is_gathering: whether it is looked at in a moment because a member came.
    """

    created: float = 0.0
    state: GroupState | None = None
    waits: dict[str, float] = field(default_factory=dict)
    claim: Claim | None = None
    look: tuple[float, Timer] | None = None
    is_gathering: bool = False

    @property
    def quorum(self) -> int:
        """Its PodGroup's minMember; 0 while there is none."""
        return self.group.spec.min_member if self.group is not None else 0

    @property
    def quorum_is_bound(self) -> bool:
        """Whether as many members are bound as its PodGroup asks for."""
        return self.group is not None and len(self.bound) >= self.group.spec.min_member

    def topology(self) -> Topology | None:
        """Where its members have to be together; None for anywhere. Raises AnnotationError."""
        return None if self.group is None else topology_of(self.group.metadata.annotations)
