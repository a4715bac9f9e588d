"""Counts the calls, and the modules, on a pod's path through the engine: `python -m bench.way`.

A count is the same on every machine. Three ways are counted, each for the first pods of their kind and for the next: a
plain pod, a gang of three, and a pod that finds no node and is bound after a node with capacity is added. A way begins
when the API reports the pods and ends when they are bound. Calls of the product's Python functions count; calls of the
API in memory and of the driver in virtual time do not.
"""

import asyncio
import gc
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

import click
from rich.console import Console
from rich.table import Table

from muster.testing.builders import PodDict, make_node, make_pod
from muster.testing.engine import VirtualScheduler
from tests.coscheduling.objects import make_group, make_members

_DRIVERS = ("muster.testing.", "muster.framework.embedded.")
_NODES = 10
_BACKOFF_SECONDS = 30.0


@dataclass(frozen=True)
class Way:
    """The calls on one way, by module and function."""

    calls: Counter[tuple[str, str]]

    @property
    def total(self) -> int:
        """The number of calls."""
        return self.calls.total()

    @property
    def modules(self) -> set[str]:
        """The modules of the called functions."""
        return {module for module, _ in self.calls}


@contextmanager
def counted() -> Iterator[Way]:
    """Count the calls in the block."""
    way = Way(Counter())

    def count(frame: FrameType, event: str, argument: object) -> None:
        module = frame.f_globals.get("__name__", "")
        if event == "call" and module.startswith("muster.") and not module.startswith(_DRIVERS):
            way.calls[module, frame.f_code.co_qualname] += 1

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        yield way
    finally:
        sys.setprofile(before)


Act = Callable[[VirtualScheduler, str], Awaitable[None]]
"""A function that leads pods of this name to their nodes."""


def _pod(name: str, cpu: str = "100m") -> PodDict:
    return make_pod(name).requests(cpu=cpu).scheduler("muster")


async def _plain(scheduler: VirtualScheduler, name: str) -> None:
    scheduler.add(_pod(name))
    await scheduler.settle()


async def _gang(scheduler: VirtualScheduler, name: str) -> None:
    scheduler.api.put("podgroups", make_group(name, 3))
    scheduler.add(*(member.scheduler("muster") for member in make_members(name, 3, cpu="100m")))
    await scheduler.settle()


async def _fails_and_wakes(scheduler: VirtualScheduler, name: str) -> None:
    scheduler.add(_pod(name, cpu="100"))
    await scheduler.settle()
    scheduler.add_nodes(make_node(f"for-{name}", cpu="100"))
    await scheduler.run(_BACKOFF_SECONDS)


WAYS: dict[str, Act] = {"plain pod": _plain, "gang of three": _gang, "fails and wakes": _fails_and_wakes}


async def ways(act: Act, times: int = 2) -> list[Way]:
    """The ways of `times` acts, one after another. Raises RuntimeError if a pod is not bound at the end of its act."""
    gc.collect()  # a garbage collection also removes what deleted pods leave in caches
    scheduler = VirtualScheduler()
    scheduler.random = lambda: 0.5  # the durations of plugins are not sampled
    scheduler.add_nodes(*(make_node(f"node-{number}") for number in range(_NODES)))
    await scheduler.settle()
    found = []
    for number in range(times):
        with counted() as way:
            await act(scheduler, f"it-{number}")
        if not all(map(scheduler.node_of, scheduler.api.pods)):
            raise RuntimeError("a pod was not bound, so this is not its whole way")
        found.append(way)
    return found


def table(found: dict[str, list[Way]]) -> Table:
    """A table of the calls and modules for the first of each kind, and for the next."""
    shown = Table("way", *(f"{which}: {what}" for which in ("first", "next") for what in ("calls", "modules")))
    for name, each in found.items():
        shown.add_row(name, *(str(number) for way in each for number in (way.total, len(way.modules))))
    return shown


@click.command()
@click.option("--most", default=0, help="List so many functions of each next way, those called most often first.")
def main(most: int) -> None:
    """Count the calls on a pod's path through the engine."""
    found = {name: asyncio.run(ways(act)) for name, act in WAYS.items()}
    console = Console()
    console.print(table(found))
    for name, (_, after) in found.items():
        for (module, function), calls in after.calls.most_common(most):
            click.echo(f"{name}: {calls:5} {module}.{function}")


if __name__ == "__main__":
    main()
