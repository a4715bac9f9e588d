"""A small cluster in a snapshot, and one plugin's answers about it node by node: no queue, no scheduler.

Plugins follow what the cluster keeps of the kinds that they watch. Time stands still until the test moves the clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import msgspec
import numpy as np
from pydantic import BaseModel

from muster.framework.contract import (
    Api,
    Binder,
    Code,
    CycleState,
    FilterPlugin,
    Node,
    NodeView,
    ObjectFollower,
    PermitPlugin,
    Plugin,
    Pod,
    PodInfo,
    PreemptionPlugin,
    PreFilterPlugin,
    ScorePlugin,
    Status,
    Wait,
    WatchedKind,
)
from muster.framework.contract.handle import HasMetadata
from muster.framework.embedded.clock import VirtualClock
from muster.framework.metrics import SchedulerMetrics
from muster.framework.runtime.waiting_pods import PermitWait, PodAtPermit, PodsAtPermit
from muster.framework.snapshot.snapshot import Snapshot
from muster.plugins.catalog import IN_TREE

from .builders import NodeDict, PodDict
from .handle import ClusterHandle, RecordedEvent

AnyPlugin = TypeVar("AnyPlugin", bound=Plugin)


def info(pod: PodDict) -> PodInfo:
    """The pod as the engine knows it."""
    return PodInfo(msgspec.convert(pod, Pod))


def typed(node: NodeDict) -> Node:
    """The node as the engine knows it."""
    return msgspec.convert(node, Node)


class Cluster:
    """Nodes, pods on them, and the objects that plugins watch."""

    def __init__(self, *nodes: NodeDict) -> None:
        self.snapshot = Snapshot()
        self.clock = VirtualClock()
        self._handle = ClusterHandle(self.snapshot, self.clock)
        self._plugins: list[Plugin] = []
        self.add(*nodes)

    def add(self, *nodes: NodeDict) -> None:
        """Adds nodes, or changes those that are there."""
        for node in nodes:
            self.snapshot.set_node(typed(node))

    def place(self, node: str, *pods: PodDict) -> None:
        """Puts pods on a node."""
        for pod in pods:
            self.snapshot.add_pod(info(pod), node)

    def plugin(
        self,
        kind: type[AnyPlugin],
        args: BaseModel | None = None,
        *,
        binder: Binder | None = None,
        api: Api | None = None,
        metrics: SchedulerMetrics | None = None,
        objects: Iterable[tuple[str, HasMetadata]] = (),
    ) -> AnyPlugin:
        """A plugin in this cluster, which has received all objects of the kinds that it watches.

        `objects`, each with its resource, are added to the cluster before. Without `args`, the plugin gets its default
        arguments.
        """
        if issubclass(kind, PreemptionPlugin):
            raise TypeError(f"{kind.__name__} asks other plugins, which a cluster does not have: use VirtualScheduler")
        ours = self._handle
        handle = replace(ours, binder=binder or ours.binder, api=api or ours.api, metrics=metrics or SchedulerMetrics())
        args = kind.args_model() if args is None and kind.args_model is not None else args
        plugin = kind(args, handle)
        self._plugins.append(plugin)
        for resource, given in objects:
            self._handle.objects[resource].put(given)
        for watched in plugin.watches:
            for obj in self._handle.lister(watched).list():
                _notify(plugin, watched, None, obj)
        return plugin

    def keep(self, *objects: Mapping[str, Any]) -> None:
        """Add or replace objects of kinds that plugins watch."""
        for plain in objects:
            kind = self._kind_of(plain)
            obj = msgspec.convert(plain, kind.type)
            self._notify_all(kind, self._handle.objects[kind.resource].put(obj), obj)

    def drop(self, plain: Mapping[str, Any]) -> None:
        """Remove an object. Raises KeyError if the cluster does not have it."""
        kind = self._kind_of(plain)
        key = msgspec.convert(plain, kind.type).metadata.key
        if (old := self._handle.objects[kind.resource].drop(key)) is None:
            raise KeyError(key)
        self._notify_all(kind, old, None)

    def _kind_of(self, plain: Mapping[str, Any]) -> WatchedKind:
        own = (kind for plugin in self._plugins for kind in plugin.watches)
        return next((kind for kind in own if kind.describes("", plain["kind"])), None) or _WATCHED[plain["kind"]]

    def _notify_all(self, kind: WatchedKind, old: object | None, new: object | None) -> None:
        for plugin in self._plugins:
            _notify(plugin, kind, old, new)

    @property
    def events(self) -> Sequence[RecordedEvent]:
        """The Events that plugins wrote."""
        return self._handle.recorded

    @property
    def activated(self) -> Sequence[str]:
        """Keys of the pods that plugins moved to the active queue."""
        return self._handle.activated

    @property
    def waiting(self) -> PodsAtPermit:
        """The pods that wait at Permit, see `permit`."""
        return self._handle.waiting_pods

    def permit(self, plugin: PermitPlugin, pod: PodDict, node: str) -> Status | Wait | None:
        """The plugin's answer at Permit; if it is `Wait`, the pod is in `waiting` from then on."""
        reserved = info(pod)
        answer = plugin.permit(CycleState(), reserved, node)
        if isinstance(answer, Wait):
            waits = {plugin.name: PermitWait(answer.seconds, ", ".join(answer.reasons))}
            self.waiting.add(PodAtPermit(reserved, node, waits, self.clock))
        return answer

    async def settle(self) -> None:
        """Run what plugins spawned, and what that spawns."""
        spawned = self._handle.spawned
        while spawned:
            await spawned.pop(0)

    def view(self, names: Iterable[str] | None = None) -> NodeView:
        """The named nodes, or all of them."""
        if names is None:
            return NodeView(self.snapshot, self.snapshot.live_rows())
        return NodeView(self.snapshot, np.array([self.snapshot.live_row_of(name) for name in names], np.intp))

    def prefiltered(self, plugin: Plugin, pod: PodDict, nodes: NodeView) -> tuple[CycleState, Status | None]:
        """The notes of the plugin's PreFilter, if it has one, and its status if it rejects or skips the pod."""
        state = CycleState()
        answer = plugin.pre_filter(state, info(pod), nodes) if isinstance(plugin, PreFilterPlugin) else None
        return state, answer if isinstance(answer, Status) else None

    def rejected(self, plugin: FilterPlugin, pod: PodDict) -> dict[str, Status]:
        """The nodes on which the plugin rejects the pod, and why; all of them if its PreFilter rejects it."""
        nodes = self.view()
        state, status = self.prefiltered(plugin, pod, nodes)
        if status is not None:
            return {} if status.code is Code.SKIP else dict.fromkeys(nodes.names(), status)
        verdicts = plugin.filter(state, info(pod), nodes)
        codes = verdicts.codes.tolist()
        return {name: verdicts.table[code] for name, code in zip(nodes.names(), codes, strict=True) if code}

    def scores(self, plugin: ScorePlugin, pod: PodDict) -> dict[str, int]:
        """The normalised score of each node."""
        nodes, incoming = self.view(), info(pod)
        state, _ = self.prefiltered(plugin, pod, nodes)
        scores = plugin.normalize_score(state, incoming, plugin.score(state, incoming, nodes))
        return dict(zip(nodes.names(), scores.tolist(), strict=True))


def _notify(plugin: Plugin, kind: WatchedKind, old: object | None, new: object | None) -> None:
    if isinstance(plugin, ObjectFollower) and kind in plugin.watches:
        plugin.on_object(kind.resource, old, new)


_WATCHED = {kind.resource: kind for plugin in IN_TREE.values() for kind in plugin.watches}
