"""An engine with the plugins that a test wants and no others, whose bindings the test answers itself."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from muster.framework.cache.recount import differences
from muster.framework.config import PluginRef, ResolvedProfile, default_configuration
from muster.framework.contract import Plugin, PodInfo, Status
from muster.framework.contract.extender import Extender
from muster.framework.contract.plugin import POINTS, extension_points
from muster.framework.scheduler.engine import Engine, build_engine
from muster.framework.scheduler.ports import Ports, first_of_equals
from muster.plugins.binding.default_binder import DefaultBinder
from muster.plugins.queueing.priority_sort import PrioritySort
from muster.testing import VirtualScheduler
from tests.builders import NodeDict, PodDict


def place_of(engine: Engine, uid: str) -> str:
    """Where in the queue a pod is, `assumed` or `bound` when it is on a node, or nothing."""
    place = engine.queue.contents.place_of(uid)
    if place is not None:
        return place.label
    if engine.cache.is_assumed(uid):
        return "assumed"
    return "bound" if engine.cache.get(uid) is not None else ""


class Stage(VirtualScheduler):
    """The engine of one profile, `muster`. The API hears of no binding unless the test says so.

    Attributes:
        binds: each binding that was asked for, as (pod's key, node).
    """

    def __init__(
        self,
        *plugins: type[Plugin],
        weights: Mapping[str, int] = {},
        percentage: int | None = None,
        assumed_ttl: float | None = None,
        choose: Callable[[int], int] = first_of_equals,
        extenders: Sequence[Extender] = (),
    ) -> None:
        self.binds: list[tuple[str, str]] = []
        self._answers: list[Status | None] = []
        self._held: asyncio.Event | None = None
        self._first: asyncio.Event | None = None
        self._profile = profile_of(plugins, weights=weights, percentage=percentage)
        self._assumed_ttl = assumed_ttl
        self._choose = choose
        self._extenders = extenders
        super().__init__(*plugins)
        self.random = lambda: 1.0

    def build(self, ports: Ports) -> Engine:
        """Of these plugins alone."""
        everyone: tuple[type[Plugin], ...] = (PrioritySort, DefaultBinder, *self._plugins)
        registry = {plugin.name: plugin for plugin in everyone}
        ports = replace(ports, binder=self, choose=self._choose, extenders=self._extenders)
        return build_engine(default_configuration(), [self._profile], registry, ports, assumed_ttl=self._assumed_ttl)

    # The cluster.

    def put_node(self, *nodes: NodeDict) -> None:
        """Nodes come, or change."""
        self.add_nodes(*nodes)

    def drop_node(self, name: str) -> None:
        """A node goes."""
        self.api.delete("nodes", name)

    def put_pod(self, *pods: PodDict) -> None:
        """Pods come, or change."""
        self.add(*pods)

    def drop_pod(self, key: str) -> None:
        """A pod goes."""
        self.delete(key)

    def uid(self, key: str) -> str:
        """The UID of a pod."""
        uid: str = self.api.pods[key]["metadata"]["uid"]
        return uid

    # What the scheduler does.

    async def wait(self, seconds: float) -> None:
        """Let time pass in one leap, then all that follows from it."""
        self.clock.move_to(self.clock.now() + seconds)
        await self.breathe()
        await self.settle()

    async def close(self) -> None:
        """End what is under way."""
        await self.kill()

    def place(self, key: str) -> str:
        """Where in the queue the pod is, `assumed` or `bound` when it is on a node, or nothing."""
        return place_of(self.engine, self.uid(key))

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


def profile_of(
    plugins: Sequence[type[Plugin]], *, weights: Mapping[str, int] = {}, percentage: int | None = None
) -> ResolvedProfile:
    """A profile with these plugins in this order, in front of PrioritySort and DefaultBinder where they need it."""
    everyone: tuple[type[Plugin], ...] = (*plugins, PrioritySort, DefaultBinder)
    points = {
        point: tuple(
            PluginRef(plugin.name, weights.get(plugin.name, 1) if point in ("score", "placementScore") else 0)
            for plugin in everyone
            if point in extension_points(plugin)
        )
        for point in POINTS
    }
    return ResolvedProfile("muster", percentage, MappingProxyType(points), MappingProxyType({}), ())
