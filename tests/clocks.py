"""Clocks that tests drive: one that is set, one that every reading moves on, and one that lets tasks act in between.

A test of the engine has `muster.testing.VirtualScheduler`, whose clock is a `VirtualClock`. These are for tests of
parts: a clock as a callable, and one for workers whose tasks run on the real event loop.
"""

import asyncio
from collections.abc import Callable

from muster.framework.contract import Timer
from muster.framework.embedded.clock import VirtualClock
from muster.framework.runtime.standstill import SLICE_SECONDS


class ManualClock:
    """A clock that tests set. It is a callable, and implements `contract.Clock` for code that sets no timers."""

    def __init__(self, time: float = 1000.0) -> None:
        self.time = time

    def __call__(self) -> float:
        return self.time

    def now(self) -> float:
        return self.time

    def wall(self) -> float:
        return self.time

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        raise AssertionError("this code holds no timer")


class Ticks:
    """A stopwatch on which time passes with every reading, by default more than a slice, so that a slice is a step."""

    def __init__(self, each: float = SLICE_SECONDS) -> None:
        self._each = each
        self._seconds = 0.0

    def __call__(self) -> float:
        self._seconds += self._each
        return self._seconds


class SettlingClock(VirtualClock):
    """Virtual time in which tasks of the real event loop act whenever a timer fires."""

    async def advance(self, seconds: float) -> None:
        """Let this many seconds pass, with everything that tasks do meanwhile."""
        await settle()
        end = self.now() + seconds
        while (due := self.next_due()) is not None and due <= end:
            self.move_to(due)
            await settle()
        self.move_to(end)
        await settle()


async def settle() -> None:
    """Let all tasks run until each waits for a timer or for the test."""
    for _ in range(500):
        await asyncio.sleep(0)
