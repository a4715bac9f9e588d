"""The scheduling loop: decide while there is something to decide, and let everything else have its turn.

A slice of decisions lasts a few milliseconds, then watch events, answers and probes are served. The loop holds back
while many bindings are under way, so that decisions are made late, on the freshest picture.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from muster.framework.contract import Clock
    from muster.framework.cycle.engine import Engine

    from .tasks import TaskSet

log = logging.getLogger(__name__)

_SLICE_SECONDS = 0.004
_LONGEST_SLEEP_SECONDS = 1.0


class SchedulingLoop:
    """Drives an engine. `wake` is to be called whenever the queue may have something ready or a binding has ended."""

    def __init__(
        self,
        engine: Engine,
        bindings: TaskSet,
        clock: Clock,
        *,
        may_schedule: Callable[[], bool],
        max_bindings: int = 64,
    ) -> None:
        self._engine = engine
        self._bindings = bindings
        self._clock = clock
        self._may_schedule = may_schedule
        self._max_bindings = max_bindings
        self._wake = asyncio.Event()

    def wake(self) -> None:
        """There may be something to do."""
        self._wake.set()

    async def run(self) -> None:
        """Schedule until cancelled."""
        while True:
            self._wake.clear()
            busy = self._slice()
            if busy:
                await asyncio.sleep(0)
                continue
            await self._rest()

    def _slice(self) -> bool:
        """Decide for a few milliseconds. True when the time, not the work, ended it."""
        queue, step, now = self._engine.queue, self._engine.scheduler.step, self._clock.now
        began = now()
        queue.flush(began)
        while self._has_room() and self._may_schedule():
            if not step():
                return False
            if now() - began >= _SLICE_SECONDS:
                return True
        return False

    def _has_room(self) -> bool:
        return len(self._bindings) - len(self._engine.waiting) < self._max_bindings

    async def _rest(self) -> None:
        """Sleep until woken, or until the queue's next deadline."""
        deadline = self._engine.queue.next_deadline()
        seconds = _LONGEST_SLEEP_SECONDS
        if deadline is not None:
            seconds = min(seconds, max(0.0, deadline - self._clock.now()))
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            return
