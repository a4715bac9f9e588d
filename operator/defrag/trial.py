"""The trial of moves: the real engine decides where moved pods go, and whether what waits then starts.

`starting` and `freeing` try the sets of pods that they choose, and `carrying` tries again, before each step, what is
left of a proposal. A trial does what carrying it out would do: the nodes that are to be kept free are cordoned, the
moved pods are created again and have to find nodes, and then the cordons end and the waiting pods are decided in the
order of the queue. No pod is evicted for another in a trial, and the cluster is as before when it is over.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from types import MappingProxyType

import msgspec

from muster.framework.config import ResolvedProfile
from muster.framework.contract import Code, DisruptionUnit, GroupId
from muster.framework.contract.group_tree import entity_group
from muster.framework.contract.topology import Topology
from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import PodInfo
from muster.framework.model.requests import PODS
from muster.framework.scheduler.explain import explain
from muster.operator.process.settings import Assembly
from muster.operator.simulate.extenders import NO_EXTENDERS, ExtenderSession
from muster.operator.simulate.manifests import Objects
from muster.operator.simulate.rehearsal import Placement, Rehearsal, as_new

from .capacity import Amounts
from .waiting import WaitingTarget

_EVICTING_POINTS = ("postFilter", "podGroupPostFilter")


@dataclass(frozen=True, slots=True)
class MovesOutcome:
    """The outcome of a trial.

    Attributes:
        moved: the new node of each moved pod, by `namespace/name`.
        started: the node of each waiting pod that starts, by `namespace/name`.
    """

    moved: Mapping[str, str]
    started: Mapping[str, str]


class MoveTrial(Rehearsal):
    """A cluster in which moves are tried; an async context manager. `wall` is in seconds since the epoch.

    Args:
        target: what waits; None if nodes are to be freed.
        ahead: the pods that are decided before it, because they wait ahead of it.
    """

    def __init__(
        self,
        assembly: Assembly,
        cluster: Objects,
        target: WaitingTarget | None,
        *,
        ahead: Sequence[Pod] = (),
        wall: float = 0.0,
        session: ExtenderSession = NO_EXTENDERS,
    ) -> None:
        waiting = () if target is None else target.pods
        unpreempting, wanted = _without_preemption(assembly), Objects(pods=[*ahead, *waiting])
        super().__init__(unpreempting, cluster, wanted, wall=wall, session=session)
        self._target = target
        mine = {pod.metadata.key for pod in waiting}
        self.waiting = [pod for pod in self.pods if pod.metadata.key in mine]

    async def now(self) -> tuple[list[Placement], frozenset[str]]:
        """Where the waiting pods would go without a move, or why nowhere; and the nodes that moves may open for them.

        The others are nodes that reject all of these pods whatever pods leave them.
        """
        placements = await self.place(self.waiting)
        pods = {pod.signature: pod for pod in map(PodInfo, self.waiting)}.values()
        closed = frozenset[str].intersection(*map(self._closed_to, pods))
        await self.remove(self.waiting)
        return placements, frozenset(node.metadata.name for node in self.nodes) - closed

    def _closed_to(self, pod: PodInfo) -> frozenset[str]:
        """The nodes that reject the pod for another reason than the pods on them."""
        rejected = explain(self._engine.algorithms[pod.pod.spec.scheduler_name], pod).rejected
        never = Code.UNSCHEDULABLE_AND_UNRESOLVABLE
        return frozenset(node for node, status in rejected.items() if status.code is never)

    async def nodes_without(self, moved: Sequence[Pod]) -> frozenset[str]:
        """The nodes on which the waiting pods start once these pods are gone; empty if they still do not."""
        with self.without(moved):
            started = _started(await self.place(self.waiting))
            await self.remove(self.waiting)
        return frozenset(started.values()) if self._suffices(started) else frozenset()

    async def outcome(self, moved: Sequence[Pod], keep: Collection[str]) -> MovesOutcome | None:
        """The result of moving these pods to other nodes than `keep`; None if one finds no node, or nothing starts."""
        anew = [self._anew(pod) for pod in moved]
        started: dict[str, str] = {}
        with self.without(moved):
            with self._cordoned(keep):
                placed = {each.pod.key: each.node for each in await self.place(anew)}
            fits = all(node and node not in keep for node in placed.values())
            if fits and self._target is not None:
                mine = {pod.metadata.key for pod in self.waiting}
                started = _started(each for each in await self.place(self.pods) if each.pod.key in mine)
                await self.remove(self.pods)
            await self.remove(anew)
        return MovesOutcome(placed, started) if fits and self._suffices(started) else None

    def free(self) -> Mapping[str, Amounts]:
        """The free amounts of each node."""
        snapshot = self._engine.cache.snapshot
        columns, names = snapshot.resources, snapshot.resources.offered_in_all().keys()
        found: dict[str, Amounts] = {}
        for row in snapshot.live_rows().tolist():
            amounts = {
                name: columns.amount(columns.allocatable, name, row) - columns.amount(columns.requested, name, row)
                for name in names
            }
            found[snapshot.names[row]] = {**amounts, PODS: int(columns.allowed_pods[row] - columns.pod_count[row])}
        return found

    def unit_of(self, pod: PodInfo) -> DisruptionUnit | None:
        """The running pods that need this one."""
        return self._engine.units.of(pod)

    def protected_until(self, pod: PodInfo) -> float:
        """When the pod's minimum run time ends, in seconds since the epoch; 0.0 if nothing protects it."""
        return self._engine.rules.protected_until(pod)

    def topology_of(self, group: GroupId) -> Topology | None:
        """Where the members of a group have to be together."""
        for algorithm in self._engine.algorithms.values():
            with suppress(KeyError):
                plugin, own_id = algorithm.framework.groups.named(entity_group(group.plugin, group.key))
                return plugin.topology(own_id)
        return None

    def _suffices(self, started: Mapping[str, str]) -> bool:
        return self._target is None or len(started) >= self._target.missing

    def _anew(self, pod: Pod) -> Pod:
        """The pod that its controller creates in its place; one of another scheduler is tried by the first profile."""
        name = pod.spec.scheduler_name
        found = as_new(pod, name if name in self._names else self._names[0])
        meta = msgspec.structs.replace(found.metadata, uid=f"{found.metadata.uid}/moved", deletion_timestamp=None)
        return msgspec.structs.replace(found, metadata=meta)

    @contextmanager
    def _cordoned(self, names: Collection[str]) -> Iterator[None]:
        """Cordon these nodes for as long as the block lasts."""
        handler = self._engine.node_handler
        open_ = [node for node in self.nodes if node.metadata.name in names and not node.spec.unschedulable]
        closed = [
            msgspec.structs.replace(node, spec=msgspec.structs.replace(node.spec, unschedulable=True)) for node in open_
        ]
        for before, after in zip(open_, closed, strict=True):
            handler.on_update(before, after)
        try:
            yield
        finally:
            for before, after in zip(open_, closed, strict=True):
                handler.on_update(after, before)


def _started(placements: Iterable[Placement]) -> dict[str, str]:
    return {each.pod.key: each.node for each in placements if each.node}


def _without_preemption(assembly: Assembly) -> Assembly:
    """The assembly without the points at which plugins evict pods."""

    def gentle(profile: ResolvedProfile) -> ResolvedProfile:
        points = {point: () if point in _EVICTING_POINTS else refs for point, refs in profile.points.items()}
        return replace(profile, points=MappingProxyType(points))

    return replace(assembly, profiles=tuple(map(gentle, assembly.profiles)))
