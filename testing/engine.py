"""Muster's engine on an API in memory, in virtual time: what a test does to the cluster, and the results.

Nothing happens by itself: `settle` runs what needs no time, `run` and `until` let time pass. So a test is exact, and an
hour costs nothing. The scheduler can be killed and restarted on the current cluster.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Mapping
from random import Random
from typing import Any

import yaml

from muster.framework.cache.recount import differences
from muster.framework.config import load, resolve
from muster.framework.contract import Lister, Node, Plugin, Pod, PodInfo
from muster.framework.contract.plugin import extension_points
from muster.framework.metrics import SchedulerMetrics
from muster.framework.runtime.standstill import Standstill
from muster.framework.scheduler.engine import Engine, build_engine
from muster.framework.scheduler.profile_handle import Ports
from muster.plugins.catalog import DEFAULTS, IN_TREE, KNOWN_UNIMPLEMENTED

from .api import Followed, InMemoryApi, InMemoryBinder, Watcher
from .clock import VirtualClock

_HOPS = 40
"""Turns of the event loop after which every task that can go on waits for something."""


class VirtualScheduler:
    """A cluster with Muster on it.

    Attributes:
        clock: time.
        api: the objects.
        binder: binds, at once or after a latency.
        engine: the scheduler itself, another after each `start`.
        latency: how late informers are, in seconds.
        slices: how much else happens between two decisions, for tests of races.
        on_wake: what the engine calls when there may be something to decide.
        may_report: whether this scheduler leads and knows the whole cluster, as far as plugins are to know.
        random: the engine's randomness, a number in [0, 1).
        events: (pod's key, reason, note) of each Event.
        conditions: (reason, message, nominated node) last written to each pod, by key; see `ConditionWriter`.
        nominations: (pod's key, node) of each nomination that was written without a condition.
    """

    def __init__(
        self,
        *plugins: type[Plugin],
        configuration: bytes | None = None,
        seed: int = 0,
        stopwatch: Callable[[], float] = lambda: 0.0,
    ) -> None:
        """A scheduler with `plugins` besides those of Muster.

        `configuration` is a KubeSchedulerConfiguration in YAML; by default there is one profile, `muster`, with
        kube-scheduler's plugins, Coscheduling, and `plugins` at all their extension points. `stopwatch` measures the
        slices of long decisions; by default it stands, so that every decision is made in one step.
        """
        self.clock = VirtualClock()
        self.api = InMemoryApi(self.clock)
        self.binder = InMemoryBinder(self.api, self.clock)
        self.latency: Callable[[], float] = lambda: 0.0
        self.slices: Callable[[], int] = lambda: 0
        self.on_wake: Callable[[], None] = lambda: None
        self.may_report: Callable[[], bool] = lambda: True
        self.random: Callable[[], float] = Random(seed).random
        self.events: list[tuple[str, str, str]] = []
        self.conditions: dict[str, tuple[str, str, str | None]] = {}
        self.nominations: list[tuple[str, str]] = []
        self._plugins = plugins
        names = ["Coscheduling", *(plugin.name for plugin in plugins)]
        self._configuration = configuration if configuration is not None else configuration_of(names)
        self.metrics = SchedulerMetrics()
        self._stopwatch = stopwatch
        self._tasks: set[asyncio.Task[None]] = set()
        self.start()

    # The scheduler.

    def start(self) -> None:
        """Start a scheduler that knows nothing, on the cluster as it is."""
        listers: dict[str, Lister] = {}
        ports = Ports(
            clock=self.clock,
            random=lambda: self.random(),
            spawn=self._spawn,
            wake=lambda: self.on_wake(),
            binder=self.binder,
            conditions=self,
            events=lambda name: self,
            metrics=self.metrics,
            listers=listers,
            standstill=Standstill(self._stopwatch),
            may_report=lambda: self.may_report(),
        )
        self.engine = self.build(ports)
        kinds = {"pods": Followed(Pod, self.engine.pods), "nodes": Followed(Node, self.engine.nodes)}
        names: dict[str, str] = {}
        for kind, handler in self.engine.objects.items():
            plural = kind.path.rpartition("/")[2]
            again = plural in ("pods", "nodes")
            name = names[kind.resource] = kind.resource if again or kind.kind else plural
            kinds[name] = Followed(kind.type, handler, plural if again else name)
        self._watcher = self.api.watch(kinds, lambda: self.latency(), ports.standstill.apply)
        for resource, name in names.items():
            listers[resource] = _Listed(self._watcher, name)

    def build(self, ports: Ports) -> Engine:
        """The engine that `start` starts; overridden where it is made of something else than a configuration."""
        return engine_of(self._configuration, self._plugins, ports)

    async def kill(self) -> None:
        """End the scheduler in the middle of whatever it does."""
        self._watcher.closed = True
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def step(self) -> bool:
        """Take one decision, or a slice of it, and nothing else; whether there was one to take."""
        if not self.engine.scheduler.under_way:
            self.engine.queue.flush(self.clock.now())
        return self.engine.scheduler.step()

    async def settle(self) -> None:
        """Let happen all that happens without time."""
        idle = 0
        while idle < 2:
            idle = 0 if await self._slice() or self.engine.standstill.under_way else idle + 1
            await self.breathe()

    async def breathe(self) -> None:
        """Let everything happen but decisions and time."""
        for _ in range(_HOPS):
            await asyncio.sleep(0)

    async def run(self, seconds: float) -> None:
        """Let so much time pass."""
        end = self.clock.now() + seconds
        await self.settle()
        while (moment := self._next_moment()) <= end:
            self.clock.move_to(moment)
            await self.settle()
        self.clock.move_to(end)
        await self.settle()

    async def until(self, probe: Callable[[], bool], within: float) -> float:
        """Let time pass until `probe` holds, within so many seconds; the seconds that it took."""
        began = self.clock.now()
        await self.settle()
        while not probe():
            moment = self._next_moment()
            assert moment <= began + within, f"not so within {within:g} s"
            self.clock.move_to(moment)
            await self.settle()
        return self.clock.now() - began

    # The cluster.

    def add_nodes(self, *nodes: Mapping[str, Any]) -> None:
        """Nodes come."""
        for node in nodes:
            self.api.put("nodes", node)

    def add(self, *pods: Mapping[str, Any]) -> list[str]:
        """Pods come. Returns their keys."""
        return [self.api.put("pods", pod) for pod in pods]

    def delete(self, *keys: str) -> None:
        """Pods are deleted at once."""
        for key in keys:
            self.api.delete("pods", key)

    def terminate(self, key: str) -> None:
        """A pod is being deleted, and stays for its grace period."""
        self.api.change("pods", key, lambda pod: pod["metadata"].update(deletionTimestamp="2026-01-01T00:00:00Z"))

    def set_phase(self, key: str, phase: str) -> None:
        """A pod runs, or has ended."""
        self.api.change("pods", key, lambda pod: pod.setdefault("status", {}).update(phase=phase))

    # What came of it.

    def node_of(self, key: str) -> str:
        """The pod's node; empty while it has none."""
        node: str = self.api.pods[key]["spec"].get("nodeName", "")
        return node

    def notes(self, key: str, reason: str = "FailedScheduling") -> list[str]:
        """What was said about a pod in Events of a reason."""
        return [note for pod, why, note in self.events if (pod, why) == (key, reason)]

    def places(self) -> Counter[str]:
        """How many pods wait in which part of the queue."""
        return Counter(line.place for line in self.engine.queue.contents.dump())

    def check(self) -> None:
        """What the scheduler believes is what the API has; to be asked when all is settled."""
        engine, snapshot = self.engine, self.engine.cache.snapshot
        assert differences(engine.cache) == []
        assert {info.key: node for info, node in engine.cache.placements()} == {
            key: pod["spec"]["nodeName"]
            for key, pod in self.api.pods.items()
            if pod["spec"].get("nodeName") and pod.get("status", {}).get("phase") not in ("Succeeded", "Failed")
        }
        assert engine.cache.assumed_count == 0
        assert len(engine.waiting) == 0
        assert snapshot.node_count == len(self.api.objects["nodes"])

    # The ports.

    def event(
        self, regarding: PodInfo, *, kind: str, reason: str, action: str, note: str, related: PodInfo | None = None
    ) -> None:
        """Implements `contract.EventSink`."""
        self.events.append((regarding.key, reason, note))

    def unscheduled(self, pod: PodInfo, *, reason: str, message: str, nominated_node: str | None) -> None:
        """Implements `contract.ConditionWriter`."""
        self.conditions[pod.key] = (reason, message, nominated_node)

    def nominated(self, pod: PodInfo, node_name: str) -> None:
        """Implements `contract.ConditionWriter`."""
        self.nominations.append((pod.key, node_name))

    def forget(self, uid: str) -> None:
        """Implements `contract.ConditionWriter`: what was written stays for tests to read."""

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.result()

    async def _slice(self) -> bool:
        worked = False
        while self.step():
            worked = True
            for _ in range(self.slices()):
                await asyncio.sleep(0)
        return worked

    def _next_moment(self) -> float:
        """When something happens by itself the next time."""
        moments = (self.clock.next_due(), self.engine.queue.next_deadline())
        return max(self.clock.now(), min((moment for moment in moments if moment is not None), default=float("inf")))


class _Listed:
    """The objects of one kind as an informer knows them; implements `contract.Lister`."""

    def __init__(self, watcher: Watcher, kind: str) -> None:
        self._watcher = watcher
        self._kind = kind

    def get(self, key: str) -> object | None:
        """The object with this `namespace/name` (or name, when not namespaced)."""
        return self._watcher.get(self._kind, key)

    def list(self) -> Iterable[object]:
        """All objects."""
        return self._watcher.list(self._kind)


def engine_of(configuration: bytes, plugins: Iterable[type[Plugin]], ports: Ports) -> Engine:
    """The engine of a KubeSchedulerConfiguration in YAML, which may enable `plugins` besides those of Muster."""
    found = load(configuration, "configuration.yaml")
    registry = {**IN_TREE, **{plugin.name: plugin for plugin in plugins}}
    profiles = resolve(
        found,
        defaults=DEFAULTS,
        extends={name: extension_points(plugin) for name, plugin in registry.items()},
        args_models={name: plugin.args_model for name, plugin in registry.items() if plugin.args_model is not None},
        known_unimplemented=KNOWN_UNIMPLEMENTED,
    )
    return build_engine(found, profiles, registry, ports)


def configuration_of(
    plugins: Iterable[str],
    *,
    names: Iterable[str] = ("muster",),
    args: Mapping[str, Mapping[str, object]] = {},
    without: Mapping[str, Iterable[str]] = {},
) -> bytes:
    """A KubeSchedulerConfiguration with `plugins` besides kube-scheduler's own in every profile, in YAML.

    `names` are the profiles' schedulerNames, `args` the plugins' arguments, and `without` names Filter plugins that a
    profile does without, by the profile's name. Coscheduling takes the place of PrioritySort.
    """
    enabled = [*plugins]
    sorts = [{"name": "PrioritySort"}] if "Coscheduling" in enabled else []
    everywhere = {"enabled": [{"name": name} for name in enabled], "disabled": sorts}
    profiles = [
        {
            "schedulerName": name,
            "plugins": {
                "multiPoint": everywhere,
                "filter": {"disabled": [{"name": plugin} for plugin in without.get(name, ())]},
            },
            "pluginConfig": [{"name": plugin, "args": dict(given)} for plugin, given in args.items()],
        }
        for name in names
    ]
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "profiles": profiles,
    }
    return yaml.safe_dump(document).encode()
