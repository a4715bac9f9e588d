"""Muster's engine on an API in memory, in virtual time: for tests that change the cluster and check the results.

Nothing happens by itself: `settle` runs what needs no time, `run` and `until` let time pass. So a test is exact, and an
hour costs nothing. The scheduler can be killed and restarted on the current cluster.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from random import Random
from typing import Any

import yaml

from muster.framework.cache.recount import differences
from muster.framework.config import KubeSchedulerConfiguration, ResolvedProfile, load, resolve
from muster.framework.contract import Lister, Node, Plugin, Pod
from muster.framework.contract.plugin import extension_points
from muster.framework.embedded.clock import VirtualClock
from muster.framework.embedded.engine import EmbeddedEngine
from muster.framework.embedded.loop import VirtualLoop
from muster.framework.metrics import SchedulerMetrics
from muster.framework.runtime.standstill import Standstill
from muster.framework.scheduler.engine import Engine, build_engine
from muster.framework.scheduler.ports import Ports
from muster.plugins.catalog import DEFAULTS, IN_TREE, KNOWN_UNIMPLEMENTED

from .api import Followed, InMemoryApi, InMemoryBinder
from .reports import RecordedReports


class VirtualScheduler(RecordedReports):
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
        super().__init__()
        self.clock = VirtualClock()
        self.api = InMemoryApi(self.clock)
        self.binder = InMemoryBinder(self.api, self.clock)
        self.latency: Callable[[], float] = lambda: 0.0
        self.slices: Callable[[], int] = lambda: 0
        self.on_wake: Callable[[], None] = lambda: None
        self.may_report: Callable[[], bool] = lambda: True
        self.random: Callable[[], float] = Random(seed).random
        self._plugins = plugins
        names = ["Coscheduling", *(plugin.name for plugin in plugins)]
        self._configuration = configuration if configuration is not None else configuration_of(names)
        self.metrics = SchedulerMetrics()
        self._stopwatch = stopwatch
        self.start()

    # The scheduler.

    def start(self) -> None:
        """Start a scheduler on the cluster as it is."""
        listers: dict[str, Lister] = {}
        self._loop = VirtualLoop(self.clock)
        ports = Ports(
            clock=self.clock,
            random=lambda: self.random(),
            spawn=self._loop.spawn,
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
        kinds = {"pods": Followed(Pod, self.engine.pod_handler), "nodes": Followed(Node, self.engine.node_handler)}
        names: dict[str, str] = {}
        for kind, handler in self.engine.object_handlers.items():
            plural = kind.path.rpartition("/")[2]
            again = plural in ("pods", "nodes")
            name = names[kind.resource] = kind.resource if again or kind.kind else plural
            kinds[name] = Followed(kind.type, handler, plural if again else name)
        self._watcher = self.api.watch(kinds, lambda: self.latency(), self.engine.standstill.apply)
        for resource, name in names.items():
            listers[resource] = self._watcher.known[name]
        self.api.begin(self._watcher)
        self._driver = EmbeddedEngine(self.engine, self.clock, self._loop, turns_between=lambda: self.slices())

    def build(self, ports: Ports) -> Engine:
        """The engine that `start` starts; overridden if it is made from anything but a configuration."""
        return engine_of(self._configuration, self._plugins, ports)

    async def kill(self) -> None:
        """Stop the scheduler at once, whatever it is doing."""
        self._watcher.closed = True
        self._loop.end()

    def step(self) -> bool:
        """Make one decision, or a slice of it. Returns whether there was one to make."""
        return self._driver.step()

    async def settle(self) -> None:
        """Decide and deliver until nothing is left to do at this time."""
        await self._driver.settle()

    async def breathe(self) -> None:
        """Deliver everything that is due at this time, without decisions."""
        self._loop.run_ready()

    async def run(self, seconds: float) -> None:
        """Let this much time pass."""
        await self._driver.run(seconds)

    async def until(self, probe: Callable[[], bool], within: float) -> float:
        """Let time pass until `probe` holds, at most this many seconds. Returns the seconds that it took."""
        return await self._driver.until(probe, within)

    # The cluster.

    def add_nodes(self, *nodes: Mapping[str, Any]) -> None:
        """Add nodes."""
        for node in nodes:
            self.api.put("nodes", node)

    def add(self, *pods: Mapping[str, Any]) -> list[str]:
        """Create pods. Returns their keys."""
        return [self.api.put("pods", pod) for pod in pods]

    def delete(self, *keys: str) -> None:
        """Delete pods at once."""
        for key in keys:
            self.api.delete("pods", key)

    def terminate(self, key: str) -> None:
        """Begin to delete a pod, which stays for its grace period."""
        self.api.change("pods", key, lambda pod: pod["metadata"].update(deletionTimestamp="2026-01-01T00:00:00Z"))

    def set_phase(self, key: str, phase: str) -> None:
        """Set a pod's phase: running or ended."""
        self.api.change("pods", key, lambda pod: pod.setdefault("status", {}).update(phase=phase))

    # What came of it.

    def node_of(self, key: str) -> str:
        """The pod's node; empty while it has none."""
        node: str = self.api.pods[key]["spec"].get("nodeName", "")
        return node

    def notes(self, key: str, reason: str = "FailedScheduling") -> list[str]:
        """The notes of a pod's Events of a reason."""
        return [note for pod, why, note in self.events if (pod, why) == (key, reason)]

    def places(self) -> Counter[str]:
        """The number of pods waiting in each part of the queue."""
        return Counter(line.place for line in self.engine.queue.contents.dump())

    def check(self) -> None:
        """Check that the scheduler's state is the API's, once all has settled."""
        engine, snapshot = self.engine, self.engine.cache.snapshot
        assert differences(engine.cache) == []
        assert {info.key: node for info, node in engine.cache.placements()} == {
            key: pod["spec"]["nodeName"]
            for key, pod in self.api.pods.items()
            if pod["spec"].get("nodeName") and pod.get("status", {}).get("phase") not in ("Succeeded", "Failed")
        }
        assert engine.cache.assumed_count == 0
        assert len(engine.waiting_pods) == 0
        assert snapshot.node_count == len(self.api.objects["nodes"])


def engine_of(configuration: bytes, plugins: Iterable[type[Plugin]], ports: Ports) -> Engine:
    """The engine of a KubeSchedulerConfiguration in YAML, which may enable `plugins` besides those of Muster."""
    return build_engine(*_read(configuration, tuple(plugins)), ports)


@lru_cache(maxsize=32)
def _read(
    configuration: bytes, plugins: tuple[type[Plugin], ...]
) -> tuple[KubeSchedulerConfiguration, Sequence[ResolvedProfile], Mapping[str, type[Plugin]]]:
    """The configuration, its profiles, and the classes of their plugins by name.

    All of it is immutable, and tests start thousands of engines with the same few configurations.
    """
    found = load(configuration, "configuration.yaml")
    registry = {**IN_TREE, **{plugin.name: plugin for plugin in plugins}}
    profiles = resolve(
        found,
        defaults=DEFAULTS,
        extends={name: extension_points(plugin) for name, plugin in registry.items()},
        args_models={name: plugin.args_model for name, plugin in registry.items() if plugin.args_model is not None},
        known_unimplemented=KNOWN_UNIMPLEMENTED,
    )
    return found, profiles, registry


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
