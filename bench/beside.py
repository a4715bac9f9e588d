"""The waits of pods beside a large gang: `python -m bench.beside [--nodes N] [--size N] [--rate N] [-o json]`.

A scheduler decides a gang of thousands at once, which delays other pods. Single pods arrive at a steady rate while the
gang becomes complete. All of its members except the last exist before the side starts, and wait. So the creation of one
more pod completes the gang, and the API server is loaded by the side alone.
kube-scheduler gets one of Kubernetes' own groups, with its gate for them open, Muster one of `scheduling.x-k8s.io`.
Both run on control planes of the same kind. A wait is the time from the answer to a pod's creation until a watch shows
its binding. If a side fails, the sides measured before are reported.
"""

import asyncio
import json
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict, astuple, dataclass
from itertools import count

import click
import uvloop
from rich.console import Console
from rich.table import Table

from bench import cluster, scale
from bench.arrivals import Waits
from bench.check import until_right
from bench.client import Client
from bench.failures import StalledError, reporting_failures
from bench.gangs import serve_pod_groups
from bench.latency import Poster, create_evenly
from bench.ledger import Ledger
from bench.measure import is_running
from bench.native import GATED, GATES, SERVED
from bench.podgroups import Gang, make_gang, make_native_gang
from bench.progress import Advance, Display
from bench.scale import Body
from bench.sides import KUBE_SCHEDULER, MUSTER, Side
from bench.trial import control_plane, how_far
from tests.controlplane.plane import ControlPlane

CALM, DECIDING, BINDING = STRETCHES = "calm", "deciding", "binding"
_BOUND_WITHIN_SECONDS = 300.0
_LOOK_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Load:
    """The load: `nodes` nodes, a gang of `size`, and `rate` plain pods a second, which begin `calm` seconds earlier."""

    nodes: int
    size: int
    rate: int
    calm: float

    def gang(self, side: Side) -> Gang:
        """The gang, as a group of the kind that the side supports."""
        return make_gang("gang", self.size) if side is MUSTER else make_native_gang("gang", self.size)


@dataclass(frozen=True, slots=True)
class Stretch:
    """The number of plain pods in a stretch of time, and their waits; None without pods."""

    pods: int
    waits: Waits | None


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a side.

    Attributes:
        decided_seconds: from the creation of the gang's last member until the first member was bound.
        started_seconds: until the last member was bound.
        calm: plain pods that were bound before the gang was complete.
        deciding: further plain pods that arrived before a member was bound.
        binding: further plain pods that arrived before all members were bound.
    """

    decided_seconds: float
    started_seconds: float
    calm: Stretch
    deciding: Stretch
    binding: Stretch

    @classmethod
    def of(
        cls, plain: Mapping[str, float], members: Collection[str], complete: float, bound: Mapping[str, float]
    ) -> "Found":
        """The result, from the times of creations, of the gang's completion and of bindings."""
        times = [bound[pod] for pod in members]
        first, last = min(times), max(times)
        waits: dict[str, list[float]] = {stretch: [] for stretch in STRETCHES}
        for pod, at in plain.items():
            wait = max(0.0, bound[pod] - at)
            if bound[pod] <= complete:
                waits[CALM].append(wait)
            elif at < first:
                waits[DECIDING].append(wait)
            elif at < last:
                waits[BINDING].append(wait)
        stretches = {name: Stretch(len(all_), Waits.of(all_) if all_ else None) for name, all_ in waits.items()}
        return cls(first - complete, last - complete, **stretches)


