"""An event loop in virtual time whose order a seed chooses: everything in a simulation runs on it.

When nothing is runnable, time advances to the next timer. Every callback belongs to an owner: a process, the API
server, or the outside world. The loop draws the next owner at each step; callbacks of one owner run in asyncio's order,
as they would in a process of their own. An owner can be stopped, for a while or forever, and slowed down.

It has what asyncio's own tools need (tasks, futures, timers) and supports no files, sockets, threads or signals.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextvars import Context, ContextVar, copy_context
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Any, TypeVarTuple

from muster.framework.embedded.loop import TaskLoop

Ts = TypeVarTuple("Ts")


class Owner:
    """The process whose turn it is.

    Attributes:
        name: for people.
        context: what is called in it belongs to this owner, and all that follows from that.
        stopped: whether it stands, as after SIGSTOP; what is due meanwhile comes when it goes on, if it ever does.
        pace: how many seconds it takes for a callback.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.stopped = False
        self.pace = 0.0
        self.ready: deque[asyncio.Handle] = deque()
        self.busy_until = 0.0
        self.context = copy_context()
        self.context.run(_OWNER.set, self)


_OWNER: ContextVar[Owner] = ContextVar("owner")


class SimulatedLoop(TaskLoop):
    """The loop.

    Attributes:
        steps: how many callbacks have run.
        turn: whose the last of them was; before the first, nobody's of account.
        failures: what callbacks and tasks raised that nobody caught.
    """

    def __init__(self, random: Random, *, begin: float = 1000.0) -> None:
        super().__init__()
        self.steps = 0
        self.turn = Owner("nobody")
        self.failures: list[str] = []
        self._now = begin
        self._random = random
        self._numbers = count()
        self._timers: list[tuple[float, int, asyncio.TimerHandle, Owner]] = []
        self._owners: dict[Owner, None] = {}

    def owner(self, name: str) -> Owner:
        """A new owner."""
        made = Owner(name)
        self._owners[made] = None
        return made

    def spend(self, seconds: float) -> float:
        """Let time pass within a callback. Returns the time after it."""
        self._now += seconds
        return self._now

    def run_until(self, moment: float, after_step: Callable[[], None] = lambda: None) -> None:
        """Run all callbacks that are due until this moment; `after_step` is called after each callback."""
        asyncio._set_running_loop(self)
        try:
            while self._turn(moment):
                after_step()
        finally:
            asyncio._set_running_loop(None)
        self._now = max(self._now, moment)

    def end(self) -> None:
        """Cancel all tasks, those of stopped owners too, and let them end."""
        for owner in self._owners:
            owner.stopped = False
            owner.pace = owner.busy_until = 0.0
        for task in tuple(self._tasks):
            task.cancel()
        asyncio._set_running_loop(self)
        try:
            while (ready := [owner for owner in self._owners if owner.ready]) and self._tasks:
                ready[0].ready.popleft()._run()
        finally:
            asyncio._set_running_loop(None)
        self._timers.clear()
        self._owners.clear()
        self.close()

    def _turn(self, moment: float) -> bool:
        """Run the next callback that is due until this moment. False if there is none."""
        while True:
            timers = self._timers
            while timers and timers[0][0] <= self._now:
                _, _, due, owner = heappop(timers)
                if not due.cancelled():
                    owner.ready.append(due)
            ready: list[Owner] = []
            busy: list[Owner] = []
            for owner in self._owners:
                if owner.ready and not owner.stopped:
                    (ready if owner.busy_until <= self._now else busy).append(owner)
            if ready:
                owner = ready[0] if len(ready) == 1 else ready[int(self._random.random() * len(ready))]
                handle = owner.ready.popleft()
                if handle.cancelled():
                    continue
                self._run(owner, handle)
                return True
            moments = [owner.busy_until for owner in busy]
            if timers:
                moments.append(timers[0][0])
            if not moments or (earliest := min(moments)) > moment:
                return False
            self._now = max(self._now, earliest)

    def _run(self, owner: Owner, handle: asyncio.Handle) -> None:
        self.steps += 1
        self.turn = owner
        handle._run()
        if owner.pace:
            owner.busy_until = self._now + owner.pace

    # What asyncio asks of a loop.

    def time(self) -> float:
        """Seconds on the loop's clock."""
        return self._now

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """Call as soon as it is the owner's turn."""
        context = context or copy_context()
        handle = asyncio.Handle(callback, args, self, context)
        context[_OWNER].ready.append(handle)
        return handle

    def call_later(
        self, delay: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Call after some seconds."""
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Call at this time of the loop."""
        context = context or copy_context()
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        heappush(self._timers, (when, next(self._numbers), handle, context[_OWNER]))
        return handle

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Record an exception that was caught nowhere."""
        error = context.get("exception")
        self.failures.append(f"{context.get('message')}: {type(error).__name__}: {error}")
