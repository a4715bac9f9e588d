"""The record of one group: its object on the API, its members by their state, and the latest decision on it.

`Members` keeps one record for each group that has an object or members; a family of plugins extends the record with the
state that its own rules need. Any code may read a record. Only `Members` changes its members, only `GroupBook` its
object, only `Announcements` its announcements, only reporter and controller what was reported and written, and only the
healer its run. What was announced, reported and written is forgotten with the object.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, NamedTuple, Protocol, TypeVar

from ..contract.handle import Timer
from ..model.meta import ObjectMeta
from ..model.pod_info import PodInfo
from .healing import GroupRun

_MOST_OWNERS = 16
"""The most owners in a status. Usually there is one; a list of thousands would be too large."""

_NEVER = "Never"


class GroupObject(Protocol):
    """A group's object on the API."""

    @property
    def metadata(self) -> ObjectMeta:
        """The object's metadata."""
        ...

    @property
    def annotations(self) -> Mapping[str, str]:
        """The annotations that are read."""
        ...


G = TypeVar("G", bound=GroupObject)


@dataclass(frozen=True, slots=True)
class MemberCounts:
    """A group's members in numbers, without living members that are being deleted.

    Attributes:
        pods: all of them, including ended ones.
        scheduled: members that are bound and have not failed.
        running, succeeded, failed: by the phase of the pod.
        gated: members with scheduling gates.
    """

    pods: int = 0
    scheduled: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    gated: int = 0

    @property
    def alive(self) -> int:
        """Members that have not ended."""
        return self.pods - self.succeeded - self.failed


class MemberKind(NamedTuple):
    """The properties that pods must share to form one group, and those that members usually share."""

    priority: int
    scheduler: str
    preemption_policy: str | None


class EndedMember(NamedTuple):
    """A member that has ended: the group in which it is counted, `namespace/name`, and whether it succeeded."""

    group: str
    succeeded: bool


EndedHandler = Callable[[str, EndedMember | None, EndedMember | None], None]
"""Called with the UID of an ended pod, and with the ended member before and now; see `GroupBook.follow_ended`."""


@dataclass(frozen=True, slots=True)
class Announcement:
    """The latest decision on a group, for users. Announcements that differ in their time alone are equal.

    Attributes:
        reason: why the group is, or is not, scheduled.
        message: a sentence with the counts.
        wall: when it was decided, in seconds since the epoch.
        generation: the generation of the group's object, if the status has to name the one that was decided about.
        note: a further sentence, for Events alone.
    """

    reason: StrEnum
    message: str
    wall: float = field(compare=False)
    generation: int = 0
    note: str = ""


