"""Time that passes only when the driver of an engine advances it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count


class VirtualTimer:
    """A pending call of a virtual clock."""

    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        """Do not call."""
        self.callback = None

    def go_off(self) -> bool:
        """Call the callback unless it was cancelled or called before. Returns whether it was called."""
        callback, self.callback = self.callback, None
        if callback is None:
            return False
        callback()
        return True


class VirtualClock:
    """Implements `contract.Clock`. Timers fire in the order of their times when the clock is moved past them.

    It begins at `now` on its monotonic clock, which is `wall` seconds since the epoch.
    """

    EPOCH = 1_760_000_000.0

    def __init__(self, now: float = 1000.0, wall: float | None = None) -> None:
        self._now = now
        self._epoch = self.EPOCH if wall is None else wall - now
        self._numbers = count()
        self._timers: list[tuple[float, int, VirtualTimer]] = []

    def now(self) -> float:
        """Seconds since the beginning of time."""
        return self._now

    def wall(self) -> float:
        """Seconds since the epoch."""
        return self._epoch + self._now

    def call_later(self, seconds: float, callback: Callable[[], None]) -> VirtualTimer:
        """Call back when the clock is moved so far."""
        timer = VirtualTimer(callback)
        heappush(self._timers, (self._now + max(0.0, seconds), next(self._numbers), timer))
        return timer

    async def sleep(self, seconds: float) -> None:
        """Return when the clock has moved so far."""
        over = asyncio.Event()
        self.call_later(seconds, over.set)
        await over.wait()

    def next_due(self) -> float | None:
        """When the next timer fires."""
        while self._timers and self._timers[0][2].callback is None:
            heappop(self._timers)
        return self._timers[0][0] if self._timers else None

    def move_to(self, moment: float) -> None:
        """Advance to a moment, firing the timers due until then. Callbacks see the time at which they were due."""
        while (due := self.next_due()) is not None and due <= moment:
            timer = heappop(self._timers)[2]
            self._now = max(self._now, due)
            timer.go_off()
        self._now = max(self._now, moment)
