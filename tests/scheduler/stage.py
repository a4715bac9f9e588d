"""An engine with the plugins that a test wants, in the order it wants them, on an outside that it plays itself."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import msgspec

from muster.framework.cache.recount import differences
from muster.framework.config import PluginRef, ResolvedProfile, default_configuration
from muster.framework.contract import Plugin, Status
from muster.framework.contract.observer import NullObserver, Observer
from muster.framework.contract.points import POINTS, extension_points
from muster.framework.model.node import Node
from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import PodInfo
from muster.framework.scheduler.engine import Engine, build_engine
from muster.framework.scheduler.ports import Ports
from muster.plugins.binding.default_binder import DefaultBinder
from muster.plugins.queueing.priority_sort import PrioritySort
from muster.testing.clock import VirtualClock
from tests.builders import NodeDict, PodDict

_HOPS = 10


class Stage:
    """The engine of one profile, `muster`.

    Attributes:
        binds: each binding that was asked for, as (pod's key, node).
        events: each Event, as (pod's key, reason, note).
        conditions: what was written about each pod, by key: (reason, message, nominated node).
        on_wake: what the engine calls when there may be something to decide.
    """

    def __init__(
        self,
        *plugins: type[Plugin],
        weights: Mapping[str, int] = {},
        percentage: int | None = None,
        observer: Observer | None = None,
        assumed_ttl: float | None = None,
    ) -> None:
        self.clock = VirtualClock()
        self.binds: list[tuple[str, str]] = []
        self.events: list[tuple[str, str, str]] = []
        self.conditions: dict[str, tuple[str, str, str | None]] = {}
        self._answers: list[Status | None] = []
        self._held: asyncio.Event | None = None
        self._first: asyncio.Event | None = None
        self.on_wake: Callable[[], None] = lambda: None
        self._tasks: set[asyncio.Task[None]] = set()
        self._versions: dict[str, Any] = {}
        self._uids = 0
        profile = profile_of(plugins, weights=weights, percentage=percentage)
        ports = Ports(
            clock=self.clock,
            random=lambda: 1.0,
            spawn=self._spawn,
            wake=lambda: self.on_wake(),
            binder=self,
            conditions=self,
            events=lambda name: self,
            observer=observer or NullObserver(),
        )
        everyone: tuple[type[Plugin], ...] = (PrioritySort, DefaultBinder, *plugins)
        registry = {plugin.name: plugin for plugin in everyone}
        self.engine: Engine = build_engine(default_configuration(), [profile], registry, ports, assumed_ttl=assumed_ttl)

    # The cluster.

    def put_node(self, *nodes: NodeDict) -> None:
        """Nodes come, or change."""
        for plain in nodes:
            node = msgspec.convert(plain, Node)
            old = self._versions.get(plain.name)
            self._versions[plain.name] = node
            if old is None:
                self.engine.nodes.on_add(node)
            else:
                self.engine.nodes.on_update(old, node)

    def drop_node(self, name: str) -> None:
        """A node goes."""
        self.engine.nodes.on_delete(self._versions.pop(name))

    def put_pod(self, *pods: PodDict) -> None:
        """Pods come, or change; a new one gets a UID of its own."""
        for plain in pods:
            key = f"{plain['metadata']['namespace']}/{plain.name}"
            old = self._versions.get(key)
            if old is None:
                self._uids += 1
            uid = old.metadata.uid if old is not None else f"uid-{self._uids}"
            pod = msgspec.convert({**plain, "metadata": {**plain["metadata"], "uid": uid}}, Pod)
            self._versions[key] = pod
            if old is None:
                self.engine.pods.on_add(pod)
            else:
                self.engine.pods.on_update(old, pod)

    def drop_pod(self, key: str) -> None:
        """A pod goes."""
        self.engine.pods.on_delete(self._versions.pop(key))

    def uid(self, key: str) -> str:
        """The UID of a pod."""
        uid: str = self._versions[key].metadata.uid
        return uid

    # What the scheduler does.

    def step(self) -> bool:
        """Take one decision, and nothing else."""
        self.engine.queue.flush(self.clock.now())
        return self.engine.scheduler.step()

    async def settle(self) -> None:
        """Let happen all that happens without time."""
        while self.step():
            await self.breathe()
        await self.breathe()

    async def breathe(self) -> None:
        """Let tasks run as far as they come, but decide nothing."""
        for _ in range(_HOPS):
            await asyncio.sleep(0)

    async def wait(self, seconds: float) -> None:
        """Let time pass, then all that follows from it."""
        self.clock.move_to(self.clock.now() + seconds)
        await self.breathe()
        await self.settle()

    async def close(self) -> None:
        """End what is under way."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def place(self, key: str) -> str:
        """Where in the queue the pod is, `assumed` or `bound` when it is on a node, or nothing."""
        uid = self.uid(key)
        place = self.engine.queue.place_of(uid)
        if place is not None:
            return place.label
        if self.engine.cache.is_assumed(uid):
            return "assumed"
        return "bound" if self.engine.cache.get(uid) is not None else ""

    def notes(self, key: str, reason: str = "FailedScheduling") -> list[str]:
        """What was said about a pod in Events of a reason."""
        return [note for pod, why, note in self.events if (pod, why) == (key, reason)]

    def check(self) -> None:
        """The cache follows from its nodes and pods."""
        assert differences(self.engine.cache) == []

    # The API.

    def answer_bindings(self, *answers: Status | None) -> None:
        """What the next bindings come to; after that all succeed."""
        self._answers.extend(answers)

    def hold_bindings(self, first: asyncio.Event | None = None) -> None:
        """Let bindings wait for `release_bindings`, the next one for `first` if there is such an event."""
        self._held, self._first = asyncio.Event(), first

    def release_bindings(self) -> None:
        """Let them go on."""
        assert self._held is not None
        self._held.set()
        self._held = None

    async def bind(self, pod: PodInfo, node_name: str) -> Status | None:
        """Implements `contract.Binder`."""
        self.binds.append((pod.key, node_name))
        first, self._first = self._first, None
        if first is not None:
            await first.wait()
        elif self._held is not None:
            await self._held.wait()
        return self._answers.pop(0) if self._answers else None

    def event(self, regarding: PodInfo, *, kind: str, reason: str, action: str, note: str) -> None:
        """Implements `contract.EventSink`."""
        self.events.append((regarding.key, reason, note))

    def unscheduled(self, pod: PodInfo, *, reason: str, message: str, nominated_node: str | None) -> None:
        """Implements `contract.ConditionWriter`."""
        self.conditions[pod.key] = reason, message, nominated_node

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def profile_of(
    plugins: Sequence[type[Plugin]], *, weights: Mapping[str, int] = {}, percentage: int | None = None
) -> ResolvedProfile:
    """A profile with these plugins in this order, in front of PrioritySort and DefaultBinder where they need it."""
    everyone: tuple[type[Plugin], ...] = (*plugins, PrioritySort, DefaultBinder)
    points = {
        point: tuple(
            PluginRef(plugin.name, weights.get(plugin.name, 1) if point == "score" else 0)
            for plugin in everyone
            if point in extension_points(plugin)
        )
        for point in POINTS
    }
    return ResolvedProfile("muster", percentage, MappingProxyType(points), MappingProxyType({}), ())
