"""The scheduling loop: decides as long as pods are ready, and lets all other tasks run in between.

A slice of decisions lasts a few milliseconds; then watch events, answers and probes are handled. A decision that takes
longer is made in several slices. The loop pauses while many bindings are in flight, so that decisions are made late, on
the latest snapshot. `expire_assumed`, if configured, forgets assumed pods that the API never reports.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from muster.framework.contract import Clock
    from muster.framework.scheduler.engine import Engine

log = logging.getLogger(__name__)

_SLICE_SECONDS = 0.004
_LONG_SLICE_SECONDS = 0.1
"""Only a plugin that stalls, or breaks off no work of its own, makes a slice so long."""
_REST_SECONDS = 0.05
"""Enough for a request on a new TLS connection, which needs several steps of the event loop: with a slice between any
two of them, stalls would add up, and a probe would fail."""
_LONGEST_SLEEP_SECONDS = 1.0
_STOPPED_AFTER_SECONDS = 10.0
_STALLED_AFTER_SECONDS = 60.0
"""Longer than a Binding that the API never answers."""
_LONG_DECISION_SECONDS = 600.0
"""Longer than any decision, even about a gang of thousands with a plugin that uses up its budget."""
EXPIRY_PERIOD_SECONDS = 1.0
"""The interval of kube-scheduler when it still forgot assumed pods."""


class SchedulingLoop:
    """Drives an engine. Call `wake` whenever the queue may have a ready entity, or a pod was bound.

    No decision begins while `max_bindings` pods are being bound; a gang counts as the members that are bound at a time.
    """

    def __init__(
        self,
        engine: Engine,
        clock: Clock,
        *,
        may_schedule: Callable[[], bool],
        max_bindings: int = 64,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._engine = engine
        self._clock = clock
        self._sleep_for = sleep
        self._may_schedule = may_schedule
        self._max_bindings = max_bindings
        self._wake = asyncio.Event()
        self._last_slice: float | None = None
        self._progressed = 0.0
        self._progress = (0, 0)

    def stopped(self) -> str | None:
        """The problem if the loop has ended, which only a restart can correct; None otherwise."""
        if self._last_slice is None or (since := self._clock.now() - self._last_slice) < _STOPPED_AFTER_SECONDS:
            return None
        return f"the scheduling loop has not turned for {since:.0f} s"

    def stalled(self) -> str | None:
        """The problem if pods have been ready for long, but no decision ended and no pod was bound; None otherwise.

        A decision in progress may take longer. A standby never stalls.
        """
        if self._last_slice is None:
            return None
        scheduler, since = self._engine.scheduler, self._clock.now() - self._progressed
        ready = self._engine.queue.contents.counts()["active"] if since >= _STALLED_AFTER_SECONDS else 0
        if not ready:
            return None
        if not scheduler.under_way:
            waiting = f"{ready} pods are ready and {scheduler.bindings_in_flight} are being bound"
            return f"nothing has been decided for {since:.0f} s while {waiting}"
        if since >= _LONG_DECISION_SECONDS:
            return f"one decision has been under way for {since:.0f} s while {ready} pods are ready"
        return None

    def wake(self) -> None:
        """Let the loop check the queue."""
        self._wake.set()

    async def run(self) -> None:
        """Schedule until cancelled. A decision that is under way then is aborted."""
        self._progressed = self._clock.now()
        try:
            while True:
                # Cleared before the slice, because a wake-up during the slice must not be lost.
                self._wake.clear()
                busy = self._slice()
                self._follow_progress()
                if busy:
                    await self._sleep_for(self._rest())
                    continue
                await self._sleep()
        finally:
            self._engine.scheduler.abort()

    def _slice(self) -> bool:
        """Decide for a few milliseconds. Returns False if no entity is ready."""
        scheduler, now = self._engine.scheduler, self._clock.now
        began = now()
        self._last_slice = began
        if not self._may_schedule():
            # The lease is lost: a decision that has not committed ends without effect.
            scheduler.abort()
        if scheduler.under_way:
            return scheduler.step()
        # Tasks that waited for the last decision run first, because the next decision would make them wait again.
        if self._engine.standstill.has_delayed:
            return True
        self._engine.queue.flush(began)
        while self._may_schedule():
            if scheduler.bindings_in_flight >= self._max_bindings:
                return False
            if not scheduler.step():
                return False
            if scheduler.under_way or now() - began >= _SLICE_SECONDS:
                return True
        return False

    def _rest(self) -> float:
        """How long everything else runs after the last slice, in seconds."""
        began = self._last_slice
        return _REST_SECONDS if began is not None and self._clock.now() - began > _LONG_SLICE_SECONDS else 0

    def _follow_progress(self) -> None:
        """Record the time if a pod was decided or bound since the last slice, or if no entity was ready."""
        scheduler = self._engine.scheduler
        progress = scheduler.decided, scheduler.bindings_in_flight
        if progress != self._progress or not (self._engine.queue.contents.has_ready and self._may_schedule()):
            self._progress, self._progressed = progress, self._clock.now()

    async def _sleep(self) -> None:
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


async def expire_assumed(
    engine: Engine, clock: Clock, *, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
) -> None:
    """Forget assumed pods whose time to live is over, periodically; runs until it is cancelled.

    The cache logs a warning for each. The queue handles it like a deletion: pods that wait for capacity may be retried.
    """
    while True:
        await sleep(EXPIRY_PERIOD_SECONDS)
        engine.standstill.apply(lambda: engine.pod_handler.expire(clock.now()))
