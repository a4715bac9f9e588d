"""How fast Muster is when the API server costs nothing: `python -m bench.loop [--nodes N] [--pods N] [-o json]`.

In a real cluster the API server runs elsewhere, and what bounds Muster is the time that its event loop needs for a pod.
Here a compiled stand-in (`bench/stand_in`) on another core takes the place of the API server: it answers at once and
streams watch events. The rate is measured between the first and the last Binding, CPU time from the first Binding until
the last Event is written. There is nothing to compare with: kube-scheduler would not start without a real API server.
"""

import json
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import click

from bench import scale
from bench.failures import StalledError, failures_told
from bench.measure import cpu_seconds
from bench.progress import Display
from bench.sides import muster_command
from tests.controlplane.guard import Guard
from tests.controlplane.ports import free_port
from tests.controlplane.server import Server

API, MUSTER = "stand-in.log", "muster.log"
"""What the two write, in the folder of a run."""
_SOURCE = Path(__file__).parent / "stand_in"
_WITHIN_SECONDS = 120.0
_LOOK_SECONDS = 0.005
_LOG_CHARACTERS = 3000


@dataclass(frozen=True, slots=True)
class Drained:
    """What one run came to.

    Attributes:
        pods: how many were bound.
        pods_per_second: between the first and the last Binding.
        cpu_per_pod: CPU seconds of Muster for a pod, from the first Binding until the last Event was written.
        start_seconds: from the start of Muster to its first Binding.
    """

    pods: int
    pods_per_second: float
    cpu_per_pod: float
    start_seconds: float


def kubeconfig(address: str) -> str:
    """A kubeconfig for the stand-in, which asks for no login."""
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


def objects(nodes: int, pods: int) -> dict[str, list[Any]]:
    """The stand-in's objects, by the path of their list."""
    return {
        "/api/v1/nodes": [json.loads(body) for _, body in scale.nodes(nodes)],
        "/api/v1/pods": [json.loads(body) for _, body in scale.pods(pods)],
    }


@contextmanager
def servers(folder: Path, nodes: int, pods: int) -> Iterator[tuple[Server, Server]]:
    """The stand-in, and Muster on it. Raises CalledProcessError when the stand-in cannot be built."""
    program, given, config = folder / "stand-in", folder / "objects.json", folder / "kubeconfig"
    subprocess.run(["go", "build", "-o", str(program), "."], cwd=_SOURCE, check=True)
    given.write_text(json.dumps(objects(nodes, pods)))
    address = f"127.0.0.1:{free_port()}"
    config.write_text(kubeconfig(address))
    with closing(Guard()) as guard:
        api = Server([str(program), address, str(given)], log=folder / API, guard=guard)
        muster = Server(muster_command(config), log=folder / MUSTER, guard=guard)
        try:
            yield api, muster
        finally:
            muster.stop()
            api.stop()


def run(nodes: int, pods: int, display: Display) -> Drained:
    """One run, from the start of the stand-in to its end. Raises `StalledError` when one of the two fails."""
    with TemporaryDirectory(prefix="muster-bench-") as name, display.phase(f"{pods} pods") as advance:
        folder = Path(name)
        with servers(folder, nodes, pods) as both:
            began, muster = time.monotonic(), both[1]
            _lines(folder, both, 1)
            start, before = time.monotonic() - began, cpu_seconds(muster.pid)
            took = json.loads(_lines(folder, both, 2)[-1])["bound_seconds"]
            used = cpu_seconds(muster.pid) - before
        advance(1)
    return Drained(pods, (pods - 1) / took, used / pods, start)


def _lines(folder: Path, both: Sequence[Server], count: int) -> list[str]:
    """So many lines of the stand-in, as soon as they are there. Raises `StalledError`."""
    deadline = time.monotonic() + _WITHIN_SECONDS
    while len(lines := (folder / API).read_text().splitlines()) < count:
        if time.monotonic() > deadline or not all(server.is_running for server in both):
            raise StalledError((folder / MUSTER).read_text(errors="replace")[-_LOG_CHARACTERS:])
        time.sleep(_LOOK_SECONDS)
    return lines


def document(runs: Sequence[Drained]) -> dict[str, Any]:
    """All runs, and the median of each figure."""
    rows = [asdict(each) for each in runs]
    return {"median": {name: median(row[name] for row in rows) for name in rows[0]}, "runs": rows}


@click.command(context_settings={"show_default": True})
@click.option("--nodes", type=click.IntRange(1), default=5000, help="Nodes in the cluster.")
@click.option("--pods", type=click.IntRange(2), default=6000, help="Pods in the backlog.")
@click.option("--runs", type=click.IntRange(1), default=3, help="How often it is measured; the median counts.")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", help="How to report.")
def main(nodes: int, pods: int, runs: int, output: str) -> None:
    """Measure how fast Muster's event loop is, on a stand-in for the API server."""
    if (fault := scale.overfull(nodes, pods)) is not None:
        raise click.UsageError(fault)
    with failures_told() as bars:
        found = document([run(nodes, pods, bars) for _ in range(runs)])
    if output == "json":
        print(json.dumps(found, indent=2))
        return
    for label, each in (
        *((f"run {number}", each) for number, each in enumerate(found["runs"], 1)),
        ("median", found["median"]),
    ):
        print(
            f"{label}: {each['pods_per_second']:.0f} pods/s, {1e3 * each['cpu_per_pod']:.2f} ms of CPU a pod,"
            f" first binding after {each['start_seconds']:.1f} s"
        )


if __name__ == "__main__":
    main()
