"""The latency of pods that arrive at a steady rate: `python -m bench.latency [--nodes N] [--rate N]... [-o json]`.

As long as a scheduler keeps up, users notice its latency, not the rate at which it drains a backlog. Each side gets its
own control plane with the same nodes. Then, at one rate after another, pods are created at even intervals for some
seconds, whether the side keeps up or not. The latency of a pod is the time from the answer to its creation until a
watch shows its binding. The next rate begins when all pods are bound. A run that fails ends the benchmark as in
`bench.drain`.
"""

import asyncio
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import quantiles
from typing import Protocol

import click
import uvloop
from rich.console import Console
from rich.table import Table

from bench import cluster, scale
from bench.check import until_right
from bench.client import Client
from bench.failures import StalledError, reporting_failures
from bench.ledger import Ledger
from bench.measure import is_running
from bench.progress import Advance, Display
from bench.scale import Body
from bench.sides import KUBE_SCHEDULER, MUSTER, Side
from bench.trial import control_plane, how_far

RATES = (100, 300, 500)
IN_FLIGHT = 200
"""The most concurrent creations; with more, an overloaded API server spends its time on TLS handshakes."""
_BOUND_WITHIN_SECONDS = 120.0


class Poster(Protocol):
    """The part of `Client` that creates pods."""

    async def post(self, path: str, body: bytes) -> bytes:
        """Create an object."""
        ...


@dataclass(frozen=True, slots=True)
class Arrival:
    """The result of a side at one rate.

    Attributes:
        rate: the intended creations a second.
        created: the actual creations a second.
        p50, p99, longest: seconds from creation to binding.
    """

    rate: int
    created: float
    p50: float
    p99: float
    longest: float

    @classmethod
    def of(cls, rate: int, created: Mapping[str, float], bound: Mapping[str, float]) -> "Arrival":
        """The result, from the times at which each pod was created and bound. A watch may be faster than an answer."""
        waits = [max(0.0, bound[pod] - at) for pod, at in created.items()]
        cuts, times = quantiles(waits, n=100, method="inclusive"), created.values()
        return cls(rate, (len(waits) - 1) / (max(times) - min(times)), cuts[49], cuts[98], max(waits))


def arriving(rate: int, seconds: int) -> dict[str, Body]:
    """The pods that arrive at a rate, by name."""
    names = [f"at-{rate}-{number:05}" for number in range(rate * seconds)]
    return {name: scale.pod(name) for name in names}


async def create_evenly(
    client: Poster, pods: Iterable[tuple[str, Body]], rate: int, advance: Advance
) -> dict[str, float]:
    """Create named pods at even intervals. Returns the time of each answer.

    A late answer delays no other pod unless `IN_FLIGHT` answers are missing. Raises `ExceptionGroup` of `RefusedError`.
    """
    created: dict[str, float] = {}
    slots = asyncio.Semaphore(IN_FLIGHT)

    async def create(name: str, body: Body) -> None:
        try:
            await client.post(*body)
        finally:
            slots.release()
        created[name] = time.monotonic()
        advance(1)

    began = time.monotonic()
    async with asyncio.TaskGroup() as tasks:
        for number, (name, body) in enumerate(pods):
            await asyncio.sleep(max(0.0, began + number / rate - time.monotonic()))
            await slots.acquire()
            tasks.create_task(create(name, body))
    return created


def run(side: Side, nodes: int, rates: Sequence[int], seconds: int, display: Display) -> list[Arrival]:
    """A trial from the start of its control plane to its end. Raises one of `FAILURES`."""
    with control_plane(side, display) as plane, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        plan = {rate: arriving(rate, seconds) for rate in rates}

        async def measure() -> list[Arrival]:
            async with Client(plane.kubeconfig()) as client:
                await cluster.fill(client, side.name, {"nodes": list(scale.nodes(nodes))}, display)
                ledger, began = Ledger(client), time.monotonic()
                async with ledger:
                    with side.running(plane) as server:
                        try:
                            found = await _arrive(client, ledger, plan, side, server.pid, display)
                        except TimeoutError:
                            told = await how_far(side, plane, client, ledger, time.monotonic() - began)
                            raise StalledError(told) from None
                        await until_right(client, ledger.nodes)
                return found

        return runner.run(measure())


async def _arrive(
    client: Client, ledger: Ledger, plan: Mapping[int, Mapping[str, Body]], side: Side, pid: int, display: Display
) -> list[Arrival]:
    """Create the pods and wait for their bindings. Raises `TimeoutError` if the side ends or is too slow."""

    async def until_bound(count: int) -> None:
        async with asyncio.timeout(_BOUND_WITHIN_SECONDS):
            if not await ledger.reach(count, is_alive=lambda: is_running(pid), advance=lambda _: None):
                raise TimeoutError

    await client.post(*scale.pod("first"))
    await until_bound(1)
    found, expected = [], 1
    for rate, pods in plan.items():
        with display.phase(f"{side.name}: {rate} pods a second", len(pods)) as advance:
            created = await create_evenly(client, pods.items(), rate, advance)
            expected += len(pods)
            await until_bound(expected)
        found.append(Arrival.of(rate, created, ledger.times))
    return found


def table(results: Mapping[str, Sequence[Arrival]]) -> Table:
    """A table with a row for each rate."""
    found = Table(title="ms from creation to binding", title_justify="left")
    found.add_column("pods a second", justify="right")
    for side in results:
        for what in ("created", "p50", "p99"):
            found.add_column(f"{side}, {what}", justify="right")
    for row in zip(*results.values(), strict=True):
        cells = [(f"{each.created:.0f}", f"{1e3 * each.p50:.0f}", f"{1e3 * each.p99:.0f}") for each in row]
        found.add_row(str(row[0].rate), *(cell for side in cells for cell in side))
    return found


@click.command(context_settings={"show_default": True})
@click.option("--nodes", type=click.IntRange(1), default=5000, help="Nodes in the cluster.")
@click.option("--rate", "rates", type=click.IntRange(2), multiple=True, default=RATES, help="Pods a second.")
@click.option("--seconds", type=click.IntRange(1), default=20, help="For how long pods arrive at each rate.")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", help="How to report.")
def main(nodes: int, rates: Sequence[int], seconds: int, output: str) -> None:
    """Measure how long pods that arrive at a steady rate wait for their node, with both sides."""
    if (fault := scale.overfull(nodes, 1 + sum(rates) * seconds)) is not None:
        raise click.UsageError(fault)
    with reporting_failures() as bars:
        results = {side.name: run(side, nodes, rates, seconds, bars) for side in (KUBE_SCHEDULER, MUSTER)}
    if output == "json":
        print(json.dumps({side: [asdict(each) for each in found] for side, found in results.items()}, indent=2))
    else:
        Console().print(table(results))


if __name__ == "__main__":
    main()