def run(side: Side, load: Load, display: Display) -> Found:
    """A trial from the start of its control plane to its end. Raises one of `FAILURES`."""
    with (
        control_plane(side, display, feature_gates=GATES, runtime_config=SERVED) as plane,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        if side is MUSTER:
            serve_pod_groups(plane)
        return runner.run(_measure(side, load, plane, display))


async def _measure(side: Side, load: Load, plane: ControlPlane, display: Display) -> Found:
    gang = load.gang(side)
    *waiting, last = gang.pods.values()
    pids = {server.name: server.pid for server in plane.servers}
    async with Client(plane.kubeconfig()) as client:
        objects = {"nodes": list(scale.nodes(load.nodes)), "group": [gang.group], "members": waiting}
        await cluster.fill(client, side.name, objects, display)
        with display.phase(f"{side.name}: rest"):
            await cluster.rest(pids)
        ledger, began = Ledger(client), time.monotonic()
        async with ledger:
            with side.running(plane) as server:
                arrivals = Arrivals(client, ledger, lambda: is_running(server.pid))
                try:
                    await arrivals.begin()
                    with display.phase(f"{side.name}: rest"):
                        await cluster.rest(pids)
                    with display.phase(f"{side.name}: plain pods arrive beside the gang") as advance:
                        found = await arrivals.run(load, last, gang.pods.keys(), advance)
                except TimeoutError:
                    told = await how_far(side, plane, client, ledger, time.monotonic() - began)
                    raise StalledError(told) from None
                await until_right(client, ledger.nodes)
    return found


class Arrivals:
    """Creates plain pods and the last member of a gang, and waits for their bindings."""

    def __init__(self, client: Poster, ledger: Ledger, is_alive: Callable[[], bool]) -> None:
        self._client = client
        self._ledger = ledger
        self._is_alive = is_alive
        self._over = False

    async def begin(self) -> None:
        """Wait until the side binds pods. Raises `TimeoutError` if it ends or is too slow."""
        await self._client.post(*scale.pod("first"))
        await self._until_bound(["first"])

    async def run(self, load: Load, last: Body, members: Collection[str], advance: Advance) -> Found:
        """Create plain pods until all `members` are bound; `last` is created after the calm. Raises as `begin` does."""
        arriving = asyncio.create_task(create_evenly(self._client, self._plain(), load.rate, advance))
        try:
            await asyncio.sleep(load.calm)
            await self._client.post(*last)
            complete = time.monotonic()
            await self._until_bound(members)
            self._over = True
            plain = await arriving
        finally:
            arriving.cancel()
        await self._until_bound(plain)
        return Found.of(plain, members, complete, self._ledger.times)

    def _plain(self) -> Iterator[tuple[str, Body]]:
        for number in count():
            if self._over:
                return
            name = f"plain-{number:05}"
            yield name, scale.pod(name)

    async def _until_bound(self, pods: Collection[str]) -> None:
        async with asyncio.timeout(_BOUND_WITHIN_SECONDS):
            while not all(pod in self._ledger.nodes for pod in pods):
                if not self._is_alive():
                    raise TimeoutError
                await self._ledger.raise_if_stopped()
                await asyncio.sleep(_LOOK_SECONDS)


def table(title: str, found: Mapping[str, Found]) -> Table:
    """A row for each stretch of each side."""
    made = Table(title=title, title_justify="left")
    made.add_column("", no_wrap=True)
    made.add_column("plain pods that arrive", no_wrap=True)
    for column in ("pods", "p50, ms", "p99, ms", "longest, ms"):
        made.add_column(column, justify="right")
    for side, each in found.items():
        for label, stretch in (
            ("before the gang", each.calm),
            (f"while it is decided, {each.decided_seconds:.2f} s", each.deciding),
            (f"while it is bound, {each.started_seconds - each.decided_seconds:.2f} s", each.binding),
        ):
            waits = astuple(stretch.waits) if stretch.waits is not None else ()
            made.add_row(side, label, f"{stretch.pods:,}", *(f"{1e3 * seconds:.0f}" for seconds in waits))
    return made


@click.command(context_settings={"show_default": True})
@click.option("--nodes", type=click.IntRange(1), default=5000, help="Nodes in the cluster.")
@click.option("--size", type=click.IntRange(2), default=3000, help="Pods of the gang.")
@click.option("--rate", type=click.IntRange(1), default=20, help="Plain pods a second.")
@click.option("--calm", type=click.IntRange(1), default=15, help="Seconds for which they arrive before the gang.")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", help="How to report.")
def main(nodes: int, size: int, rate: int, calm: int, output: str) -> None:
    """Measure how long plain pods wait while a large gang is decided and bound, with both sides."""
    if (fault := scale.overfull(nodes, 1 + size + rate * calm)) is not None:
        raise click.UsageError(fault)
    found: dict[str, Found] = {}
    load = Load(nodes, size, rate, calm)
    try:
        with reporting_failures() as bars:
            for side in (MUSTER, GATED):
                found[side.name] = run(side, load, bars)
    finally:
        shown = {name: found[name] for name in (KUBE_SCHEDULER.name, MUSTER.name) if name in found}
        if found and output == "json":
            print(json.dumps({"size": size, "sides": {name: asdict(each) for name, each in shown.items()}}, indent=2))
        elif found:
            Console().print(table(f"{rate} plain pods a second beside a gang of {size:,} on {nodes:,} nodes", shown))


if __name__ == "__main__":
    main()
