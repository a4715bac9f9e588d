"""The standstill: while a long decision is in progress, nothing else changes the snapshot on which it is made.

A gang of thousands is decided in slices, so that probes, the lease and answers of the API get their turn in between.
kube-scheduler decides on a copy; here the cluster state itself stays constant meanwhile. The scheduler begins and ends
a standstill. Everything else that would change nodes, pods, the queue or the state of plugins goes through this module:
tasks by `pace`, timers by `clock`, all other calls by `apply`. It is delayed, in order, and nothing is lost.

Tasks also share a turn of the event loop: if thousands are runnable at once, those for which there was no time in this
turn run in the next.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from types import TracebackType
from typing import Any, TypeVar

from ..contract.handle import Clock, Timer
from ..work import Worker

log = logging.getLogger(__name__)

SLICE_SECONDS = 0.005
"""How long a slice of a decision may last, or paced tasks in one turn of the loop, before one more step."""
_MOST_CHECKPOINTS = 10_000
"""The most checkpoints in a slice. It ends work without an end where the clock stands still."""
_AT_ONCE = 16
"""How many of the delayed tasks continue in one turn of the loop, if there is time."""

T = TypeVar("T")
Work = Coroutine[Any, Any, Any]


def _as_it_is(work: Work) -> Work:
    return work


def _timeless() -> float:
    return 0.0


class Standstill:
    """Whether the snapshot must not change now, and what waits for the end of that.

    `stopwatch` returns the seconds by which slices are measured. The default stands still, so that decisions are made
    without pauses and nothing is delayed. `follow` wraps the work of each task of the engine's own, for observers of
    its steps.

    Attributes:
        under_way: whether a decision is in progress.
    """

    def __init__(self, stopwatch: Callable[[], float] = _timeless, follow: Callable[[Work], Work] = _as_it_is) -> None:
        self.under_way = False
        self._follow = follow
        self._now = stopwatch
        self._changes: deque[Callable[[], None]] = deque()
        self._delayed: deque[asyncio.Future[None]] = deque()
        self._once_more: deque[asyncio.Future[None]] = deque()
        self._let_go = 0
        self._turn_ends: float | None = None

    @property
    def has_delayed(self) -> bool:
        """Whether delayed tasks, or a change `in_slices`, have to continue before another decision begins."""
        return bool(self.under_way or self._let_go or self._delayed or self._once_more)

    def slice_end(self) -> Callable[[], bool]:
        """Begin a slice. The returned function, which is called at each checkpoint, says whether it is over."""
        now, end, left = self._now, self._now() + SLICE_SECONDS, iter(range(_MOST_CHECKPOINTS))
        return lambda: now() >= end or next(left, None) is None

    def begin(self) -> None:
        """Delay everything from here on."""
        self.under_way = True

    def end(self) -> None:
        """Run the callbacks that were delayed, timers and calls before tasks."""
        self.under_way = False
        while self._changes:
            change = self._changes.popleft()
            try:
                change()
            except Exception:  # what comes after it has nothing to do with it
                log.exception("what waited for the end of a decision failed")
        self._let_go_on()

    async def in_slices(self, change: Callable[[], None], worker: Worker) -> None:
        """Let `worker` call `change`, one slice in each turn of the event loop. No decision begins meanwhile.

        For a paced task. If the task is cancelled, the change is completed all the same.
        """
        loop = asyncio.get_running_loop()
        done = loop.create_future()
        worker.begin(change)

        def go_on() -> None:
            failure = None
            try:
                if not worker.go_on(self.slice_end()):
                    loop.call_soon(go_on)
                    return
            except Exception as error:
                failure = error
            self.end()
            if done.done():  # as for a cancelled task
                return
            done.set_result(None) if failure is None else done.set_exception(failure)

        self.begin()
        go_on()
        await done if not done.done() else await asyncio.sleep(0, done.result())

    def apply(self, change: Callable[[], None]) -> None:
        """Call `change` now, or at the end of the decision in progress."""
        # Changes that waited may call this while they are carried out: a later change must not overtake them.
        if self.under_way or self._changes:
            self._changes.append(change)
        else:
            change()

    def pace(self, work: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]:
        """Work that takes no step while a decision is in progress. To be run as a task."""
        return _Paced(self, work)

    def pace_own(self, work: Work) -> Work:
        """Work of the engine's own that takes no step while a decision is in progress. To be run as a task."""
        return _Paced(self, self._follow(work))

    def clock(self, clock: Clock) -> Clock:
        """A clock whose timers do not fire while a decision is in progress."""
        return _Clock(self, clock)

    def delay(self, waited_for: asyncio.Future[None] | None) -> asyncio.Future[None] | None:
        """The future that a task must wait for before its next step; None if it may run now."""
        if waited_for is not None and not waited_for.cancelled():
            self._let_go -= 1
        if not self.under_way and self._has_time():
            return None
        waits = asyncio.get_running_loop().create_future()
        (self._delayed if waited_for is None else self._once_more).append(waits)
        return waits

    def _has_time(self) -> bool:
        if self._turn_ends is None:
            self._turn_ends = self._now() + SLICE_SECONDS
            asyncio.get_running_loop().call_soon(self._next_turn)
            return True
        return self._now() < self._turn_ends

    def _next_turn(self) -> None:
        self._turn_ends = None
        if not self.under_way:
            self._let_go_on()

    def _let_go_on(self) -> None:
        """Each turn begins with the first waiting task, so at least one makes progress."""
        while self._let_go < _AT_ONCE and (waiting := self._once_more or self._delayed):
            waits = waiting.popleft()
            if not waits.done():  # as for a cancelled task
                waits.set_result(None)
                self._let_go += 1


