"""The driver of an embedded engine: takes its decisions, runs its tasks and moves its time.

Nothing happens by itself: `settle` lets happen what needs no time, `run` and `until` let time pass. An engine is
settled when the queue has nothing to decide, no callback is ready and no call that left the process is unanswered.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from concurrent.futures import Future
from typing import Any

from ..scheduler.engine import Engine
from .clock import VirtualClock
from .loop import VirtualLoop


def _no_calls() -> Collection[Future[Any]]:
    return ()


def _at_once() -> int:
    return 0


class EmbeddedEngine:
    """An engine that was built on this clock and whose tasks are spawned on this loop.

    `turns_between` is the number of turns of the loop between two decisions, for tests of races. `calls` has the
    unanswered calls that left the process; their answers wake tasks of the loop.
    """

    def __init__(
        self,
        engine: Engine,
        clock: VirtualClock,
        loop: VirtualLoop,
        *,
        turns_between: Callable[[], int] = _at_once,
        calls: Callable[[], Collection[Future[Any]]] = _no_calls,
    ) -> None:
        self._engine = engine
        self._clock = clock
        self._loop = loop
        self._turns_between = turns_between
        self._calls = calls

    def step(self) -> bool:
        """Take one decision, or a slice of it, and nothing else; whether there was one to take."""
        if not self._engine.scheduler.under_way:
            self._engine.queue.flush(self._clock.now())
        return self._engine.scheduler.step()

    async def settle(self) -> None:
        """Run until nothing is ready at the present time."""
        self._decide()
        while self._loop.run_ready() or await self._answered():
            self._decide()

    async def run(self, seconds: float) -> None:
        """Advance the clock by this time, and run all that becomes ready on the way."""
        end = self._clock.now() + seconds
        await self.settle()
        while (moment := self.next_moment()) <= end:
            self._clock.move_to(moment)
            await self.settle()
        self._clock.move_to(end)
        await self.settle()

    async def until(self, probe: Callable[[], bool], within: float) -> float:
        """Let time pass until `probe` holds, within so many seconds; the seconds that it took."""
        began = self._clock.now()
        await self.settle()
        while not probe():
            moment = self.next_moment()
            assert moment <= began + within, f"not so within {within:g} s"
            self._clock.move_to(moment)
            await self.settle()
        return self._clock.now() - began

    def next_moment(self) -> float:
        """When something happens by itself the next time."""
        moments = (self._clock.next_due(), self._engine.queue.next_deadline())
        return max(self._clock.now(), min((moment for moment in moments if moment is not None), default=float("inf")))

    def _decide(self) -> None:
        while self.step():
            for _ in range(self._turns_between()):
                self._loop.turn()

    async def _answered(self) -> bool:
        """Wait for calls that are unanswered; whether there were any."""
        calls = self._calls()
        if calls:
            await asyncio.wait([asyncio.wrap_future(call) for call in calls], return_when=asyncio.FIRST_COMPLETED)
        return bool(calls)
