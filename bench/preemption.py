"""The speed of preemption: `python -m bench.preemption [--nodes N] [--gangs N] [-o json]`.

Two pods fill each node; pods of higher priority wait, each of which needs the capacity of one of them. A scheduler has
to choose victims, evict them, and bind. `kubelets` lets evicted pods end at once. kube-scheduler and Muster each get a
control plane of their own and evict as fast as they can. In the first situation as many pods wait as run. In the
second, gangs wait; a gang evicts pods only if all of its members get nodes, and only Muster supports gangs.

A side that evicts more single pods than it needs, or leaves a pod without a node, has failed. For gangs, the number of
evicted pods is shown beside the number that they needed.
"""

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import click
import msgspec
import uvloop
from rich.console import Console
from rich.table import Table

from bench import cluster, scale
from bench.client import Client
from bench.failures import StalledError, reporting_failures
from bench.full import Bindings, filling, writes
from bench.gangs import serve_pod_groups
from bench.kubelets import Kubelets
from bench.ledger import WrongRunError
from bench.measure import Reading, is_running
from bench.podgroups import gang_names, make_gang
from bench.progress import Display
from bench.scale import Body
from bench.sides import KUBE_SCHEDULER, MUSTER, SIDES, Side
from bench.trial import API_SERVER, ETCD, control_plane, how_far
from tests.controlplane.plane import ControlPlane

URGENT = "urgent"
_SIDES = KUBE_SCHEDULER.name, MUSTER.name
_PODS, _GANGS = _SITUATIONS = "pods", "gangs"
_CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
_EACH = 2
_SLACK_SECONDS = 60.0
_AT_LEAST_A_SECOND = 5


