"""Who belongs to which group: all pods that carry a group's label and have not ended, whoever schedules them.

The plugin feeds it from the pod informer and from Reserve, and asks it for counts. Pods that are being deleted do not
count: the room they leave is for their successors. Places are kept by UID, so a pod that changes its group or goes
while it is being bound takes its place along.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from muster.framework.model.pod_info import PodInfo

from .api import group_key


@dataclass(slots=True)
class _Group:
    """The members by UID, and who of them hold a node, are bound, have scheduling gates."""

    pods: dict[str, PodInfo] = field(default_factory=dict)
    placed: set[str] = field(default_factory=set)
    bound: set[str] = field(default_factory=set)
    gated: set[str] = field(default_factory=set)


_NOBODY = _Group()


class Members:
    """The members of all groups, by `namespace/name` of the group and by UID."""

    def __init__(self) -> None:
        self._groups: dict[str, _Group] = {}
        self._group_of: dict[str, str] = {}

    def follow(self, old: PodInfo | None, new: PodInfo | None) -> None:
        """A pod came, changed or went."""
        if old is not None and (new is None or new.uid != old.uid):
            self._leave(old.uid)
        if new is None:
            return
        group = None if new.terminating else group_key(new)
        held = False
        if self._group_of.get(new.uid) != group:
            held = self._leave(new.uid)
        if group is None:
            return
        self._group_of[new.uid] = group
        members = self._groups.setdefault(group, _Group())
        members.pods[new.uid] = new
        if held or new.node_name:
            members.placed.add(new.uid)
        if new.node_name:
            members.bound.add(new.uid)
        if new.pod.spec.scheduling_gates:
            members.gated.add(new.uid)
        else:
            members.gated.discard(new.uid)

    def group_of(self, pod: PodInfo) -> str | None:
        """The group that the pod is counted in; it may be another than the pod's version says."""
        return self._group_of.get(pod.uid)

    def place(self, pod: PodInfo) -> None:
        """The member was reserved on a node."""
        self._of(pod).placed.add(pod.uid)

    def displace(self, pod: PodInfo) -> None:
        """The member's reservation was given up. One that is bound by now keeps its place."""
        members = self._of(pod)
        if pod.uid not in members.bound:
            members.placed.discard(pod.uid)

    def bind(self, pod: PodInfo) -> None:
        """The API accepted the member's binding."""
        self._of(pod).bound.add(pod.uid)

    def of(self, group: str) -> Collection[PodInfo]:
        """All members."""
        return self._groups.get(group, _NOBODY).pods.values()

    def ready(self, group: str) -> int:
        """How many members have no scheduling gates."""
        members = self._groups.get(group, _NOBODY)
        return len(members.pods) - len(members.gated)

    def placed(self, group: str) -> int:
        """How many members hold a node, reserved or bound."""
        return len(self._groups.get(group, _NOBODY).placed)

    def bound(self, group: str) -> int:
        """How many members are bound."""
        return len(self._groups.get(group, _NOBODY).bound)

    def placed_pods(self, group: str) -> Iterator[PodInfo]:
        """Members that hold a node."""
        members = self._groups.get(group, _NOBODY)
        return (members.pods[uid] for uid in members.placed)

    def unplaced_pods(self, group: str) -> Iterator[PodInfo]:
        """Members that hold no node."""
        members = self._groups.get(group, _NOBODY)
        return (pod for uid, pod in members.pods.items() if uid not in members.placed)

    def gated(self, group: str) -> list[PodInfo]:
        """Members with scheduling gates."""
        members = self._groups.get(group, _NOBODY)
        return [members.pods[uid] for uid in members.gated]

    def _of(self, pod: PodInfo) -> _Group:
        """The group the pod is counted in; for one that is no member (any more), one that nobody reads."""
        group = self._group_of.get(pod.uid)
        return self._groups[group] if group is not None else _Group()

    def _leave(self, uid: str) -> bool:
        """Take a pod out of its group, if it is in one; whether it held a node."""
        group = self._group_of.pop(uid, None)
        if group is None:
            return False
        members = self._groups[group]
        held = uid in members.placed
        del members.pods[uid]
        for uids in (members.placed, members.bound, members.gated):
            uids.discard(uid)
        if not members.pods:
            del self._groups[group]
        return held
