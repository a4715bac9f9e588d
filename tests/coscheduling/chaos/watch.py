"""Gangs as a client sees them that only watches pods: whether one ever started in part, and whether nodes are full."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from muster.framework.model.quantity import milli_value, nanos
from tests.coscheduling.objects import GROUP_LABEL

Object = Mapping[str, Any]


def cores(pod: Object) -> int:
    """What a pod asks for, in thousandths of a core."""
    return milli_value(nanos(pod["spec"]["containers"][0]["resources"]["requests"]["cpu"]))


def group_of(pod: Object) -> str | None:
    """`namespace/name` of the pod's group."""
    name = pod["metadata"].get("labels", {}).get(GROUP_LABEL)
    return None if name is None else f"{pod['metadata']['namespace']}/{name}"


def is_alive(pod: Object) -> bool:
    """Whether the pod has neither ended nor is being deleted."""
    ended = pod.get("status", {}).get("phase") in ("Succeeded", "Failed")
    return not ended and "deletionTimestamp" not in pod["metadata"]


@dataclass
class _Gang:
    bound: set[str] = field(default_factory=set)
    part_since: float | None = None
    excused: bool = False
    disturbed_at: float = float("-inf")


class GangWatch:
    """Follows pods and PodGroups, and notes every gang that was started in part for longer than one bind round.

    A gang that lost a member from outside, one that was bound or about to be, is excused until it is whole again: it is
    in part through no fault of the scheduler's. So is one of which more is asked while it runs or is about to.

    Attributes:
        faults: a sentence for each gang that was in part for too long.
        longest: the longest time that a gang without excuse was in part.
    """

    def __init__(self, bind_round: float) -> None:
        self.faults: list[str] = []
        self.longest = 0.0
        self._round = bind_round
        self._needed: dict[str, int] = {}
        self._gangs: defaultdict[str, _Gang] = defaultdict(_Gang)

    def group_changed(self, key: str, needed: int | None, now: float) -> None:
        """So many members are needed from now on; None when the PodGroup is gone."""
        before = self._needed.pop(key, 0)
        if needed is not None:
            self._needed[key] = needed
            gang = self._gangs[key]
            if needed > before:
                gang.disturbed_at = now
                gang.excused = gang.excused or bool(gang.bound)
            self._judge(key, now)

    def pod_changed(self, key: str, pod: Object, now: float) -> None:
        """The pod is like this now."""
        group = group_of(pod)
        if group is None:
            return
        gang = self._gangs[group]
        if is_alive(pod) and pod["spec"].get("nodeName"):
            if not gang.bound and now - gang.disturbed_at <= self._round:
                gang.excused = True
            gang.bound.add(key)
        elif not is_alive(pod):
            self._lose(gang, key, now)
        self._judge(group, now)

    def pod_gone(self, key: str, pod: Object, now: float) -> None:
        """The pod was deleted; this is what it was."""
        group = group_of(pod)
        if group is not None:
            self._lose(self._gangs[group], key, now)
            self._judge(group, now)

    def look(self, now: float) -> None:
        """Time has passed."""
        for group in self._needed:
            self._judge(group, now)

    def _lose(self, gang: _Gang, key: str, now: float) -> None:
        gang.disturbed_at = now
        gang.bound.discard(key)
        if gang.bound:
            gang.excused = True

    def _judge(self, group: str, now: float) -> None:
        gang = self._gangs[group]
        needed = self._needed.get(group, 0)
        if len(gang.bound) >= needed or not gang.bound:
            if gang.part_since is not None and not gang.excused:
                self._note(group, gang, needed, now)
            gang.part_since, gang.excused = None, False
        elif gang.excused:
            gang.part_since = None
        elif gang.part_since is None:
            gang.part_since = now
        else:
            self._note(group, gang, needed, now)

    def _note(self, group: str, gang: _Gang, needed: int, now: float) -> None:
        seconds = now - (now if gang.part_since is None else gang.part_since)
        self.longest = max(self.longest, seconds)
        if seconds > self._round:
            self.faults.append(f"{group} had {len(gang.bound)} of {needed} members bound for {seconds:.2f} s")
            gang.excused = True


def overcommitted(nodes: Mapping[str, Object], pods: Mapping[str, Object]) -> list[str]:
    """Nodes whose pods ask for more than there is."""
    used: defaultdict[str, int] = defaultdict(int)
    for pod in pods.values():
        if pod["spec"].get("nodeName") and pod.get("status", {}).get("phase") not in ("Succeeded", "Failed"):
            used[pod["spec"]["nodeName"]] += cores(pod)
    return [
        f"{name} has {milli_value(nanos(node['status']['allocatable']['cpu']))} and gives {used[name]}"
        for name, node in nodes.items()
        if used[name] > milli_value(nanos(node["status"]["allocatable"]["cpu"]))
    ]


def startable(nodes: Mapping[str, Object], pods: Mapping[str, Object], groups: Mapping[str, Object]) -> list[str]:
    """What waits although it would fit: gangs whose missing members have capacity, and members beyond a quorum.

    Exact where the waiting members of a gang ask for the same: then it fits if and only if as many of them as are
    missing can be cut out of what is free on the nodes.
    """
    free = {name: milli_value(nanos(node["status"]["allocatable"]["cpu"])) for name, node in nodes.items()}
    members: defaultdict[str, list[Object]] = defaultdict(list)
    for pod in pods.values():
        node, group = pod["spec"].get("nodeName"), group_of(pod)
        if node in free and pod.get("status", {}).get("phase") not in ("Succeeded", "Failed"):
            free[node] -= cores(pod)
        if group is not None and is_alive(pod):
            members[group].append(pod)
    found = []
    for key, group_object in groups.items():
        waiting = [pod for pod in members[key] if not pod["spec"].get("nodeName")]
        if not waiting:
            continue
        missing = group_object["spec"]["minMember"] - (len(members[key]) - len(waiting))
        wanted = max(1, missing)
        capacity = sum(amount // cores(waiting[0]) for amount in free.values() if amount > 0)
        if len(waiting) >= wanted <= capacity:
            found.append(f"{key} lacks {missing}, {len(waiting)} wait, there is capacity for {capacity} of them")
    return found