class _Paced(Coroutine[Any, Any, T]):
    """The coroutine that `pace` returns: what its task sends or throws reaches `work` when `work` may continue."""

    def __init__(self, standstill: Standstill, work: Coroutine[Any, Any, T]) -> None:
        self._standstill = standstill
        self._work = work
        self._waits: asyncio.Future[None] | None = None
        self._thrown: BaseException | None = None

    def send(self, value: Any) -> Any:
        """Continue, or wait for permission. Called by the task."""
        self._waits = self._standstill.delay(self._waits)
        if self._waits is not None:
            return next(iter(self._waits))
        if self._thrown is None:
            return self._work.send(value)
        thrown, self._thrown = self._thrown, None
        return self._work.throw(thrown)

    def throw(
        self, error: type[BaseException] | BaseException, value: object = None, trace: TracebackType | None = None
    ) -> Any:
        """Continue with an exception, or wait for permission. Called by the task, above all for a cancellation."""
        self._thrown = error if isinstance(error, BaseException) else error()
        return self.send(None)

    def close(self) -> None:
        """Give the work up."""
        self._work.close()

    def __await__(self) -> Generator[Any, Any, T]:
        return (yield from asyncio.ensure_future(self))


class _Clock:
    """Implements `contract.Clock`; see `Standstill.clock`."""

    def __init__(self, standstill: Standstill, clock: Clock) -> None:
        self.now = clock.now
        self.wall = clock.wall
        self._standstill = standstill
        self._clock = clock

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        """Call back after so many seconds, or at the end of a decision in progress then."""
        return _Timer(self._standstill, self._clock, seconds, callback)


class _Timer:
    """A timer that can be cancelled as long as it has not called back."""

    def __init__(self, standstill: Standstill, clock: Clock, seconds: float, callback: Callable[[], None]) -> None:
        self._callback: Callable[[], None] | None = callback
        self._timer = clock.call_later(seconds, lambda: standstill.apply(self._over))

    def cancel(self) -> None:
        """Do not call."""
        self._callback = None
        self._timer.cancel()

    def _over(self) -> None:
        callback, self._callback = self._callback, None
        if callback is not None:
            callback()
