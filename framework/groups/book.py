"""The book of groups: the groups and members that the watches have reported.

Each family of plugins extends `GroupBook` with the contents of its groups. The plugins of all profiles feed one book
from the informers; the process subscribes to it, and reads it in order to write statuses, heal groups and show them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import partial
from typing import Any, ClassVar, Generic, NamedTuple, Protocol

from ..contract.group import Disruption
from ..contract.group_tree import Part
from ..contract.handle import Clock
from ..model.pod_info import PodInfo
from .announcements import Announcements
from .holds import GroupHolds
from .members import Members, R
from .record import Announcement, EndedMember, G, GroupObject

GROUP_BOOKS = "groups/books"
"""`Handle.shared(GROUP_BOOKS, dict)`: the book of each `GangPlugin`, by the plugin's name."""

_ACCOUNTING_SECONDS = 0.5
"""The longest lag between the two watches of pods, after which an ended member must have been reported as ended."""


def _none_above(group: str) -> Iterable[str]:
    return ()


class QuorumState(NamedTuple):
    """Whether a group may be tried, how many more members must get a node, and whether its members let it preempt."""

    may_be_tried: bool
    missing: int
    may_preempt: bool


class QuorumFollower(Protocol):
    """The plugin that created the book, which does not see pods that have ended."""

    def quorum_changed(self, group: str, before: QuorumState) -> None:
        """A member has ended, or an ended one was deleted; `before` is the group's previous state."""
        ...