@dataclass(frozen=True, slots=True)
class Situation:
    """The waiting pods on `nodes` full nodes: `gangs` gangs of `size`, or without gangs as many single pods as run."""

    nodes: int
    gangs: int = 0
    size: int = 30

    @property
    def pods(self) -> int:
        """The number of waiting pods."""
        return self.gangs * self.size or self.nodes * _EACH

    @property
    def title(self) -> str:
        """The title for users."""
        who = f"{self.gangs} gangs of {self.size} evict {self.pods:,}" if self.gangs else f"{self.pods:,} evict as many"
        return f"{who} on {self.nodes:,} full nodes"

    def bodies(self) -> tuple[list[Body], list[Body]]:
        """The groups and the pods."""
        gangs = [make_gang(name, self.size, make=_urgent) for name in gang_names(self.gangs)]
        if not gangs:
            return [], [_urgent(f"pod-{number:05}") for number in range(self.pods)]
        return [gang.group for gang in gangs], [pod for gang in gangs for pod in gang.pods.values()]


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a side.

    Attributes:
        side: its name.
        pods: the number of pods that got a node, each by evicting another.
        evicted: the number of evicted pods.
        seconds: from the first eviction to the last binding.
        cpu_seconds: CPU time of the side since its start.
        server_cpu_seconds: of kube-apiserver and etcd meanwhile.
        writes_per_pod: writes to the API server for each of the pods, without the kubelets' deletions.
        others_share: the part of the machine's CPUs that programs outside the trial used meanwhile.
    """

    side: str
    pods: int
    evicted: int
    seconds: float
    cpu_seconds: float
    server_cpu_seconds: float
    writes_per_pod: float
    others_share: float

    @property
    def pods_per_second(self) -> float:
        """The rate at which pods got a node."""
        return self.pods / self.seconds


def priority_class() -> Body:
    """A PriorityClass above ordinary pods."""
    return _CLASSES, msgspec.json.encode({"metadata": {"name": URGENT}, "value": 1000})


def _urgent(name: str, labels: Mapping[str, str] = {}) -> Body:
    """A pod of higher priority, as large as a running pod."""
    cpu = f"{scale.NODE_CPU // _EACH}m"
    return scale.shaped_pod(name, lambda made: made.labels(labels).requests(cpu=cpu).priority_class(URGENT))


def run(side: Side, situation: Situation, display: Display) -> Found:
    """A trial from the start of its control plane to its end. Raises one of `FAILURES`."""
    with control_plane(side, display) as plane, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        if situation.gangs:
            serve_pod_groups(plane)
        return runner.run(_measure(side, situation, plane, display))


async def _measure(side: Side, situation: Situation, plane: ControlPlane, display: Display) -> Found:
    pods, nodes = situation.pods, situation.nodes
    groups, waiting = situation.bodies()
    async with Client(plane.kubeconfig()) as client:
        objects = {
            "priority class": [priority_class()],
            "nodes": list(scale.nodes(nodes)),
            "running pods": list(filling(nodes, each=_EACH)),
            "groups": groups,
            "waiting pods": waiting,
        }
        await cluster.fill(client, side.name, objects, display)
        pids = {server.name: server.pid for server in plane.servers}
        with display.phase(f"{side.name}: rest"):
            await cluster.rest(pids)
        async with Kubelets(client) as kubelets, Bindings(client) as ledger:
            had = await writes(client)
            with side.running(plane) as server:
                pids |= {side.name: server.pid, "bench": os.getpid()}
                before = Reading.of(pids)
                with display.phase(f"{side.name}: preemption", pods) as advance:
                    try:
                        async with asyncio.timeout(_SLACK_SECONDS + pods / _AT_LEAST_A_SECOND):
                            if not await ledger.reach(pods, is_alive=lambda: is_running(server.pid), advance=advance):
                                raise TimeoutError
                    except TimeoutError:
                        raise StalledError(await how_far(side, plane, client, ledger, _SLACK_SECONDS)) from None
                used = Reading.of(pids).since(before)
                written = await writes(client) - had
            if len(kubelets.ended) != pods and not situation.gangs:
                raise WrongRunError(f"{side.name} evicted {len(kubelets.ended)} pods, {pods} were needed")
            seconds = max(ledger.times.values()) - min(kubelets.ended.values())
        return Found(
            side=side.name,
            pods=pods,
            evicted=len(kubelets.ended),
            seconds=seconds,
            cpu_seconds=used.processes[side.name],
            server_cpu_seconds=used.processes[API_SERVER] + used.processes[ETCD],
            writes_per_pod=written / pods,
            others_share=used.others / max(used.machine, 1e-9),
        )


@click.command(context_settings={"show_default": True})
@click.option("--nodes", type=click.IntRange(2), default=500, help="Nodes, with two pods on each and two that wait.")
@click.option("--gangs", type=click.IntRange(1), default=30, help="Gangs of 30 that wait.")
@click.option("--gang-nodes", type=click.IntRange(15), default=1000, help="Nodes, with two pods on each, for gangs.")
@click.option("--side", "names", type=click.Choice(_SIDES), multiple=True, default=_SIDES, help="Only these.")
@click.option("--situation", "only", type=click.Choice(_SITUATIONS), help="Only this one.")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", help="How to report.")
def main(nodes: int, gangs: int, gang_nodes: int, names: Sequence[str], only: str | None, output: str) -> None:
    """Measure how fast Muster and kube-scheduler preempt for pods of higher priority, and Muster for gangs."""
    situations = {_PODS: Situation(nodes), _GANGS: Situation(gang_nodes, gangs)}
    if situations[_GANGS].pods > gang_nodes * _EACH:
        raise click.UsageError(f"{gangs} gangs of 30 find no place on {gang_nodes} nodes")
    with reporting_failures() as bars:
        results = {
            name: [run(SIDES[side], situation, bars) for side in names if side == MUSTER.name or name == _PODS]
            for name, situation in situations.items()
            if only in (None, name)
        }
    if output == "json":
        told = {
            name: [asdict(found) | {"pods_per_second": found.pods_per_second} for found in sides]
            for name, sides in results.items()
        }
        print(json.dumps(told, indent=2))
        return
    for name, sides in results.items():
        Console().print(table(situations[name].title, sides))


def table(title: str, results: Sequence[Found]) -> Table:
    """A table with a column for each side."""
    made = Table("", *(found.side for found in results), title=title, title_justify="left")
    made.add_row("pods/s", *(f"{found.pods_per_second:.0f}" for found in results))
    made.add_row("pods evicted for each", *(f"{found.evicted / found.pods:.2f}" for found in results))
    made.add_row("CPU ms a pod, with its start", *(f"{1e3 * found.cpu_seconds / found.pods:.2f}" for found in results))
    servers = (f"{1e3 * found.server_cpu_seconds / found.pods:.2f}" for found in results)
    made.add_row("API server and etcd CPU ms a pod", *servers)
    made.add_row("API writes a pod", *(f"{found.writes_per_pod:.1f}" for found in results))
    made.add_row("of the CPU time used, others' %", *(f"{100 * found.others_share:.0f}" for found in results))
    return made


if __name__ == "__main__":
    main()
