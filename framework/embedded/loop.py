"""An event loop for the tasks of an engine alone, in virtual time, so that the ready tasks can be counted.

`EmbeddedEngine` and replays run what is ready whenever it is their turn; they may do so from inside a task of another
loop, whose own callbacks wait meanwhile. Where that loop goes on by itself it gives this one its turns, too, and its
end ends the tasks here. Timers of asyncio (`sleep`, `timeout`) are timers of the virtual clock. Files, sockets and
signals are not known here; other threads and loops may wake tasks by `call_soon_threadsafe`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from contextvars import Context
from typing import Any, TypeVar, TypeVarTuple

from .clock import VirtualClock

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class TaskLoop(asyncio.BaseEventLoop):
    """A loop that knows its tasks until they end, for loops in virtual time: this one, and the simulation's."""

    def __init__(self) -> None:
        super().__init__()
        self._tasks: dict[asyncio.Task[Any], None] = {}

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Note a cancelled timer, which is dropped at its time."""

    def create_task(
        self,
        coro: Generator[Any, None, T] | Coroutine[Any, Any, T],
        *,
        name: object = None,
        context: Context | None = None,
    ) -> asyncio.Task[T]:
        """A task that continues whenever the loop is run."""
        task: asyncio.Task[T] = asyncio.Task(coro, loop=self, name=str(name), context=context)
        self._tasks[task] = None
        task.add_done_callback(lambda ended: self._tasks.pop(ended, None))
        return task


class VirtualLoop(TaskLoop):
    """The loop. Callbacks run in asyncio's order, in `run_ready` and `turn`.

    Attributes:
        failures: what spawned work ended with that was no cancellation; it is logged as well.
    """

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__()
        self._clock = clock
        self._due: deque[asyncio.Handle] = deque()
        self._has_turn_coming = False
        self._end_of_outer: asyncio.Task[None] | None = None
        self.failures: list[BaseException] = []

    def __del__(self) -> None:
        """There is nothing to close."""

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Start a task, as the engine's port."""
        outer = asyncio._get_running_loop()
        if self._end_of_outer is None and outer is not None and outer is not self:
            self._end_of_outer = outer.create_task(self._end_with(outer))
        self.create_task(work).add_done_callback(self._ended)

    def run_ready(self) -> bool:
        """Run all ready callbacks until none is left. Returns whether there were any."""
        ran = False
        while self.turn():
            ran = True
        return ran

    def turn(self) -> bool:
        """Run the callbacks that are ready now, once. Returns whether there were any."""
        ready = len(self._due)
        if not ready:
            return False
        with self._instead_of_the_running_loop():
            for _ in range(ready):
                handle = self._due.popleft()
                if not handle.cancelled():
                    handle._run()
        return True

    def end(self) -> None:
        """Cancel all tasks, and let them end."""
        if self._end_of_outer is not None:
            self._end_of_outer.cancel()
        for task in tuple(self._tasks):
            task.cancel()
        self.run_ready()

    async def _end_with(self, outer: asyncio.AbstractEventLoop) -> None:
        """Last until the outer loop cancels its tasks."""
        try:
            await outer.create_future()
        finally:
            self._end_of_outer = None
            self.end()

    def _come_by_turn(self) -> None:
        """Run with the next turn of the outer loop, if there is one."""
        outer = asyncio._get_running_loop()
        if outer is not None and outer is not self and not self._has_turn_coming:
            self._has_turn_coming = True
            outer.call_soon(self._take_turn)

    def _take_turn(self) -> None:
        self._has_turn_coming = False
        if self.turn() and self._due:
            self._come_by_turn()

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (failure := task.exception()) is not None:
            self.failures.append(failure)
            self.call_exception_handler({"message": "a task failed", "exception": failure, "task": task})

    @contextmanager
    def _instead_of_the_running_loop(self) -> Iterator[None]:
        """Callbacks run in this loop, also while a task of another loop runs."""
        outer = asyncio._get_running_loop()
        if outer is self:
            raise RuntimeError("what runs on this loop cannot run it")
        task = None if outer is None else asyncio.current_task(outer)
        if task is not None:
            asyncio.tasks._leave_task(task.get_loop(), task)
        asyncio._set_running_loop(self)
        try:
            yield
        finally:
            asyncio._set_running_loop(outer)
            if task is not None:
                asyncio.tasks._enter_task(task.get_loop(), task)

    # What asyncio asks of a loop.

    def time(self) -> float:
        """Seconds on the virtual clock."""
        return self._clock.now()

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """Call after all that is ready."""
        handle = self.call_soon_threadsafe(callback, *args, context=context)
        self._come_by_turn()
        return handle

    def call_soon_threadsafe(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """Call after all that is ready. The driver of the loop knows what is awaited from elsewhere."""
        handle = asyncio.Handle(callback, args, self, context)
        self._due.append(handle)
        return handle

    def call_later(
        self, delay: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Call when the clock has moved so far."""
        handle = asyncio.TimerHandle(self.time() + delay, callback, args, self, context)
        self._clock.call_later(delay, lambda: self._due.append(handle))
        return handle

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Call when the clock shows this time."""
        return self.call_later(when - self.time(), callback, *args, context=context)
