"""A storm of retries: `python -m bench.storm [--nodes N] [--pods N] [--events N] [--seconds S] [-o json]`.

Thousands of pods fit no node, for hundreds of reasons, and hundreds of events a second help none of them. Meanwhile
plain pods arrive: each of several clients creates its next pod when its last one is bound. The benchmark measures the
rate of plain pods, and how often Muster tried a pod in vain, by its own metric.

A second measurement, on a separate control plane, has the same events but no pods that fit no node. The ratio of the
rates thus shows the cost of these pods, and not the cost of the events for the API server.
"""

import asyncio
import json
import os
import re
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import count
from statistics import quantiles

import aiohttp
import click
import uvloop
from rich.console import Console
from rich.table import Table

from bench import cluster, scale
from bench.client import Client
from bench.failures import reporting_failures
from bench.full import Bindings, until_reported, writes
from bench.hopeless import filling, happen, small, waiting
from bench.ledger import WrongRunError
from bench.measure import Reading
from bench.progress import Advance, Display
from bench.sides import MUSTER, Side
from bench.trial import control_plane
from tests.controlplane.plane import ControlPlane

_READY_WITHIN_SECONDS = 60.0
_IN_VAIN = re.compile(r'^scheduler_schedule_attempts_total\{[^}]*result="unschedulable"[^}]*\} (\S+)$', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Storm:
    """The load: events a second, its duration, and the number of clients that create plain pods meanwhile."""

    nodes: int
    events: int
    seconds: int
    clients: int


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a trial.

    Attributes:
        waiting: the number of pods that fit no node.
        events_per_second: the actual rate of events.
        pods_per_second: the rate at which plain pods were bound.
        bound_p50, bound_p99: seconds from a plain pod's creation to its binding.
        in_vain: the number of attempts that found no node.
        cpu_ms_a_pod: CPU milliseconds of Muster for each plain pod.
        others_share: the part of the machine's CPUs that programs outside the trial used meanwhile.
    """

    waiting: int
    events_per_second: float
    pods_per_second: float
    bound_p50: float
    bound_p99: float
    in_vain: int
    cpu_ms_a_pod: float
    others_share: float


class Arrivals(Bindings):
    """Creates plain pods and waits for their bindings.

    Attributes:
        seconds: the time from creation to binding of each bound pod.
    """

    def __init__(self, client: Client) -> None:
        super().__init__(client, notice=self._look)
        self.seconds: list[float] = []
        self._api = client
        self._numbers = count()
        self._awaited: dict[str, asyncio.Event] = {}

    async def one(self) -> float:
        """Create a pod; seconds until it is bound. Raises `RefusedError`."""
        number = next(self._numbers)
        name, began = f"small-{number:06}", time.monotonic()
        bound = self._awaited[name] = asyncio.Event()
        await self._api.post(*small(number))
        await bound.wait()
        return self.times[name] - began

    async def arrive(self, advance: Advance) -> None:
        """Create one pod after another, each when the last is bound, until cancelled. Raises `RefusedError`."""
        while True:
            self.seconds.append(await self.one())
            advance(1)

    def _look(self) -> None:
        for name in [name for name in self._awaited if name in self.times]:
            self._awaited.pop(name).set()


def run(storm: Storm, pods: int, display: Display) -> Found:
    """A trial with `pods` pods that fit no node, from the start of its control plane. Raises one of `FAILURES`."""
    url = ""

    def command(plane: ControlPlane) -> list[str]:
        nonlocal url
        line = MUSTER.command(plane)
        [port] = [each.partition("=")[2] for each in line if each.startswith("--secure-port=")]
        url = f"http://127.0.0.1:{port}/metrics"
        return line

    async def measured(plane: ControlPlane) -> Found:
        async with Client(plane.kubeconfig()) as client:
            before = await _fill(client, storm, pods, display)
            pids = {server.name: server.pid for server in plane.servers}
            with display.phase(f"{pods:,} that fit nowhere: rest"):
                await cluster.rest(pids)
            with Side(MUSTER.name, command).running(plane) as server:
                pids |= {MUSTER.name: server.pid, "bench": os.getpid()}
                with display.phase(f"{pods:,} that fit nowhere: until all were told why they wait"):
                    await until_reported(client, pods, before)
                with display.phase(f"{pods:,} that fit nowhere: small pods") as advance:
                    return await _measure(client, storm, pods, pids, url, advance)

    with control_plane(MUSTER, display) as plane, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(measured(plane))


async def _fill(client: Client, storm: Storm, pods: int, display: Display) -> float:
    """Fill the cluster; returns the number of earlier writes."""
    await cluster.create_namespace(client)
    for name, bodies in (
        ("nodes", list(scale.nodes(storm.nodes))),
        ("running pods", list(filling(storm.nodes))),
        ("pods", [waiting(number) for number in range(pods)]),
    ):
        if bodies:
            with display.phase(f"{pods:,} that fit nowhere: {name}", len(bodies)) as advance:
                await cluster.create(client, bodies, advance)
    return await writes(client)


async def _measure(client: Client, storm: Storm, pods: int, pids: dict[str, int], url: str, advance: Advance) -> Found:
    async with Arrivals(client) as arrivals:
        async with asyncio.timeout(_READY_WITHIN_SECONDS):
            await arrivals.one()
        before, tried = Reading.of(pids), await _in_vain(url)
        happened = 0
        numbers, began = count(), time.monotonic()

        async def happens() -> None:
            nonlocal happened
            while True:
                number = next(numbers)
                await asyncio.sleep(max(0.0, began + number / storm.events - time.monotonic()))
                await happen(client, number, storm.nodes)
                happened += 1

        with suppress(TimeoutError):
            async with asyncio.timeout(storm.seconds), asyncio.TaskGroup() as group:
                for _ in range(cluster.IN_FLIGHT):  # fewer happen if the API server does not accept as many
                    group.create_task(happens())
                for _ in range(storm.clients):
                    group.create_task(arrivals.arrive(advance))
        used = Reading.of(pids).since(before)
        in_vain = await _in_vain(url) - tried
        await arrivals.raise_if_stopped()
    if len(arrivals.seconds) < 2:
        raise WrongRunError(f"{len(arrivals.seconds)} small pods were bound in {storm.seconds} s")
    cuts = quantiles(arrivals.seconds, n=100, method="inclusive")
    return Found(
        waiting=pods,
        events_per_second=happened / storm.seconds,
        pods_per_second=len(arrivals.seconds) / storm.seconds,
        bound_p50=cuts[49],
        bound_p99=cuts[98],
        in_vain=in_vain,
        cpu_ms_a_pod=1e3 * used.processes[MUSTER.name] / len(arrivals.seconds),
        others_share=used.others / (storm.seconds * (os.cpu_count() or 1)),
    )


async def _in_vain(url: str) -> int:
    """The number of attempts that found no node, by Muster's metrics."""
    async with aiohttp.ClientSession() as session, session.get(url) as page:
        return in_vain(await page.text())


def in_vain(page: str) -> int:
    """The number of attempts that found no node, from a page of metrics."""
    return sum(int(float(number)) for number in _IN_VAIN.findall(page))


@click.command(context_settings={"show_default": True})
@click.option("--nodes", type=click.IntRange(10), default=1000, help="Nodes in the cluster.")
@click.option("--pods", type=click.IntRange(1), default=10_000, help="Pods that fit nowhere, of 200 signatures.")
@click.option("--events", type=click.IntRange(1), default=200, help="Events a second.")
@click.option("--seconds", type=click.IntRange(5), default=60, help="For how long.")
@click.option("--clients", type=click.IntRange(1), default=64, help="Clients that create a plain pod at a time.")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", help="How to report.")
def main(nodes: int, pods: int, events: int, seconds: int, clients: int, output: str) -> None:
    """Measure the rate of plain pods while thousands of pods wait in vain in a storm of events."""
    storm = Storm(nodes, events, seconds, clients)
    with reporting_failures() as bars:
        results = [run(storm, count, bars) for count in (0, pods)]
    if output == "json":
        calm, stormy = map(asdict, results)
        print(json.dumps({"calm": calm, "storm": stormy}, indent=2))
        return
    Console().print(table(f"{nodes:,} nodes, {events} events a second for {seconds} s", results))


def table(title: str, results: Sequence[Found]) -> Table:
    """A table with a column without pods that fit no node, and one with them."""
    made = Table("", *(f"{found.waiting:,} fit nowhere" for found in results), title=title, title_justify="left")
    calm = results[0]
    made.add_row("plain pods/s", *(f"{found.pods_per_second:.0f}" for found in results))
    made.add_row("  share", *(f"{found.pods_per_second / calm.pods_per_second:.2f}" for found in results))
    made.add_row("s to be bound, median", *(f"{found.bound_p50:.3f}" for found in results))
    made.add_row("  p99", *(f"{found.bound_p99:.3f}" for found in results))
    made.add_row("pods tried in vain", *(f"{found.in_vain:,}" for found in results))
    made.add_row("CPU ms a plain pod", *(f"{found.cpu_ms_a_pod:.2f}" for found in results))
    made.add_row("events/s", *(f"{found.events_per_second:.0f}" for found in results))
    made.add_row("machine used by others, %", *(f"{100 * found.others_share:.0f}" for found in results))
    return made


if __name__ == "__main__":
    main()
