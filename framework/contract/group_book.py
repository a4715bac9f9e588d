"""What every plugin that knows groups does with its book of members, whichever kind of group it knows.

Group plugins extend `GroupBookPlugin`: their members hold nodes from Reserve on, until they are unreserved or expire.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from ..model.meta import ObjectMeta
from ..model.pod_info import PodInfo
from .cycle_state import CycleState
from .group import Disruption, DisruptionPlugin, GroupPlugin, PodFollower
from .members import Members
from .plugin import Args, ReservePlugin
from .status import Status


class GroupObject(Protocol):
    """A group's object on the API."""

    @property
    def metadata(self) -> ObjectMeta:
        """Its metadata."""
        ...


class GroupBook(Protocol):
    """What a family of plugins knows of its groups.

    Attributes:
        members: who belongs to which group, and who holds a node.
    """

    members: Members

    def get(self, group: str) -> GroupObject | None:
        """The group's object as last seen."""
        ...

    def missing(self, group: str) -> int:
        """How many more members must get a node for the quorum."""
        ...

    def disruption(self, pod: PodInfo) -> Disruption | None:
        """The group that the pod runs with; None for a pod that may be evicted by itself."""
        ...


class GroupBookPlugin(GroupPlugin[Args], DisruptionPlugin[Args], ReservePlugin[Args], PodFollower[Args]):
    """A group plugin that keeps its members in `_groups`, which it makes."""

    _groups: GroupBook

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
