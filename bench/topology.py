"""The start of gangs that need one rack each: `python -m bench.topology [--nodes N] [--racks N] [-o json]`.

kube-scheduler gets native groups, with their feature gates enabled, Muster gets groups of `scheduling.x-k8s.io`. Both
run on control planes of the same kind. Small gangs show the cost of a gang, large gangs the cost of a member. The
benchmark also reports, within the buckets of Muster's metrics, the longest block of the event loop, the part of it in
which the loop worked, and the share of blocks of at most 20 ms. A run that fails ends the benchmark as in
`bench.drain`.
"""

import asyncio
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import aiohttp
import click
import msgspec
import uvloop
from rich.console import Console

from bench import scale
from bench.failures import reporting_failures
from bench.gangs import CRD, KIND
from bench.podgroups import Gang, gang_names, make_gang, make_native_gang
from bench.progress import Display
from bench.report import document, table
from bench.scale import Body
from bench.sides import KUBE_SCHEDULER, MUSTER, Side
from bench.trial import Backlog, Result, control_plane, measure
from muster.plugins.coscheduling.topology import REQUIRED
from tests.controlplane import commands
from tests.controlplane.plane import ControlPlane

RACK = "example.com/rack"
GATES = {"GenericWorkload": True, "TopologyAwareWorkloadScheduling": True}
SERVED = {"scheduling.k8s.io/v1beta1": True}
_LOOK_SECONDS = 2.0
_SHORT_SECONDS = 0.02
_BUCKETS = re.compile(r'muster_event_loop_(blocked|worked)_seconds_bucket\{le="([^"]+)"\} (\S+)')


@dataclass(frozen=True, slots=True)
class Gangs:
    """A backlog of `count` gangs of `size` pods each."""

    count: int
    size: int

    @property
    def title(self) -> str:
        """The title for users."""
        return f"{self.count:,} gangs of {self.size:,}"


@dataclass(slots=True)
class Holds:
    """The blocks of Muster's event loop and its work in them, counted by upper bounds of buckets in seconds."""

    url: str = ""
    held: dict[float, float] = field(default_factory=dict)
    worked: dict[float, float] = field(default_factory=dict)

    async def follow(self) -> None:
        """Read the metric periodically until cancelled."""
        async with aiohttp.ClientSession() as session:
            while True:
                await asyncio.sleep(_LOOK_SECONDS)
                with suppress(aiohttp.ClientError):
                    async with session.get(self.url) as page:
                        self.read(await page.text())

    def read(self, page: str) -> None:
        """Read the numbers from a page of metrics."""
        for what, bound, count in _BUCKETS.findall(page):
            (self.held if what == "blocked" else self.worked)[float(bound)] = float(count)


def longest(counts: Mapping[float, float]) -> float:
    """The upper bound of the bucket with the longest duration; 0 without durations."""
    most = max(counts.values(), default=0.0)
    return min((bound for bound, count in counts.items() if count == most and most), default=0.0)


def share_within(counts: Mapping[float, float], bound: float) -> float:
    """The share of durations in the buckets up to `bound`; 1 without durations."""
    every = max(counts.values(), default=0.0)
    return max((count for limit, count in counts.items() if limit <= bound), default=0.0) / every if every else 1.0


def nodes(count: int, racks: int) -> Iterator[Body]:
    """The nodes of all benchmarks, with a label for the rack."""
    for path, body in scale.nodes(count):
        node = msgspec.json.decode(body)
        number = int(node["metadata"]["name"].rpartition("-")[2])
        node["metadata"]["labels"][RACK] = f"rack-{number % racks:03}"
        yield path, msgspec.json.encode(node)


def own_gangs(gangs: Gangs) -> tuple[list[Body], list[Body]]:
    """Groups of `scheduling.x-k8s.io`, and their pods."""
    return _apart(make_gang(name, gangs.size, annotations={REQUIRED: RACK}) for name in gang_names(gangs.count))


def native_gangs(gangs: Gangs) -> tuple[list[Body], list[Body]]:
    """Native groups, and their pods."""
    return _apart(make_native_gang(name, gangs.size, within=RACK) for name in gang_names(gangs.count))


