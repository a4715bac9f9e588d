"""The book of groups and members, and what every plugin that knows groups does with it.

Each family extends `GroupBook` with the contents of its groups. Its plugins extend `GroupBookPlugin`: members hold
nodes from Reserve until they are unreserved or expire.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from ..contract.cycle_state import CycleState
from ..contract.group import Disruption, DisruptionPlugin, GroupPlugin, PodFollower
from ..contract.group_tree import Part
from ..contract.handle import Clock
from ..contract.plugin import Args, ReservePlugin
from ..contract.status import Status
from ..model.meta import ObjectMeta
from ..model.pod_info import PodInfo
from .healing import HealingPolicy, healing_policy
from .members import EndedMember, Members
from .reporting import GroupReporter


class GroupObject(Protocol):
    """A group's object on the API."""

    @property
    def metadata(self) -> ObjectMeta:
        """Its metadata."""
        ...

    @property
    def annotations(self) -> Mapping[str, str]:
        """The annotations that are read."""
        ...


G = TypeVar("G", bound=GroupObject)

_ACCOUNTING_SECONDS = 0.5
"""How long the two watches of pods may be apart: by then a member that has ended is known to have."""


class GroupBook(ABC, Generic[G]):
    """What a family of plugins knows of its groups, by `namespace/name`; one object serves the plugins of all profiles.

    `group_key` names the group that a pod belongs to.

    Attributes:
        members: who belongs to which group, and who holds a node.
        profiles: names of the schedulers that are profiles of ours.
    """

    def __init__(self, group_key: Callable[[PodInfo], str | None], clock: Clock) -> None:
        self._clock = clock
        self.members = Members(group_key)
        self.profiles: set[str] = set()
        self._groups: dict[str, G] = {}
        self._readers: list[Callable[[str], None]] = []

    def subscribe(self, reader: Callable[[str], None]) -> None:
        """`reader` is called with a group whose object, members or last word changed; it must not block."""
        self._readers.append(reader)

    def get(self, group: str) -> G | None:
        """The group's object as last seen."""
        return self._groups.get(group)

    def object_of(self, group: str) -> GroupObject | None:
        """The object of a group, also of one that consists of groups."""
        return self.get(group)

    def __contains__(self, group: object) -> bool:
        """Whether there is such an object."""
        return group in self._groups

    def __iter__(self) -> Iterator[str]:
        """The key of every group that has an object."""
        return iter(self._groups)

    def __len__(self) -> int:
        """How many groups have one."""
        return len(self._groups)

    @abstractmethod
    def missing(self, group: str) -> int:
        """How many more members must get a node for the quorum."""

    @abstractmethod
    def disruption(self, pod: PodInfo) -> Disruption | None:
        """The group that the pod runs with; None for a pod that may be evicted by itself."""

    @abstractmethod
    def age(self, group: str) -> float:
        """Seconds since the first member of the group was seen."""

    @abstractmethod
    def quorum(self, group: str) -> int:
        """How many members it needs; 0 for a group that does not exist."""

    def healing(self, group: str) -> HealingPolicy:
        """What becomes of the group when it has lost members."""
        found = self._groups.get(group)
        return HealingPolicy.KEEP if found is None else healing_policy(found.annotations)

    def tree_around(self, group: str) -> Part | None:
        """The groups that this one is decided with, as they stand; None for one that is in no tree."""
        return None

    def falling_with(self, group: str) -> Sequence[str]:
        """The other groups that cannot go on when this one cannot."""
        return ()

    def follow_ended(self, uid: str, old: EndedMember | None, new: EndedMember | None) -> None:
        """A pod has ended, or one that had was deleted; see `Members`."""
        self.members.follow_ended(uid, old, new)
        for member in (old, new):
            if member is not None:
                self._changed(member.group)

    def waiting_groups(self) -> int:
        """How many groups with members lack their quorum."""
        return sum(1 for _ in self._waiting())

    def oldest_waiting(self) -> float:
        """For how many seconds the group that has waited longest for its quorum has; 0.0 when none waits."""
        return max((self.age(group) for group in self._waiting()), default=0.0)

    def _waiting(self) -> Iterator[str]:
        return (group for group in self._groups if self.members.of(group) and self.missing(group) > 0)

    def _account_for(self, group: str, uid: str) -> None:
        """A member that had a node is gone. Unless it turns out to have ended, it is written off in a moment."""
        if uid in self.members.unaccounted(group):
            self._clock.call_later(_ACCOUNTING_SECONDS, partial(self._write_off, group, uid))

    def _write_off(self, group: str, uid: str) -> None:
        if uid in self.members.unaccounted(group):
            self.members.write_off(group, uid)
            self._changed(group)

    def _changed(self, group: str) -> None:
        for reader in self._readers:
            reader(group)


class GroupBookPlugin(GroupPlugin[Args], DisruptionPlugin[Args], ReservePlugin[Args], PodFollower[Args]):
    """A group plugin that keeps its members in `_groups`, which it makes."""

    _groups: GroupBook[Any]

    @property
    def book(self) -> GroupBook[Any]:
        """The book, the same for the plugins of all profiles."""
        return self._groups

    def reporter(self) -> GroupReporter | None:
        """A new reporter on the book's groups; None where nothing is reported of them."""
        return None

    def missing(self, group: str) -> int:
        """How many members must get a node at once."""
        return self._groups.missing(group)

    def placed_members(self, group: str) -> Iterable[PodInfo]:
        """Members that hold a node."""
        return self._groups.members.placed_pods(group)

    def uid(self, group: str) -> str:
        """The UID of the group's object."""
        found = self._groups.get(group)
        return group if found is None else found.metadata.uid

    def disruption(self, pod: PodInfo) -> Disruption | None:
        """A member's group, and how many of its members it can spare."""
        return self._groups.disruption(pod)

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        """Counts the member in."""
        self._groups.members.place(pod)
        return None

    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """Counts the member out."""
        self._groups.members.displace(pod)

    def on_assumed_pod_expired(self, pod: PodInfo) -> None:
        """Counts a member out that was bound and never reported on its node."""
        self._groups.members.expire(pod)
