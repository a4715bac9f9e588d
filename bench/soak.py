"""A long run of Muster with churn: `python -m bench.soak [--minutes M] [--rate N] [-o json]`.

Pods are created and ended at a steady rate, half of them in gangs, and nodes are replaced. The default rate is the
highest of `RATES` that this machine sustains: each rate is tried for a while, and the run begins when the pods of these
tries are gone. Every few seconds it reads the process's memory, file descriptors and tasks, and the waits of pods bound
since the last reading. The command fails if one of these climbs by a tenth over the last 20 minutes
(`bench.steadiness`), if the machine does not sustain the rate, or if the process still queues or counts a pod when all
pods are gone.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass, field
from statistics import median, quantiles
from typing import Any

import click
import uvloop
from rich.console import Console
from rich.table import Table

from bench import cluster, scale
from bench.churn import Churn
from bench.client import Client
from bench.failures import reporting_failures
from bench.gangs import serve_pod_groups
from bench.progress import Display
from bench.sides import MUSTER, grant_pod_groups
from bench.steadiness import Trend, is_sustained, trends
from bench.trial import control_plane
from tests.controlplane.plane import SCHEDULER, ControlPlane
from tests.e2e.muster_process import MusterProcess, Options

RATES = (240, 200, 160, 120, 90, 60, 40, 20)
"""The rates to try, in pods a second; the highest sustained one is used."""
_PROBE_SECONDS = 45.0
_EVERY_SECONDS = 5.0
_MIB = 1 << 20
_REST_SECONDS = 30.0

MEMORY = "resident memory, MiB"
MEDIAN = "pods bound within, median, ms"
LATEST = "pods bound within, 99 of 100, ms"
SERIES = (MEMORY, "file descriptors", "tasks", MEDIAN, LATEST)
"""The series to judge. The first two show a leak within minutes: 1 KiB a pod at 120 pods/s is 7 MiB a minute."""


@dataclass
class Seen:
    """The readings of a run: for each of `SERIES`, values by seconds since the beginning.

    Attributes:
        alive: the number of pods that had not ended, at each reading.
        left: the pods that the process still counted when all were gone.
    """

    values: dict[str, list[tuple[float, float]]] = field(default_factory=lambda: {what: [] for what in SERIES})
    alive: list[float] = field(default_factory=list)
    created: int = 0
    seconds: float = 0.0
    left: list[str] = field(default_factory=list)

    def kept_up(self, rate: float) -> bool:
        """Whether pods were bound as fast as they were created, except for moments."""
        return is_sustained(median(self.alive[len(self.alive) // 2 :]), rate)


@click.command(context_settings={"show_default": True})
@click.option("--minutes", type=click.FloatRange(1), default=30.0, help="How long.")
@click.option(
    "--rate",
    type=click.IntRange(1),
    show_default="the highest that is borne",
    help="Pods that come and go each second.",
)
@click.option("--nodes", type=click.IntRange(2), default=250, help="Nodes in the cluster.")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", help="How to report.")
def main(minutes: float, rate: int | None, nodes: int, output: str) -> None:
    """Run Muster for long, and check whether its memory or latency climbs."""
    os.environ["GOGC"] = "400"  # the servers collect garbage a quarter as often: the machine is there for the rate
    with reporting_failures() as bars, control_plane(MUSTER, bars) as plane:
        serve_pod_groups(plane)
        grant_pod_groups(plane)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            seen, sustained = runner.run(_soak(plane, bars, minutes * 60, rate, nodes))
    found = trends(seen.values, seen.seconds)
    if output == "json":
        print(json.dumps(document(seen, found, sustained), indent=2))
    else:
        _print_table(seen, found, sustained)
    sys.exit(1 if faults(seen, found, sustained) else 0)


def faults(seen: Seen, found: Mapping[str, Trend], rate: int) -> list[str]:
    """The faults of the run, one sentence each."""
    climbing = [
        f"{what} climbs by {trend.climb:.1f}, mean {trend.mean:.1f}" for what, trend in found.items() if trend.climbs
    ]
    missing = [f"{what}: too few readings" for what in seen.values if what not in found]
    lagging = [] if seen.kept_up(rate) else [f"this machine does not sustain {rate} pods a second: set --rate"]
    return [*climbing, *missing, *lagging, *(f"when all is gone, {left}" for left in seen.left)]


def document(seen: Seen, found: Mapping[str, Trend], rate: int) -> dict[str, Any]:
    """The result as JSON; `rate` is the number of pods that were created each second."""
    return {
        "pods": seen.created,
        "seconds": seen.seconds,
        "rate": rate,
        "borne": seen.kept_up(rate),
        "lines": {what: asdict(trend) | {"verdict": _verdict(trend)} for what, trend in found.items()},
        "left": seen.left,
    }


def _print_table(seen: Seen, found: Mapping[str, Trend], rate: int) -> None:
    table = Table("", "mean", "slope an hour", "climb in the last part", "verdict")
    for what, trend in found.items():
        table.add_row(what, f"{trend.mean:.1f}", f"{trend.an_hour:+.1f}", f"{trend.climb:+.1f}", _verdict(trend))
    console = Console(width=120)
    console.print(f"{seen.created} pods in {seen.seconds:.0f} s, {rate} a second")
    console.print(table)
    for fault in faults(seen, found, rate):
        console.print(fault)


def _verdict(trend: Trend) -> str:
    return "climbs" if trend.climbs else "flat"


async def highest_sustained(rates: Sequence[int], alive_at: Callable[[int], Awaitable[float]]) -> int:
    """The highest sustained rate, by the number of pods alive after its try; the lowest rate if none is."""
    for rate in sorted(rates, reverse=True):
        if is_sustained(await alive_at(rate), rate):
            return rate
    return min(rates)


async def _soak(
    plane: ControlPlane, display: Display, seconds: float, rate: int | None, nodes: int
) -> tuple[Seen, int]:
    """The readings, and the rate."""
    async with Client(plane.kubeconfig()) as client:
        await cluster.create_namespace(client)
        with display.phase("nodes", nodes) as advance:
            await cluster.create(client, scale.nodes(nodes), advance)
        log = plane.files.log("soaked")
        process = MusterProcess(Options(kubeconfig=plane.kubeconfig(SCHEDULER), log=log, names=[scale.SCHEDULER_NAME]))
        try:
            await asyncio.to_thread(process.wait_until_ready)
            async with Churn(client, nodes) as churn:
                sustained = rate or await highest_sustained(RATES, lambda tried: _try(churn, display, tried))
                return await _churn(churn, process, display, seconds, sustained), sustained
        finally:
            process.stop()


async def _try(churn: Churn, display: Display, rate: int) -> float:
    """The number of pods alive after creation at a rate for a while."""
    with display.phase(f"trying {rate} pods a second"):
        async with _going_on(churn, rate) as working:
            await _pass(churn, working, _PROBE_SECONDS)
            alive = churn.alive
        await churn.end_all()
        await asyncio.sleep(_REST_SECONDS)
    return alive


async def _churn(churn: Churn, process: MusterProcess, display: Display, seconds: float, rate: int) -> Seen:
    seen, before = Seen(), churn.created
    with display.phase(f"{rate} pods a second", int(seconds)) as advance:
        async with _going_on(churn, rate) as working:
            began = time.monotonic()
            while (now := time.monotonic() - began) < seconds:
                await _pass(churn, working, _EVERY_SECONDS)
                waits, churn.waits = churn.waits, []
                seen.alive.append(churn.alive)
                await _look(process, seen, now, waits)
                advance(int(_EVERY_SECONDS))
            seen.created, seen.seconds = churn.created - before, time.monotonic() - began
    with display.phase("all goes"):
        await churn.end_all()
        await asyncio.sleep(_REST_SECONDS)
        seen.left = await asyncio.to_thread(_left, process)
    return seen


@asynccontextmanager
async def _going_on(churn: Churn, rate: int) -> AsyncIterator[asyncio.Task[None]]:
    working = asyncio.create_task(churn.go_on(rate))
    try:
        yield working
    finally:
        working.cancel()
        with suppress(asyncio.CancelledError):
            await working


async def _pass(churn: Churn, working: asyncio.Task[None], seconds: float) -> None:
    """Sleep. Raises the error that ended the work, or the watch of the pods, meanwhile."""
    await asyncio.wait([working], timeout=seconds)
    if working.done():
        await working
    await churn.raise_if_stopped()


async def _look(process: MusterProcess, seen: Seen, now: float, waits: Sequence[float]) -> None:
    found = await asyncio.to_thread(_metrics, process)
    values = {
        MEMORY: found["process_resident_memory_bytes"] / _MIB,
        "file descriptors": found["process_open_fds"],
        "tasks": found["muster_tasks"],
    }
    if len(waits) > 1:
        cuts = quantiles(waits, n=100, method="inclusive")
        values |= {MEDIAN: cuts[49] * 1000, LATEST: cuts[98] * 1000}
    for what, value in values.items():
        seen.values[what].append((now, value))


def _left(process: MusterProcess) -> list[str]:
    """The pods that the process still counts although they are gone."""
    kinds = ("scheduler_pending_pods", 'scheduler_cache_size{type="pods"}', 'scheduler_cache_size{type="assumed_pods"}')
    return [
        f"{series} is {value:g}" for series, value in _metrics(process).items() if series.startswith(kinds) and value
    ]


def _metrics(process: MusterProcess) -> dict[str, float]:
    """All series of the process's metrics."""
    _, text = process.page("/metrics")
    lines = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
    return {series: float(value) for series, _, value in lines}


if __name__ == "__main__":
    main()