def _apart(gangs: Iterable[Gang]) -> tuple[list[Body], list[Body]]:
    groups, pods = zip(*((gang.group, gang.pods.values()) for gang in gangs), strict=True)
    return list(groups), list(chain.from_iterable(pods))


def _with_gates(plane: ControlPlane) -> list[str]:
    return [*KUBE_SCHEDULER.command(plane), *commands.switches("feature-gates", GATES)]


def run_kube_scheduler(gangs: Gangs, cluster: list[Body], display: Display) -> Result:
    """kube-scheduler with native groups. Raises one of `FAILURES`."""
    groups, pods = native_gangs(gangs)
    side = Side(KUBE_SCHEDULER.name, _with_gates)
    with (
        control_plane(side, display, feature_gates=GATES, runtime_config=SERVED) as plane,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        return runner.run(measure(side, Backlog(cluster, pods, groups), plane, display))


def run_muster(gangs: Gangs, cluster: list[Body], crd: Path, display: Display) -> tuple[Result, Holds]:
    """Muster with groups of `scheduling.x-k8s.io`. Raises one of `FAILURES`."""
    groups, pods = own_gangs(gangs)
    holds = Holds()

    def command(plane: ControlPlane) -> list[str]:
        line = MUSTER.command(plane)
        [port] = [each.partition("=")[2] for each in line if each.startswith("--secure-port=")]
        holds.url = f"http://127.0.0.1:{port}/metrics"
        return line

    side = Side(MUSTER.name, command)

    async def measured() -> Result:
        following = asyncio.create_task(holds.follow())
        try:
            return await measure(side, Backlog(cluster, pods, groups), plane, display)
        finally:
            following.cancel()

    with (
        control_plane(side, display, feature_gates=GATES, runtime_config=SERVED) as plane,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        plane.kubectl("apply", f"--filename={crd}")
        plane.kubectl("wait", "--for=condition=Established", "--timeout=30s", KIND)
        return runner.run(measured()), holds


@click.command(context_settings={"show_default": True})
@click.option("--nodes", "node_count", type=click.IntRange(1), default=5000, help="Nodes in the cluster.")
@click.option("--racks", type=click.IntRange(1), default=50, help="Racks that they are in.")
@click.option(
    "--small", type=(click.IntRange(2), click.IntRange(1)), default=(750, 4), help="Small gangs, pods of each."
)
@click.option(
    "--large", type=(click.IntRange(2), click.IntRange(1)), default=(6, 1000), help="Large gangs, pods of each."
)
@click.option("--crd", type=click.Path(exists=True, path_type=Path), default=CRD, help="Definition of PodGroups.")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", help="How to report.")
def main(node_count: int, racks: int, small: tuple[int, int], large: tuple[int, int], crd: Path, output: str) -> None:
    """Measure Muster and kube-scheduler on gangs that need one rack each."""
    backlogs = [Gangs(*small), Gangs(*large)]
    for gangs in backlogs:
        if (fault := scale.overfull(node_count // racks, gangs.size)) is not None:
            raise click.UsageError(f"in a rack, {fault}")
    cluster = list(nodes(node_count, racks))
    found: dict[str, Mapping[str, Any]] = {}
    console = Console()
    for gangs in backlogs:
        with reporting_failures() as bars:
            baseline = run_kube_scheduler(gangs, cluster, bars)
            subject, holds = run_muster(gangs, cluster, crd, bars)
        held, worked = longest(holds.held), longest(holds.worked)
        found[gangs.title] = {
            **document([baseline, subject]),
            "longest_hold_seconds": held,
            "longest_work_seconds": worked,
            "held_within_20_ms": share_within(holds.held, _SHORT_SECONDS),
        }
        if output == "table":
            title = f"{gangs.title}, each in one of {racks:,} racks, on {node_count:,} nodes"
            console.print(table(title, [baseline, subject], subject=MUSTER.name, baseline=KUBE_SCHEDULER.name))
            console.print(
                f"Muster's event loop stood for {1e3 * held:.0f} ms at a time or less, at work for"
                f" {1e3 * worked:.0f} ms at a time or less"
            )
    if output == "json":
        print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