@dataclass(slots=True, eq=False)
class GroupRecord(Generic[G]):
    """The record of one group.

    Attributes:
        key: `namespace/name`.
        group: its object as last seen; None while there is none.
        first_seen: when the first of its members was seen, seconds on the engine's clock; None while it has none.
        pods: members that have not ended, by UID.
        placed: UIDs of members that have a node, reserved or bound.
        bound: UIDs of bound members.
        gated: UIDs of members with scheduling gates.
        never_preempting: UIDs of members that may not preempt.
        kinds: the number of members of each kind.
        ended: members that have ended, by UID.
        unaccounted: UIDs of members that left the pod informer; whether they ended or were deleted is not known yet,
            and the counts omit them.
        left_out_members: whether its last attempt left out members that exist.
        decided: the latest announcement; None before the first.
        announced: the latest announcement that was passed on.
        announcing: the timer after which `decided` is passed on.
        reported: the announcement on which the last report to users was based.
        answered: the object on which the last status was based, and the object in the server's answer.
        next_write: the earliest time for the next status, in seconds on the controller's clock.
        run: the current run of its members, which the healer follows; None for a group that is not healed.
    """

    key: str
    group: G | None = None
    first_seen: float | None = None
    pods: dict[str, PodInfo] = field(default_factory=dict)
    placed: set[str] = field(default_factory=set)
    bound: set[str] = field(default_factory=set)
    gated: set[str] = field(default_factory=set)
    never_preempting: set[str] = field(default_factory=set)
    kinds: Counter[MemberKind] = field(default_factory=Counter)
    ended: dict[str, EndedMember] = field(default_factory=dict)
    unaccounted: set[str] = field(default_factory=set)
    left_out_members: bool = False
    decided: Announcement | None = None
    announced: Announcement | None = None
    announcing: Timer | None = None
    reported: Announcement | None = None
    answered: tuple[G, G] | None = None
    next_write: float = 0.0
    run: GroupRun[PodInfo] | None = None

    @property
    def latest(self) -> G | None:
        """The latest version of the object: the server's answer, until the informer reports the object again."""
        return self.answered[1] if self.answered is not None and self.answered[0] is self.group else self.group

    @property
    def has_members(self) -> bool:
        """Whether the group has any members, including ended ones."""
        return bool(self.pods or self.ended or self.unaccounted)

    @property
    def ready(self) -> int:
        """The number of members without scheduling gates."""
        return len(self.pods) - len(self.gated)

    @property
    def placed_unbound(self) -> int:
        """The number of members that have a node and are not bound yet."""
        return len(self.placed - self.bound)

    @property
    def succeeded(self) -> int:
        """The number of members that have succeeded."""
        return sum(member.succeeded for member in self.ended.values())

    @property
    def priority(self) -> int:
        """The group's priority: the highest of its members', 0 for a group without any."""
        return max((kind.priority for kind in self.kinds), default=0)

    @property
    def may_preempt(self) -> bool:
        """Whether pods may be evicted for the group: not if any member has `preemptionPolicy: Never`."""
        return not self.never_preempting

    def placed_pods(self) -> Iterator[PodInfo]:
        """Members that have a node."""
        return (pod for uid, pod in self.pods.items() if uid in self.placed)

    def bound_pods(self) -> Iterator[PodInfo]:
        """Members that are bound."""
        return (pod for uid, pod in self.pods.items() if uid in self.bound)

    def unplaced_pods(self) -> Iterator[PodInfo]:
        """Members that have no node."""
        return (pod for uid, pod in self.pods.items() if uid not in self.placed)

    def gated_pods(self) -> list[PodInfo]:
        """Members with scheduling gates."""
        return [self.pods[uid] for uid in self.gated]

    def succeeded_uids(self) -> set[str]:
        """The UIDs of members that have succeeded."""
        return {uid for uid, member in self.ended.items() if member.succeeded}

    def counts(self) -> MemberCounts:
        """The numbers of members, including ended ones."""
        alive = self.pods.keys() - self.ended.keys()
        succeeded = self.succeeded
        return MemberCounts(
            pods=len(alive) + len(self.ended),
            scheduled=len(alive & self.bound) + succeeded,
            running=sum(self.pods[uid].pod.status.phase == "Running" for uid in alive),
            succeeded=succeeded,
            failed=len(self.ended) - succeeded,
            gated=len(alive & self.gated),
        )

    def owners(self) -> str:
        """Owners of members that have not ended, `namespace/name`, sorted and joined by commas; at most 16 of them."""
        found = {
            f"{pod.namespace}/{owner.name}"
            for uid, pod in self.pods.items()
            if uid not in self.ended
            for owner in pod.pod.metadata.owner_references
        }
        return ",".join(sorted(found)[:_MOST_OWNERS])

    def enter(self, pod: PodInfo, *, had_node: bool) -> None:
        """Count this version of the pod, which may be counted already; `had_node` if it was placed in another group."""
        uid, known = pod.uid, self.pods.get(pod.uid)
        if known is not None:
            self._count_kind(known, -1)
        self.pods[uid] = pod
        self._count_kind(pod, +1)
        if had_node or pod.node_name:
            self.placed.add(uid)
        if pod.node_name:
            self.bound.add(uid)
        _keep(self.gated, uid, bool(pod.pod.spec.scheduling_gates))
        _keep(self.never_preempting, uid, pod.pod.spec.preemption_policy == _NEVER)

    def leave(self, uid: str) -> None:
        """Stop counting a member."""
        self._count_kind(self.pods.pop(uid), -1)
        for uids in (self.placed, self.bound, self.gated, self.never_preempting):
            uids.discard(uid)

    def _count_kind(self, pod: PodInfo, by: int) -> None:
        kind = MemberKind(pod.priority, pod.pod.spec.scheduler_name, pod.pod.spec.preemption_policy)
        self.kinds[kind] += by
        if not self.kinds[kind]:
            del self.kinds[kind]


def _keep(uids: set[str], uid: str, wanted: bool) -> None:
    if wanted:
        uids.add(uid)
    else:
        uids.discard(uid)
