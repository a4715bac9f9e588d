"""Claimants: who waits for a node, a pod by itself or a group, and whether there is capacity for it, seen from outside.

The judge computes this from what the API has and knows nothing of how the engine does it: capacity is counted node by
node, domain by domain. All members of a group ask for as much as each other in a simulation.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from muster.framework.model.times import parse_time
from muster.sandbox.kinds import NATIVE_POD_GROUPS, NODES, PODS
from muster.sandbox.objects import Object

from .amounts import Devices, allocatable, cpu, has_ended, on_node
from .server import EPOCH, SimulatedServer
from .world import STRANGER, ZONE, group_of


@dataclass(frozen=True, slots=True)
class Claimant:
    """Who waits.

    Attributes:
        name: of the pod, or of the group.
        pods: that wait; of a group one or more, all alike.
        missing: how many of them need a node at once.
        is_group: whether it is one.
    """

    name: str
    pods: Sequence[Object]
    missing: int
    is_group: bool = False

    @property
    def priority(self) -> int:
        """The highest of its pods'."""
        return max(pod["spec"].get("priority") or 0 for pod in self.pods)

    @property
    def since(self) -> float:
        """When the last of the pods that it needs was created, in seconds on the loop's clock."""
        created = sorted(parse_time(pod["metadata"]["creationTimestamp"]) for pod in self.pods)
        return created[self.missing - 1] - EPOCH

    def __str__(self) -> str:
        return f"{self.missing} of {len(self.pods)} members of {self.name}" if self.is_group else f"pod {self.name}"


class Capacity:
    """What nodes that may be used have left. `counts` says which pods take any of it, `kept` what is kept from one."""

    def __init__(
        self,
        server: SimulatedServer,
        counts: Callable[[Object], bool] = lambda pod: True,
        kept: Callable[[Object, str], int] = lambda pod, node: 0,
    ) -> None:
        self._kept = kept
        self._devices = Devices(server)
        self._nodes = [
            (node, allocatable(node) - sum(map(cpu, filter(counts, on_node(server, node["metadata"]["name"])))))
            for node in server.objects(NODES)
            if not node["spec"].get("unschedulable")
        ]

    def for_one(self, pod: Object) -> list[str]:
        """The nodes that would take a pod by itself."""
        return [
            name
            for node, left in self._nodes
            if left - self._kept(pod, name := node["metadata"]["name"]) >= cpu(pod)
            and _selects(pod, node)
            and self._devices.has(name, pod)
        ]

    def for_members(self, pod: Object) -> int:
        """How many pods like this one the nodes would take together."""
        left = [left - self._kept(pod, node["metadata"]["name"]) for node, left in self._nodes]
        return sum(max(0, each) // cpu(pod) for each in left)

    def takes(self, claimant: Claimant) -> bool:
        """Whether it could start."""
        if claimant.is_group:
            return self.for_members(claimant.pods[0]) >= claimant.missing
        return bool(self.for_one(claimant.pods[0]))


def minima(server: SimulatedServer) -> dict[str, int]:
    """How many members each group needs, of either kind."""
    labelled, native = (server.objects(kind) for kind in (server.pod_groups, NATIVE_POD_GROUPS))
    found = {group["metadata"]["name"]: group["spec"]["minMember"] for group in labelled}
    return found | {
        group["metadata"]["name"]: group["spec"]["schedulingPolicy"]["gang"]["minCount"] for group in native
    }


def bound_members(server: SimulatedServer) -> Counter[str]:
    """How many members of each group count for its quorum.

    One that has ended does so only in Kubernetes' own groups: of PodGroups by label a later run may come while pods of
    the run before are still there, and has to start whole.
    """
    return Counter(
        group
        for pod in server.objects(PODS)
        if pod["spec"].get("nodeName")
        and ("schedulingGroup" in pod["spec"] or not has_ended(pod))
        and (group := group_of(pod)) is not None
    )


def claimants(server: SimulatedServer) -> Iterator[Claimant]:
    """All who wait and whose pods are complete: a group that lacks pods, or its own object, waits for these."""
    gangs: dict[str, list[Object]] = defaultdict(list)
    for pod in waiting(server):
        group = group_of(pod)
        if group is None:
            yield Claimant(pod["metadata"]["name"], [pod], 1)
        else:
            gangs[group].append(pod)
    needed, bound = minima(server), bound_members(server)
    for group, pods in gangs.items():
        missing = max(1, needed.get(group, 0) - bound[group])
        if group in needed and len(pods) >= missing:
            yield Claimant(group, pods, missing, is_group=True)


def waiting(server: SimulatedServer) -> list[Object]:
    """The pods that wait for Muster."""
    pods = server.objects(PODS)
    return [pod for pod in pods if is_ours(pod) and not pod["spec"].get("nodeName") and not has_ended(pod)]


def is_ours(pod: Object) -> bool:
    """Whether it is for Muster."""
    return bool(pod["spec"]["schedulerName"] != STRANGER)


def _selects(pod: Object, node: Object) -> bool:
    wanted = (pod["spec"].get("nodeSelector") or {}).get(ZONE)
    return wanted is None or node["metadata"]["labels"].get(ZONE) == wanted
