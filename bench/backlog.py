"""A full cluster with a backlog: `python -m bench.backlog [--nodes N] [--seconds S] [-o json]`.

Every node is full, pods wait that fit nowhere, and some pods end each second. That is the normal state of clusters that
need gangs. For kube-scheduler and for Muster, each on a control plane of its own, it measures:

- how long a freed node is idle, from the deletion of its pod until a watch shows the next one there;
- the CPU time of the scheduler and of the servers meanwhile;
- the writes to the API server for each bound pod, Events and statuses included;
- how many of the waiting pods name a taint in their condition half a minute after a node got it, and how many pod
  statuses were written for each of them.

There are two situations: plain pods of twenty signatures; and gangs, which never find enough capacity, with plain pods
beside them. kube-scheduler, which does not support these gangs, gets single pods in their place.
"""

import asyncio
import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import quantiles

import click
import uvloop
from rich.console import Console
from rich.table import Table

from bench import cluster, scale
from bench.client import Client
from bench.failures import reporting_failures
from bench.full import RUNNING, Bindings, filling, status_writes, until_reported, writes
from bench.gangs import serve_pod_groups
from bench.measure import Reading
from bench.podgroups import gang_names, make_gang
from bench.progress import Advance, Display
from bench.scale import NAMESPACE, Body
from bench.sides import KUBE_SCHEDULER, MUSTER, SIDES, Side
from bench.trial import API_SERVER, ETCD, control_plane
from tests.controlplane.plane import ControlPlane

SIGNATURES = 20
_SIDES = KUBE_SCHEDULER.name, MUSTER.name
_PLAIN, _GANGS = _SITUATIONS = "plain", "gangs"
_LAST_BINDINGS_SECONDS = 5.0
_TOLD_WITHIN_SECONDS = 30.0
_TAINTED = "untolerated taint"


