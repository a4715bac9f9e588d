"""The real engine on a cluster in memory, in virtual time: what a test does to the cluster, and what came of it."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from random import Random
from typing import Any

import yaml

from muster.framework.cache.recount import differences
from muster.framework.config import load, resolve
from muster.framework.contract import Plugin
from muster.framework.contract.observer import NullObserver, Observer
from muster.framework.model.pod_info import PodInfo
from muster.framework.scheduler.engine import Engine, build_engine
from muster.framework.scheduler.ports import Ports
from muster.plugins.catalog import DEFAULTS, IN_TREE, KNOWN_UNIMPLEMENTED, extension_points
from muster.plugins.coscheduling.groups import PodGroups
from muster.plugins.coscheduling.plugin import SHARED, Coscheduling
from tests.coscheduling.clock import VirtualClock
from tests.coscheduling.fake_api import FakeApi, FakeBinder, Handler
from tests.coscheduling.objects import GROUP_LABEL, make_group

_HOPS = 10


def configuration(
    args: Mapping[str, object] = {},
    names: Sequence[str] = ("muster",),
    more: Sequence[str] = (),
    without: Mapping[str, Sequence[str]] = {},
) -> bytes:
    """A KubeSchedulerConfiguration with Coscheduling in every profile, and the plugins `more` after it.

    `without` names Filter plugins that a profile does without, by the profile's name.
    """
    enabled = [{"name": name} for name in ("Coscheduling", *more)]
    everywhere = {"enabled": enabled, "disabled": [{"name": "PrioritySort"}]}

    def profile(name: str) -> dict[str, object]:
        disabled = [{"name": plugin} for plugin in without.get(name, ())]
        return {
            "schedulerName": name,
            "plugins": {"multiPoint": everywhere, "filter": {"disabled": disabled}},
            "pluginConfig": [{"name": "Coscheduling", "args": dict(args)}],
        }

    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "profiles": [profile(name) for name in names],
    }
    return yaml.safe_dump(document).encode()


class World:
    """A cluster with Muster on it.

    Attributes:
        api: the objects.
        binder: binds, at once or after a latency.
        latency: how late informers are.
        slices: how much else happens between two decisions, for tests of races.
        events: (pod's key, reason, note) of each Event.
        conditions: (reason, message) of each pod's PodScheduled condition, by key.
    """

    def __init__(
        self,
        args: Mapping[str, object] = {},
        *,
        names: Sequence[str] = ("muster",),
        plugins: Mapping[str, type[Plugin]] = {},
        without: Mapping[str, Sequence[str]] = {},
        observer: Observer | None = None,
        seed: int = 0,
    ) -> None:
        self.clock = VirtualClock()
        self.api = FakeApi(self.clock)
        self.binder = FakeBinder(self.api, self.clock)
        self.latency: Callable[[], float] = lambda: 0.0
        self.slices: Callable[[], int] = lambda: 0
        self.events: list[tuple[str, str, str]] = []
        self.conditions: dict[str, tuple[str, str]] = {}
        self._configuration = configuration(args, names, tuple(plugins), without)
        self._plugins = plugins
        self._observer = observer or NullObserver()
        self._random = Random(seed)
        self._tasks: set[asyncio.Task[None]] = set()
        self.start()

    # The scheduler.

    def start(self) -> None:
        """Start a scheduler that knows nothing, on the cluster as it is."""
        ports = Ports(
            clock=self.clock,
            random=self._random.random,
            spawn=self._spawn,
            wake=lambda: None,
            binder=self.binder,
            conditions=self,
            events=lambda name: self,
            observer=self._observer,
        )
        self.engine = build(self._configuration, self._plugins, ports)
        [groups] = [handler for kind, handler in self.engine.objects.items() if kind.resource == "PodGroup"]
        handlers: dict[str, Handler] = {"pods": self.engine.pods, "nodes": self.engine.nodes, "groups": groups}
        self._watcher = self.api.watch(handlers, lambda: self.latency())

    async def kill(self) -> None:
        """End the scheduler in the middle of whatever it does."""
        self._watcher.closed = True
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    @property
    def groups(self) -> PodGroups:
        """What the plugin knows."""
        found = self.engine.shared[SHARED]
        assert isinstance(found, PodGroups)
        return found

    def plugin(self, name: str = "muster") -> Coscheduling:
        """The plugin of a profile."""
        found = self.engine.algorithms[name].framework.plugins.plugins["Coscheduling"]
        assert isinstance(found, Coscheduling)
        return found

    async def settle(self) -> None:
        """Let happen all that happens without time."""
        idle = 0
        while idle < 2:
            idle = 0 if await self._slice() else idle + 1
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

    def add_group(self, name: str, min_member: int | None = None, **more: Any) -> str:
        """A PodGroup comes; see `make_group`."""
        return self.api.put("groups", make_group(name, min_member, **more))

    def change_group(self, key: str, **spec: object) -> None:
        """Fields of a PodGroup's spec change."""
        self.api.change("groups", key, lambda group: group["spec"].update(spec))

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

    def relabel(self, key: str, group: str) -> None:
        """A pod's label names another group."""
        self.api.change("pods", key, lambda pod: pod["metadata"].setdefault("labels", {}).update({GROUP_LABEL: group}))

    # What came of it.

    def node_of(self, key: str) -> str:
        """The pod's node; empty while it has none."""
        node: str = self.api.pods[key]["spec"].get("nodeName", "")
        return node

    def bound(self, group: str | None = None, namespace: str = "default") -> list[str]:
        """Keys of the bound pods, of one group or of all."""
        return [
            key
            for key, pod in self.api.pods.items()
            if pod["spec"].get("nodeName")
            and (group is None or (_group(pod) == group and pod["metadata"]["namespace"] == namespace))
        ]

    def notes(self, key: str, reason: str = "FailedScheduling") -> list[str]:
        """What was said about a pod in Events of a reason."""
        return [note for pod, why, note in self.events if (pod, why) == (key, reason)]

    def places(self) -> Counter[str]:
        """How many pods wait in which part of the queue."""
        return Counter(line.place for line in self.engine.queue.dump())

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
        members = self.groups.members
        for group in {*self.api.objects["groups"]}:
            namespace, _, name = group.partition("/")
            alive = [
                pod
                for pod in self.api.pods.values()
                if _group(pod) == name
                and pod["metadata"]["namespace"] == namespace
                and pod.get("status", {}).get("phase") not in ("Succeeded", "Failed")
                and "deletionTimestamp" not in pod["metadata"]
            ]
            placed = sum(1 for pod in alive if pod["spec"].get("nodeName"))
            assert (len(members.of(group)), members.placed(group), members.bound(group)) == (len(alive), placed, placed)
            assert not self.groups.waiting.of(group)

    # The ports.

    def event(self, regarding: PodInfo, *, kind: str, reason: str, action: str, note: str) -> None:
        """Implements `contract.EventSink`."""
        self.events.append((regarding.key, reason, note))

    def unscheduled(self, pod: PodInfo, *, reason: str, message: str, nominated_node: str | None) -> None:
        """Implements `contract.ConditionWriter`."""
        self.conditions[pod.key] = (reason, message)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.result()

    async def _slice(self) -> bool:
        self.engine.queue.flush(self.clock.now())
        worked = False
        while self.engine.scheduler.step():
            worked = True
            for _ in range(self.slices()):
                await asyncio.sleep(0)
        return worked

    def _next_moment(self) -> float:
        """When something happens by itself the next time."""
        moments = (self.clock.next_due(), self.engine.queue.next_deadline())
        return max(self.clock.now(), min((moment for moment in moments if moment is not None), default=float("inf")))


def _group(pod: Mapping[str, Any]) -> str | None:
    found: str | None = pod["metadata"].get("labels", {}).get(GROUP_LABEL)
    return found


def build(document: bytes, plugins: Mapping[str, type[Plugin]], ports: Ports) -> Engine:
    """The engine of a configuration, with plugins of the test's own."""
    found = load(document, "configuration.yaml")
    registry = {**IN_TREE, **plugins}
    profiles = resolve(
        found,
        defaults=DEFAULTS,
        extends={name: extension_points(plugin) for name, plugin in registry.items()},
        args_models={name: plugin.args_model for name, plugin in registry.items() if plugin.args_model is not None},
        known_unimplemented=KNOWN_UNIMPLEMENTED,
    )
    return build_engine(found, profiles, registry, ports)
