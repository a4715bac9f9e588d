"""Gangs that arrive one after another while Muster runs: how long each waits from its last pod to its start."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import quantiles
from typing import Self

from bench.check import until_right
from bench.client import Client
from bench.cluster import create
from bench.failures import StalledError
from bench.ledger import Ledger
from bench.measure import is_running
from bench.podgroups import Gang
from bench.progress import Advance, Display
from bench.sides import MUSTER
from bench.trial import how_far
from tests.controlplane.plane import ControlPlane

_STARTED_WITHIN_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Waits:
    """The distribution of waits, in seconds."""

    p50: float
    p99: float
    longest: float

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Self:
        """Summarize one or more waits."""
        cuts = quantiles(seconds, n=100, method="inclusive") if len(seconds) > 1 else [*seconds] * 99
        return cls(p50=cuts[49], p99=cuts[98], longest=max(seconds))


async def arrive(gangs: Sequence[Gang], plane: ControlPlane, display: Display, *, bound: int) -> Waits:
    """The waits of gangs from the creation of their last pod until all of their pods are bound.

    Starts Muster and creates the gangs; the first gang only shows that Muster is ready, and does not count.

    `bound` pods exist already. Raises `StalledError` if gangs do not start in time, `WrongRunError` and `RefusedError`.
    """
    began = time.monotonic()
    async with Client(plane.kubeconfig()) as client:
        ledger = Ledger(client)
        try:
            async with asyncio.timeout(_STARTED_WITHIN_SECONDS), ledger:
                with MUSTER.running(plane) as server, display.phase(f"{MUSTER.name}: arrivals", len(gangs)) as advance:
                    arrivals = _Arrivals(client, ledger, bound, lambda: is_running(server.pid))
                    waits = await arrivals.run(gangs, advance)
                    await until_right(client, ledger.nodes)
        except TimeoutError:
            raise StalledError(await how_far(MUSTER, plane, client, ledger, time.monotonic() - began)) from None
    return Waits.of(waits)


class _Arrivals:
    """Creates gangs and waits for them."""

    def __init__(self, client: Client, ledger: Ledger, bound: int, is_alive: Callable[[], bool]) -> None:
        self._client = client
        self._ledger = ledger
        self._expected = bound
        self._is_alive = is_alive

    async def run(self, gangs: Sequence[Gang], advance: Advance) -> list[float]:
        """The seconds that each gang except the first has waited. Raises `TimeoutError` if Muster ends."""
        await self._create(gangs[0])
        await self._start()
        created: list[float] = []
        for gang in gangs[1:]:
            await self._create(gang)
            created.append(time.monotonic())
            advance(1)
        await self._start()
        advance(1)
        times = self._ledger.times
        return [max(times[pod] for pod in gang.pods) - last for gang, last in zip(gangs[1:], created, strict=True)]

    async def _create(self, gang: Gang) -> None:
        await create(self._client, [gang.group], _unseen)
        await create(self._client, gang.pods.values(), _unseen)
        self._expected += len(gang.pods)

    async def _start(self) -> None:
        if not await self._ledger.reach(self._expected, is_alive=self._is_alive, advance=_unseen):
            raise TimeoutError


def _unseen(count: int) -> None:
    """Progress that is not shown."""