@dataclass(frozen=True, slots=True)
class Situation:
    """The backlog: `plain` plain pods, and `gangs` gangs of `size` members."""

    name: str
    plain: int
    gangs: int = 0
    size: int = 30

    def bodies(self, side: Side) -> tuple[list[Body], list[Body]]:
        """The groups and pods; for a side without gangs, their members are single pods."""
        pods = [waiting(number) for number in range(self.plain)]
        gangs = [make_gang(name, self.size, make=_member) for name in gang_names(self.gangs)]
        members = [pod for gang in gangs for pod in gang.pods.values()]
        return ([gang.group for gang in gangs] if side is MUSTER else []), [*members, *pods]


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a side.

    Attributes:
        side: its name.
        freed: the number of nodes that a pod left, and that should have got another pod.
        bound: the number of these nodes that got one.
        idle_p50, idle_p99: seconds until the next pod; infinite if fewer than two nodes got one.
        cpu_seconds: of the side, while pods ended.
        server_cpu_seconds: of kube-apiserver and etcd.
        writes_per_pod: writes to the API server for each bound pod.
        changed: the number of pods that still wait when a node is tainted, so that each has a new reason.
        told: the number of these pods whose condition names the taint in time.
        statuses_per_change: written statuses of pods for each of these.
        others_share: the part of the machine's CPUs that programs outside the trial used meanwhile.
    """

    side: str
    freed: int
    bound: int
    idle_p50: float
    idle_p99: float
    cpu_seconds: float
    server_cpu_seconds: float
    writes_per_pod: float
    changed: int
    told: int
    statuses_per_change: float
    others_share: float


def waiting(number: int) -> Body:
    """A pod of one of twenty signatures that takes a node completely, or almost."""
    cpu = f"{scale.NODE_CPU - number % SIGNATURES}m"
    return scale.shaped_pod(f"pod-{number:05}", lambda made: made.requests(cpu=cpu))


def _member(name: str, labels: Mapping[str, str]) -> Body:
    """A member of a gang, which takes a whole node."""
    return scale.shaped_pod(name, lambda made: made.labels(labels).requests(cpu=f"{scale.NODE_CPU}m"))


def run(side: Side, situation: Situation, nodes: int, rate: int, seconds: int, display: Display) -> Found:
    """A trial from the start of its control plane to its end. Raises one of `FAILURES`."""
    with control_plane(side, display) as plane, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        if situation.gangs and side is MUSTER:
            serve_pod_groups(plane)
        return runner.run(_measure(side, situation, nodes, rate, seconds, plane, display))


async def _measure(
    side: Side, situation: Situation, nodes: int, rate: int, seconds: int, plane: ControlPlane, display: Display
) -> Found:
    groups, pods = situation.bodies(side)
    async with Client(plane.kubeconfig()) as client:
        objects = {
            "nodes": list(scale.nodes(nodes)),
            "running pods": list(filling(nodes)),
            "groups": groups,
            "waiting pods": pods,
        }
        await cluster.fill(client, side.name, objects, display)
        pids = {server.name: server.pid for server in plane.servers}
        with display.phase(f"{side.name}: rest"):
            await cluster.rest(pids)
        filled = await writes(client)
        with side.running(plane) as server:
            pids |= {side.name: server.pid, "bench": os.getpid()}
            with display.phase(f"{side.name}: until all were told why they wait"):
                await until_reported(client, len(pods), filled)
            async with Bindings(client) as ledger:
                before, had = Reading.of(pids), await writes(client)
                with display.phase(f"{side.name}: pods end", rate * seconds) as advance:
                    freed = await _end_pods(client, rate, seconds, advance)
                await asyncio.sleep(_LAST_BINDINGS_SECONDS)
                used = Reading.of(pids).since(before)
                written = await writes(client) - had
            with display.phase(f"{side.name}: a node is tainted"):
                changed, told, statuses = await _taint_a_node(client, nodes)
        idle = [ledger.times[pod] - freed[node] for pod, node in ledger.nodes.items() if node in freed]
        cuts = quantiles(idle, n=100, method="inclusive") if len(idle) > 1 else [float("inf")] * 99
        total = (seconds + _LAST_BINDINGS_SECONDS) * (os.cpu_count() or 1)
        return Found(
            side=side.name,
            freed=len(freed),
            bound=len(idle),
            idle_p50=cuts[49],
            idle_p99=cuts[98],
            cpu_seconds=used.processes[side.name],
            server_cpu_seconds=used.processes[API_SERVER] + used.processes[ETCD],
            writes_per_pod=written / len(idle) if idle else float("inf"),
            changed=changed,
            told=told,
            statuses_per_change=statuses / told if told else float("inf"),
            others_share=used.others / total,
        )


async def _end_pods(client: Client, rate: int, seconds: int, advance: Advance) -> dict[str, float]:
    """End pods at a steady rate; returns when each node was freed, in seconds on the monotonic clock."""
    freed: dict[str, float] = {}
    began = time.monotonic()
    for number in range(rate * seconds):
        await asyncio.sleep(max(0.0, began + number / rate - time.monotonic()))
        freed[scale.node_name(number)] = time.monotonic()
        await client.delete(f"/api/v1/namespaces/{NAMESPACE}/pods/{RUNNING}{number:05}")
        advance(1)
    return freed


async def _taint_a_node(client: Client, nodes: int) -> tuple[int, int, float]:
    """The numbers of waiting pods, of those that name the taint in time, and of statuses written by then."""
    before = await status_writes(client)
    taint = {"key": "bench", "effect": "NoSchedule"}
    await client.patch(f"/api/v1/nodes/{scale.node_name(nodes - 1)}", {"spec": {"taints": [taint]}})
    await asyncio.sleep(_TOLD_WITHIN_SECONDS)
    pods = await client.get(f"/api/v1/namespaces/{NAMESPACE}/pods", fieldSelector="spec.nodeName=")
    told = [
        pod["metadata"]["name"]
        for pod in pods["items"]
        for condition in pod["status"].get("conditions", ())
        if condition["type"] == "PodScheduled" and _TAINTED in condition.get("message", "")
    ]
    return len(pods["items"]), len(told), await status_writes(client) - before


@click.command(context_settings={"show_default": True})
@click.option("--nodes", type=click.IntRange(100), default=5000, help="Nodes in the cluster, all of them full.")
@click.option("--rate", type=click.IntRange(1), default=20, help="Pods that end each second.")
@click.option("--seconds", type=click.IntRange(5), default=30, help="For how long.")
@click.option("--plain", type=click.IntRange(100), default=5000, help="Plain pods that wait where no gangs do.")
@click.option("--gangs", type=click.IntRange(1), default=100, help="Gangs of 30 that wait with 2,000 plain pods.")
@click.option("--side", "names", type=click.Choice(_SIDES), multiple=True, default=_SIDES, help="Only these.")
@click.option("--situation", "only", type=click.Choice(_SITUATIONS), help="Only this one.")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", help="How to report.")
def main(
    nodes: int, rate: int, seconds: int, plain: int, gangs: int, names: Sequence[str], only: str | None, output: str
) -> None:
    """Measure Muster and kube-scheduler on full clusters with thousands of pods that wait."""
    if rate * seconds > nodes:
        raise click.UsageError(f"{rate * seconds} pods cannot end on {nodes} nodes")
    beside = plain * 2 // 5
    situations = {
        _PLAIN: Situation(f"{plain:,} plain pods wait", plain),
        _GANGS: Situation(f"{gangs:,} gangs of 30 and {beside:,} plain pods wait", beside, gangs),
    }
    with reporting_failures() as bars:
        results = {
            situation.name: [run(SIDES[side], situation, nodes, rate, seconds, bars) for side in names]
            for name, situation in situations.items()
            if only in (None, name)
        }
    if output == "json":
        print(json.dumps({name: [asdict(found) for found in sides] for name, sides in results.items()}, indent=2))
        return
    for name, sides in results.items():
        Console().print(_table(f"{nodes:,} full nodes, {rate} pods end a second; {name}", sides))


def _table(title: str, sides: Sequence[Found]) -> Table:
    table = Table("", *(found.side for found in sides), title=title, title_justify="left")
    table.add_row("freed nodes that got a pod", *(f"{found.bound} of {found.freed}" for found in sides))
    table.add_row("s a freed node lay idle, median", *(f"{found.idle_p50:.3f}" for found in sides))
    table.add_row("  p99", *(f"{found.idle_p99:.3f}" for found in sides))
    table.add_row("CPU s", *(f"{found.cpu_seconds:.1f}" for found in sides))
    table.add_row("API server and etcd CPU s", *(f"{found.server_cpu_seconds:.1f}" for found in sides))
    table.add_row("API writes a bound pod", *(f"{found.writes_per_pod:.1f}" for found in sides))
    table.add_row("told of a taint within 30 s", *(f"{found.told} of {found.changed}" for found in sides))
    table.add_row("  statuses written for each", *(f"{found.statuses_per_change:.2f}" for found in sides))
    table.add_row("machine used by others, %", *(f"{100 * found.others_share:.0f}" for found in sides))
    return table


if __name__ == "__main__":
    main()
