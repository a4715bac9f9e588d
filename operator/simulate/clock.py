"""The clock of a rehearsal: it stands still while the scheduler decides, and advances when the scheduler is idle."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count


class RehearsalTimer:
    """A pending call."""

    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        """Do not call."""
        self.callback = None


class RehearsalClock:
    """Implements `contract.Clock`; `wall` is the time of day when the rehearsal begins."""

    def __init__(self, wall: float) -> None:
        self._now = 0.0
        self._wall = wall
        self._numbers = count()
        self._timers: list[tuple[float, int, RehearsalTimer]] = []

    def now(self) -> float:
        """Seconds since the rehearsal began."""
        return self._now

    def wall(self) -> float:
        """Seconds since the epoch."""
        return self._wall + self._now

    def call_later(self, seconds: float, callback: Callable[[], None]) -> RehearsalTimer:
        """Call back when the clock is moved so far, unless the timer is cancelled."""
        timer = RehearsalTimer(callback)
        heappush(self._timers, (self._now + seconds, next(self._numbers), timer))
        return timer

    def next_due(self) -> float | None:
        """When the next timer fires."""
        while self._timers and self._timers[0][2].callback is None:
            heappop(self._timers)
        return self._timers[0][0] if self._timers else None

    def move_to(self, moment: float) -> None:
        """Move on to a moment and fire what is due by then, in order."""
        self._now = max(self._now, moment)
        while (due := self.next_due()) is not None and due <= self._now:
            callback = heappop(self._timers)[2].callback
            if callback is not None:
                callback()