class GroupBook(ABC, Generic[G, R]):
    """A family's knowledge of its groups, by `namespace/name`; one object serves the plugins of all profiles.

    `group_key` reads the group that a pod names; `new` creates the record of a group. `quorum_follower` is notified
    when a member has ended, because plugins do not see pods that have ended.

    Attributes:
        record: returns a group's record; see `Members`.
        members: which pods belong to which group, and which of them have nodes.
        holds: which groups operators hold.
        profiles: the schedulerNames of the profiles.
        revision: grows whenever a group's object, or which pods are its members, changes for decisions.
    """

    counting: ClassVar[Collection[StrEnum]] = ()
    """Reasons whose messages change in numbers alone while a group waits; see `Announcements`."""
    recurring: ClassVar[Collection[StrEnum]] = ()
    """Reasons of which each repetition is announced."""

    def __init__(
        self,
        group_key: Callable[[PodInfo], str | None],
        clock: Clock,
        new: Callable[[str], R],
        quorum_follower: QuorumFollower | None = None,
        *,
        above: Callable[[str], Iterable[str]] = _none_above,
    ) -> None:
        self._clock = clock
        self._quorum_follower = quorum_follower
        self.members = Members(group_key, new)
        self.record = self.members.record
        self.holds = GroupHolds(above)
        self.profiles: set[str] = set()
        self.revision = 0
        self._readers: list[Callable[[str], None]] = []
        self._announcements = Announcements(self, clock, counting=self.counting, recurring=self.recurring)

    def subscribe(self, reader: Callable[[str], None]) -> None:
        """`reader` is called with a group whose object, members or latest decision changed; it must not block."""
        self._readers.append(reader)

    # Reports of the watches.

    def follow_pod(self, old: PodInfo | None, new: PodInfo | None) -> None:
        """A pod that has not ended was added, changed or removed."""
        pod = old or new
        if pod is None:
            return
        left = self.members.record_of(pod)
        changed = self.members.follow(old, new)
        joined = self.members.record_of(new) if new is not None else None
        if left is not None and joined is not None and left.key == joined.key:
            left = None  # the pod stays
        if left is not None:
            if not left.pods:
                left.first_seen = None
            self._member_changed(left, pod, None)
            if pod.uid in left.unaccounted:
                self._clock.call_later(_ACCOUNTING_SECONDS, partial(_write_off, self, left.key, pod.uid))
        if joined is not None and new is not None:
            if joined.first_seen is None:
                joined.first_seen = self._clock.now()
            self._member_changed(joined, old, new)
        if changed:
            self.revision += 1
            for record in (left, joined):
                if record is not None:
                    self.mark_changed(record.key)

    def follow_ended(self, uid: str, old: EndedMember | None, new: EndedMember | None) -> None:
        """A pod has ended, or an ended pod was deleted; see `Members`."""
        groups = dict.fromkeys(member.group for member in (old, new) if member is not None)
        before = {group: self.quorum_state(group) for group in groups}
        self.members.follow_ended(uid, old, new)
        for group, state in before.items():
            self._member_ended(self.record(group))
            self.mark_changed(group)
            if self._quorum_follower is not None:
                self._quorum_follower.quorum_changed(group, state)

    def follow_group(self, group: str, new: G | None) -> None:
        """An object was added, changed or deleted. Decisions about a deleted object do not apply to a later one."""
        known = self.get(group)
        another = known is not None and (new is None or new.metadata.uid != known.metadata.uid)
        self.revision += 1
        record = self.members.follow_group(group, new)
        self.holds.follow(group, None if new is None else new.annotations)
        if another:
            self._announcements.forget(record)
            record.reported, record.answered, record.next_write = None, None, 0.0
            record.left_out_members = False
        self._group_changed(record, known, another=another)
        self.mark_changed(group)

    def refresh(self, group: str, new: G) -> None:
        """The group's object has a new version in which nothing that decisions read has changed.

        Each profile's plugin reports it, so all but the first find this version in their common book.
        """
        if self.get(group) is not new:
            self.members.follow_group(group, new)
            self.mark_changed(group)

    def _member_changed(self, record: R, old: PodInfo | None, new: PodInfo | None) -> None:
        """A member was added (`old` is None), changed, or left the group (`new` is None), which may have no object."""

    def _member_ended(self, record: R) -> None:
        """A member has ended, or an ended one was deleted."""

    def _group_changed(self, record: R, known: G | None, *, another: bool) -> None:
        """The group's object, before `known`, was added, changed or deleted; `another` if `known` was deleted."""

    # What was decided about groups.

    def announce(self, group: str, reason: StrEnum, message: str = "", *, note: str = "", generation: int = 0) -> None:
        """Announce why the group is, or is not, scheduled. See `Announcement`."""
        record = self.record(group)
        if record.group is not None:
            announcement = Announcement(reason, message, self._clock.wall(), generation, note)
            self._announcements.announce(record, announcement)

    # Questions about groups.

    def existing_group_of(self, pod: PodInfo) -> R | None:
        """The record of the group that the pod names; None if it names none, or if the group has no object."""
        group = self.members.named_by(pod)
        record = None if group is None else self.record(group)
        return None if record is None or record.group is None else record

    def get(self, group: str) -> G | None:
        """The group's object as last seen."""
        found: G | None = self.record(group).group
        return found

    def object_of(self, group: str) -> GroupObject | None:
        """The object of a group, also of a group of groups."""
        return self.get(group)

    def __contains__(self, group: object) -> bool:
        """Whether the group has an object."""
        return isinstance(group, str) and self.record(group).group is not None

    def __iter__(self) -> Iterator[str]:
        """The key of every group that has an object."""
        return (record.key for record in self.members.records() if record.group is not None)

    @abstractmethod
    def quorum(self, group: str) -> int:
        """The number of members that the group needs; 0 for a group that does not exist."""

    def missing(self, group: str) -> int:
        """The number of members that still need a node for the quorum; 0 or less when the group has it."""
        return self.quorum(group) - len(self.record(group).placed)

    def quorum_state(self, group: str) -> QuorumState:
        """A group may be tried if it exists. Coscheduling and GangScheduling also require enough members."""
        return QuorumState(group in self, max(0, self.missing(group)), self.record(group).may_preempt)

    @abstractmethod
    def disruption(self, pod: PodInfo) -> Disruption | None:
        """The group with which the pod runs; None for a pod that may be evicted alone."""

    def age(self, group: str) -> float:
        """Seconds since the first member of the group was seen; 0.0 for a group without members."""
        first_seen = self.record(group).first_seen
        return 0.0 if first_seen is None else self._clock.now() - first_seen

    def annotations_around(self, group: str) -> Sequence[Mapping[str, str]]:
        """Muster's annotations of the group's object, then of the groups above it; the first that says anything counts.

        Empty for a group without an object.
        """
        found = self.get(group)
        return () if found is None else (found.annotations,)

    def tree_around(self, group: str) -> Part | None:
        """The tree of groups with which this one is decided, in its present state; None for a group in no tree."""
        return None

    def evicted_with(self, group: str) -> Sequence[str]:
        """The other groups that cannot continue without this one."""
        return ()

    def waits(self) -> list[float]:
        """The seconds for which each group with members that lacks its quorum has waited. Held groups do not count."""
        waiting = (group for group in self if self.record(group).pods and self.missing(group) > 0)
        return [self.age(group) for group in waiting if self.holds.text(group) is None]

    def mark_changed(self, group: str) -> None:
        """Notify the readers that a group's object, members or latest decision changed."""
        for reader in self._readers:
            reader(group)


def _write_off(book: GroupBook[Any, Any], group: str, uid: str) -> None:
    """Count a removed member that was not reported as ended in time as deleted."""
    if uid in book.record(group).unaccounted:
        book.members.write_off(group, uid)
        book.mark_changed(group)
