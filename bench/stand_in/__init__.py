"""A stub API server (stand-in) that answers at almost no cost; `bench.loop` and `bench.vast` measure Muster with it.

In a real cluster the API server runs on another machine, and Muster's rate is bounded by the time that its event loop
needs for a pod. Here a compiled program (`main.go`) on another core answers at once, streams watch events and serves
lists in pages. It is ready before Muster starts, so its start does not count. The rate is measured between the first
and the last Binding, CPU time from the first Binding until the last Event is written. There is no comparison, because
kube-scheduler does not start without a real API server.
"""

import json
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from bench import crowd, scale
from bench.failures import StalledError
from bench.measure import cpu_seconds, peak_bytes
from bench.progress import Display
from bench.scale import Body
from bench.sides import muster_command
from tests.controlplane.guard import Guard
from tests.controlplane.ports import free_port
from tests.controlplane.server import Server

API, MUSTER = "stand-in.log", "muster.log"
"""The files that the two programs write, in the folder of a run."""
NODES, PODS = "/api/v1/nodes", "/api/v1/pods"
_SOURCE = Path(__file__).parent
_STAMP = b'"metadata":{"resourceVersion":"1","creationTimestamp":"2026-01-01T00:00:00Z",'
_SLACK_SECONDS = 60.0
_LISTED_A_SECOND, _BOUND_A_SECOND = 1000, 10
"""The least number of objects that Muster lists or binds in a second."""
_LOOK_SECONDS = 0.005
_LOG_CHARACTERS = 3000


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster: the numbers of nodes, of running pods and of waiting pods."""

    nodes: int
    running: int
    pods: int

    def objects(self) -> Mapping[str, Iterable[Body]]:
        """All objects, by the paths of their lists."""
        pods = chain(scale.pods(self.pods), crowd.running(self.running, self.nodes))
        return {NODES: scale.nodes(self.nodes), PODS: pods}


@dataclass(frozen=True, slots=True)
class Drained:
    """The result of one run.

    Attributes:
        pods: the number of bound pods.
        pods_per_second: the rate between the first and the last Binding.
        cpu_per_pod: CPU seconds of Muster for each pod, from the first Binding until the last Event was written.
        start_seconds: from the start of Muster to its first Binding.
        peak_bytes: the highest resident memory of Muster.
    """

    pods: int
    pods_per_second: float
    cpu_per_pod: float
    start_seconds: float
    peak_bytes: int


def write(objects: Mapping[str, Iterable[Body]], given: Path) -> None:
    """Write the file that the stand-in serves, one object at a time, because half a million do not fit in memory."""
    with given.open("wb") as file:
        for path, bodies in objects.items():
            file.write(path.encode() + b"\n")
            file.writelines(body.replace(b'"metadata":{', _STAMP, 1) + b"\n" for _, body in bodies)


def kubeconfig(address: str) -> str:
    """A kubeconfig for the stand-in, which needs no login."""
    named = {"name": "stand-in"}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{**named, "cluster": {"server": f"http://{address}"}}],
            "users": [{**named, "user": {}}],
            "contexts": [{**named, "context": {"cluster": "stand-in", "user": "stand-in"}}],
            "current-context": "stand-in",
        }
    )


@contextmanager
def serving(folder: Path, cluster: Cluster, guard: Guard) -> Iterator[tuple[Server, str]]:
    """Start the stand-in, and return its process and address once it serves the cluster.

    Raises CalledProcessError if it cannot be built, and `StartError`.
    """
    program, given, log = folder / "stand-in", folder / "objects", folder / API
    subprocess.run(["go", "build", "-o", str(program), "."], cwd=_SOURCE, check=True)
    write(cluster.objects(), given)
    address = f"127.0.0.1:{free_port()}"
    api = Server([str(program), address, str(given)], log=log, guard=guard)
    try:
        api.wait_until(lambda: bool(log.read_text()))
        yield api, address
    finally:
        api.stop()


@contextmanager
def servers(folder: Path, cluster: Cluster) -> Iterator[tuple[Server, Server]]:
    """Run the stand-in, and start Muster. Raises as `serving` does."""
    config = folder / "kubeconfig"
    with closing(Guard()) as guard, serving(folder, cluster, guard) as (api, address):
        config.write_text(kubeconfig(address))
        muster = Server(muster_command(config), log=folder / MUSTER, guard=guard)
        try:
            yield api, muster
        finally:
            muster.stop()


def run(cluster: Cluster, display: Display) -> Drained:
    """One run, from the start of the stand-in to its end. Raises `StalledError` if one of the two programs fails."""
    shown = f"{cluster.nodes:,} nodes, {cluster.running:,} running pods, {cluster.pods:,} pods"
    with TemporaryDirectory(prefix="muster-bench-") as name, display.phase(shown) as advance:
        folder = Path(name)
        with servers(folder, cluster) as both:
            began, muster = time.monotonic(), both[1]
            _lines(folder, both, 2, _SLACK_SECONDS + (cluster.nodes + cluster.running) / _LISTED_A_SECOND)
            start, before = time.monotonic() - began, cpu_seconds(muster.pid)
            last = _lines(folder, both, 3, _SLACK_SECONDS + cluster.pods / _BOUND_A_SECOND)[-1]
            used, peak = cpu_seconds(muster.pid) - before, peak_bytes(muster.pid)
        advance(1)
    took = json.loads(last)["bound_seconds"]
    return Drained(cluster.pods, (cluster.pods - 1) / took, used / cluster.pods, start, peak)


def _lines(folder: Path, both: Sequence[Server], count: int, within: float) -> list[str]:
    """Wait for `count` lines of the stand-in. Raises `StalledError`."""
    deadline = time.monotonic() + within
    while len(lines := (folder / API).read_text().splitlines()) < count:
        if time.monotonic() > deadline or not all(server.is_running for server in both):
            raise StalledError((folder / MUSTER).read_text(errors="replace")[-_LOG_CHARACTERS:])
        time.sleep(_LOOK_SECONDS)
    return lines


def document(runs: Sequence[Drained]) -> dict[str, Any]:
    """All runs, and the median of each figure."""
    rows = [asdict(each) for each in runs]
    return {"median": {name: median(row[name] for row in rows) for name in rows[0]}, "runs": rows}
