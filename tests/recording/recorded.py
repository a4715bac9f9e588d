"""A cluster in virtual time whose scheduler is recorded, and a busy life for it."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from muster.framework.config import load
from muster.framework.scheduler.engine import Engine, build_engine
from muster.framework.scheduler.ports import Ports
from muster.operator.process.settings import Assembly, assemble
from muster.operator.recording.comparison import Comparison
from muster.operator.recording.reader import Recording
from muster.operator.recording.recorder import Recorder
from muster.operator.recording.replay import Replay
from muster.operator.recording.session import head
from muster.operator.recording.writer import RecordingFiles
from muster.testing import VirtualScheduler, configuration_of, make_node, make_pod

GROUP_LABEL = "scheduling.x-k8s.io/pod-group"


class RecordedScheduler(VirtualScheduler):
    """A cluster with Muster on it, recorded to `path` from its start on; see `RecordingFiles`."""

    def __init__(
        self, path: Path, seed: int = 0, most_bytes: int = 1 << 30, plugins: Sequence[str] = ("Coscheduling",)
    ) -> None:
        self.path = path
        self._enabled_plugins = plugins
        self._files = RecordingFiles(path, most_bytes)
        self._seed = seed
        super().__init__(configuration=configuration_of(plugins), seed=seed)

    def build(self, ports: Ports) -> Engine:
        """The engine, with a recorder around it."""
        self._recorder = Recorder(self._files.write, ports.clock, self._seed)
        assembly = assembled(plugins=self._enabled_plugins)
        engine = build_engine(assembly.configuration, assembly.profiles, assembly.registry, self._recorder.ports(ports))
        self._files.write(head(self._recorder, self._seed, engine, assembly))
        return self._recorder.watch(engine)

    def end(self) -> Recording:
        """End the recording."""
        self._recorder.end()
        self._files.close()
        return Recording(self.path)


def assembled(
    without: Mapping[str, Iterable[str]] = {},
    *,
    plugins: Iterable[str] = ("Coscheduling",),
    **args: Mapping[str, object],
) -> Assembly:
    """The configuration of that scheduler `without` some filters, or with other `plugins` and `args` of theirs."""
    return assemble(load(configuration_of(plugins, args=args, without=without), "configuration.yaml"))


def replayed(
    recording: Recording, without: Mapping[str, Iterable[str]] = {}, **args: Mapping[str, object]
) -> Comparison:
    """Decided again, `without` some filters, or with other `args` of plugins."""
    return Replay(recording, assembled(without, **args)).run()


def add_gang(cluster: VirtualScheduler, name: str, members: int, **requests: str) -> list[str]:
    """A PodGroup that needs all its members."""
    group = {"metadata": {"name": name, "namespace": "default"}, "spec": {"minMember": members}}
    cluster.api.put("podgroups", group)
    pods = (make_pod(f"{name}-{number}").labels({GROUP_LABEL: name}) for number in range(members))
    return cluster.add(*(pod.requests(**requests) for pod in pods))


async def live(cluster: VirtualScheduler, seed: int, *, rounds: int, nodes: int, pods: int) -> None:
    """Let `rounds` pass in which about `pods` come, some in gangs, with everything late, and faults."""
    rng = Random(seed)
    cluster.latency = lambda: rng.choice([0.0, 0.01, 0.2])
    cluster.binder.latency = lambda: rng.choice([0.0, 0.01, 0.05])
    cluster.slices = lambda: rng.randrange(3)
    cluster.api.fail_binding = lambda pod, node: "the API is busy" if rng.random() < 0.02 else None
    cluster.add_nodes(*(make_node(f"node-{number}", cpu="16").zone(f"zone-{number % 3}") for number in range(nodes)))
    for turn in range(rounds):
        while rng.random() > 1 / (1 + pods / 6):
            _come(cluster, rng, f"{turn}-{rng.randrange(10**9)}")
        _go(cluster, rng, pods)
        if rng.random() < 0.1:
            _cordon(cluster, f"node-{rng.randrange(nodes)}", cordoned=rng.random() < 0.5)
        await cluster.run(rng.choice([0.05, 1, 10]))
    await cluster.run(30)


def _cordon(cluster: VirtualScheduler, node: str, *, cordoned: bool) -> None:
    cluster.api.change("nodes", node, lambda node: node["spec"].update(unschedulable=cordoned))


def _come(cluster: VirtualScheduler, rng: Random, name: str) -> None:
    if rng.random() < 0.5:
        add_gang(cluster, f"gang-{name}", rng.randrange(2, 9), cpu="1")
        return
    pods = [make_pod(f"pod-{name}-{number}").requests(cpu=rng.choice(["500m", "2"])) for number in range(5)]
    spec: dict[str, Any] = {"priority": rng.choice([0, 0, 0, 1000])}
    for pod in pods:
        pod["spec"].update(spec)
    cluster.add(*pods)


def _go(cluster: VirtualScheduler, rng: Random, pods: int) -> None:
    """Of the pods that run, leave about as many as fit."""
    running = [key for key in cluster.api.pods if cluster.node_of(key)]
    cluster.delete(*rng.sample(running, min(len(running), rng.randrange(2 * pods))))
