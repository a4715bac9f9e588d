"""A queue of groups, and a worker that reconciles one after another while this process leads.

Controllers and healers of all kinds of groups extend `GroupWorker`. A plugin derives its groups from the process's
informers, and reports each group that changed.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Container, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from muster.framework.contract import Clock
from muster.framework.runtime.standstill import Standstill
from muster.operator.kube.client import ApiClient
from muster.operator.kube.informer import Timing
from muster.operator.kube.series import EventKey

from .work_queue import WorkQueue

log = logging.getLogger(__name__)

_LEADING_POLL_SECONDS = 1.0

_LAST_WRITE_SECONDS = 3.0


class EventWriter(Protocol):
    """Writes Events, see `kube.events`. Never blocks."""

    def record(self, key: EventKey) -> None:
        """Record an event that happens now."""
        ...


@dataclass(frozen=True, slots=True)
class WorkerPorts:
    """The connections of a worker to its process.

    Attributes:
        leading: whether this process leads; called before each group.
        synced: events that the plugin's informers set. No group is reconciled before all are set, because groups would
            seem to lack members that are not known yet.
        reporter: the name of the component that reports Events.
        standstill: the engine's standstill: a plugin's books are read and changed while no decision is in progress.
        timing: the timing of informers.
    """

    client: ApiClient
    recorder: EventWriter
    clock: Clock
    leading: Callable[[], bool]
    synced: Collection[asyncio.Event] = ()
    reporter: str = "muster"
    standstill: Standstill = field(default_factory=Standstill)
    timing: Timing | None = None


class GroupWorker(ABC):
    """Reconciles the queued groups of one kind. Create, `start` and `stop` it on one event loop."""

    def __init__(self, ports: WorkerPorts, groups: Container[str]) -> None:
        """`groups` contains the keys of the existing groups."""
        self._ports = ports
        self._clock = ports.clock
        self._exists = groups.__contains__
        self._queue = WorkQueue()
        self._wake = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._reconciling = asyncio.Lock()
        self._paused_until = 0.0

    def start(self) -> None:
        """Start the worker; groups are reconciled once all members are known."""
        pace = self._ports.standstill.pace
        self._tasks = [asyncio.create_task(pace(work)) for work in self._coroutines()]

    async def stop(self) -> None:
        """Stop the worker. A write in flight gets a few seconds while this process leads; otherwise it is cancelled."""
        if self._ports.leading():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._reconciling.acquire(), _LAST_WRITE_SECONDS)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @abstractmethod
    async def _reconcile(self, key: str) -> None:
        """Bring a queued group up to date."""

    def _coroutines(self) -> list[Coroutine[Any, Any, None]]:
        """The coroutines that run concurrently until the worker is cancelled."""
        return [self._work()]

    def _enqueue(self, key: str, *, not_before: float, patient: bool = False) -> None:
        """Queue a group; a `patient` one is handled after all others that are due."""
        self._queue.add(key, at=max(self._clock.now(), not_before), patient=patient)
        self._wake.set()

    def _enqueue_again(self, key: str, seconds: float) -> None:
        """Queue a group again after `seconds`, if it still exists."""
        if self._exists(key):
            self._enqueue(key, not_before=self._clock.now() + seconds)

    async def _work(self) -> None:
        for event in self._ports.synced:
            await event.wait()
        while True:
            self._wake.clear()
            now = self._clock.now()
            key = self._queue.pop(now) if self._ports.leading() and now >= self._paused_until else None
            if key is None:
                await self._sleep()
                continue
            try:
                async with self._reconciling:
                    await self._reconcile(key)
            except Exception:
                log.exception("Unable to reconcile group %s", key)
            await asyncio.sleep(0)

    async def _sleep(self) -> None:
        """Sleep until a group is due and may be written, or, while another process leads, for a poll period."""
        timer, now = None, self._clock.now()
        due = self._queue.next_time()
        if due is not None:
            until = max(due, self._paused_until) if self._ports.leading() else now + _LEADING_POLL_SECONDS
            timer = self._clock.call_later(max(0.0, until - now), self._wake.set)
        try:
            await self._wake.wait()
        finally:
            if timer is not None:
                timer.cancel()
