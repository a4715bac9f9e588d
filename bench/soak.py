"""Runs Muster for long where everything comes and goes: `python -m bench.soak [--minutes M] [--rate N] [-o json]`.

Pods are created and ended at a steady rate, half of them in gangs, and nodes come and go. Every few seconds the process
is asked for its memory, file descriptors and tasks, and how long pods took to be bound since the last time. All of it,
and how many pods are alive, has to be flat: for each a straight line is laid through what was seen after the start (the
first ten minutes, or half of the time if that is less), and the command fails when that line climbs by more than is
written here. At the end everything goes, and nothing may be left that waits or is counted.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from statistics import fmean, linear_regression, quantiles
from typing import Any

import click
import uvloop
from rich.console import Console
from rich.table import Table

from bench import cluster, scale
from bench.churn import PODS, Churn
from bench.client import Client
from bench.failures import failures_told
from bench.gangs import serve_pod_groups
from bench.podgroups import GROUPS
from bench.progress import Display
from bench.sides import MUSTER, grant_pod_groups
from bench.trial import control_plane
from tests.controlplane.plane import SCHEDULER, ControlPlane
from tests.e2e.muster_process import MusterProcess, Options

_EVERY_SECONDS = 5.0
_START_SECONDS = 600.0
"""By then all is warm: what is remembered of the last minutes, and of the last thousands, is as much as it ever is."""
_MIB = 1 << 20
_HOUR = 3600.0
_REST_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Bound:
    """How much something may climb from the end of the start to the end.

    Attributes:
        share: of its mean.
        least: what is no climb, however small the mean is.
    """

    share: float
    least: float


MEMORY = "resident memory, MiB"
MEDIAN = "pods bound within, median, ms"
LATEST = "pods bound within, 99 of 100, ms"
ALIVE = "pods that have not ended"
BOUNDS = {
    MEMORY: Bound(0.05, 5.0),
    "file descriptors": Bound(0.1, 4.0),
    "tasks": Bound(0.25, 20.0),
    MEDIAN: Bound(0.5, 50.0),
    LATEST: Bound(1.0, 250.0),
    ALIVE: Bound(0.25, 500.0),
}
"""A leak shows in the first two within minutes: at 200 pods a second 1 KiB a pod is 12 MiB a minute. A pod that is
never bound never ends: those that are alive add up."""


@dataclass
class Seen:
    """What was seen of a run: for each of `BOUNDS`, values by seconds since the begin."""

    values: dict[str, list[tuple[float, float]]] = field(default_factory=lambda: {what: [] for what in BOUNDS})
    created: int = 0
    seconds: float = 0.0
    left: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Line:
    """The straight line through what was seen of something: its mean, and how much it climbs in an hour and in all."""

    mean: float
    an_hour: float
    climb: float

    def too_steep(self, bound: Bound) -> bool:
        """Whether it climbs by more than it may."""
        return self.climb > max(bound.share * self.mean, bound.least)


def line_through(points: Sequence[tuple[float, float]]) -> Line:
    """Of at least two points (seconds, value)."""
    times, values = [time for time, _ in points], [value for _, value in points]
    slope = linear_regression(times, values).slope
    return Line(fmean(values), slope * _HOUR, slope * (times[-1] - times[0]))


@click.command(context_settings={"show_default": True})
@click.option("--minutes", type=click.FloatRange(1), default=30.0, help="How long.")
@click.option("--rate", type=click.IntRange(1), default=200, help="Pods that are created and ended each second.")
@click.option("--nodes", type=click.IntRange(2), default=250, help="Nodes in the cluster.")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", help="How to report.")
def main(minutes: float, rate: int, nodes: int, output: str) -> None:
    """Run Muster for long and see whether it grows."""
    os.environ["GOGC"] = "400"  # the servers collect garbage a quarter as often: the machine is there for the rate
    with failures_told() as bars, control_plane(MUSTER, bars) as plane:
        serve_pod_groups(plane)
        grant_pod_groups(plane)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            seen = runner.run(_soak(plane, bars, minutes * 60, rate, nodes))
    lines = lines_of(seen)
    if output == "json":
        print(json.dumps(document(seen, lines, rate), indent=2))
    else:
        _print_table(seen, lines)
    sys.exit(1 if seen.left or any(lines[what].too_steep(bound) for what, bound in BOUNDS.items()) else 0)


def lines_of(seen: Seen) -> dict[str, Line]:
    """For each of `BOUNDS` the line through what was seen after the start."""
    start = min(_START_SECONDS, seen.seconds / 2)
    return {what: line_through([(at, value) for at, value in seen.values[what] if at >= start]) for what in BOUNDS}


def document(seen: Seen, lines: Mapping[str, Line], rate: int) -> dict[str, Any]:
    """What came of it for programs; `rate` is that which was asked for."""
    return {
        "pods": seen.created,
        "seconds": seen.seconds,
        "rate": rate,
        "lines": {what: asdict(line) | {"verdict": _verdict(what, line)} for what, line in lines.items()},
        "left": seen.left,
    }


def _print_table(seen: Seen, lines: Mapping[str, Line]) -> None:
    table = Table("", "mean", "slope an hour", "climb in all", "verdict")
    for what, line in lines.items():
        table.add_row(what, f"{line.mean:.1f}", f"{line.an_hour:+.1f}", f"{line.climb:+.1f}", _verdict(what, line))
    console = Console(width=120)
    console.print(f"{seen.created} pods in {seen.seconds:.0f} s, {seen.created / seen.seconds:.0f} a second")
    console.print(table)
    for left in seen.left:
        console.print(f"when all is gone, {left}")


def _verdict(what: str, line: Line) -> str:
    return "climbs" if line.too_steep(BOUNDS[what]) else "flat"


async def _soak(plane: ControlPlane, display: Display, seconds: float, rate: int, nodes: int) -> Seen:
    async with Client(plane.kubeconfig()) as client:
        await cluster.create_namespace(client)
        with display.phase("nodes", nodes) as advance:
            await cluster.create(client, scale.nodes(nodes), advance)
        log = plane.files.log("soaked")
        process = MusterProcess(Options(kubeconfig=plane.kubeconfig(SCHEDULER), log=log, names=[scale.SCHEDULER_NAME]))
        try:
            await asyncio.to_thread(process.wait_until_ready)
            return await _churn(client, process, display, seconds, rate, nodes)
        finally:
            process.stop()


async def _churn(
    client: Client, process: MusterProcess, display: Display, seconds: float, rate: int, nodes: int
) -> Seen:
    seen = Seen()
    async with Churn(client, nodes) as churn:
        with display.phase(f"{rate} pods a second", int(seconds)) as advance:
            working = asyncio.create_task(churn.go_on(rate))
            began = time.monotonic()
            while (now := time.monotonic() - began) < seconds:
                await asyncio.wait([working], timeout=_EVERY_SECONDS)
                if working.done():
                    await working
                waits, churn.waits = churn.waits, []
                seen.values[ALIVE].append((now, churn.alive))
                await _look(process, seen, now, waits)
                advance(int(_EVERY_SECONDS))
            seen.created, seen.seconds = churn.created, time.monotonic() - began
            working.cancel()
            with suppress(asyncio.CancelledError):
                await working
        with display.phase("all goes"):
            for kind in (PODS, GROUPS):
                await client.delete(kind)
            await asyncio.sleep(_REST_SECONDS)
            seen.left = await asyncio.to_thread(_left, process)
    return seen


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
    """What the process still has of pods that are gone."""
    kinds = ("scheduler_pending_pods", 'scheduler_cache_size{type="pods"}', 'scheduler_cache_size{type="assumed_pods"}')
    return [
        f"{series} is {value:g}" for series, value in _metrics(process).items() if series.startswith(kinds) and value
    ]


def _metrics(process: MusterProcess) -> dict[str, float]:
    """Every series of its metrics."""
    _, text = process.page("/metrics")
    lines = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
    return {series: float(value) for series, _, value in lines}


if __name__ == "__main__":
    main()
