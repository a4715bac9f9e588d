"""What the controllers of all kinds of groups have in common: a queue of groups to look at, and one worker.

A plugin keeps its groups from the process's informers and tells its controller of each that changed. The worker looks
at them one by one, each at most once a second and only while this process leads. What the server does not take is put
off; when it takes nothing at all, every group waits.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Container
from dataclasses import dataclass, field
from typing import Any, Protocol

from muster.framework.contract import Clock
from muster.framework.runtime.standstill import Standstill
from muster.operator.kube.client import ApiClient, PatchType
from muster.operator.kube.errors import ApiError, Conflict, NotFound, Rejected
from muster.operator.kube.informer import Informer
from muster.operator.kube.series import EventKey
from muster.operator.kube.transport import Reply

from .work_queue import WorkQueue

log = logging.getLogger(__name__)

WRITE_PERIOD = 1.0
"""Seconds between two writes to one group."""

_RETRY_SECONDS = 10.0
_LEADING_POLL_SECONDS = 1.0


class EventRecorder(Protocol):
    """Who writes Events, see `kube.events`. Never blocks."""

    def record(self, key: EventKey) -> None:
        """Note an event that happens now."""
        ...


@dataclass(frozen=True, slots=True)
class ControllerPorts:
    """What a controller works with.

    Attributes:
        leading: asked before each write.
        synced: nothing is looked at before all are set, those of the informers that feed the plugin: until every member
            is known, groups would seem to lack some.
        reporter: in whose name Events are reported.
        standstill: the engine's: what a plugin keeps is read and changed when no decision is under way.
    """

    client: ApiClient
    recorder: EventRecorder
    clock: Clock
    leading: Callable[[], bool]
    synced: Collection[asyncio.Event] = ()
    reporter: str = "muster"
    standstill: Standstill = field(default_factory=Standstill)


class StatusController(ABC):
    """A controller. Make it, `start` and `stop` it on one event loop."""

    def __init__(self, ports: ControllerPorts, groups: Container[str], ended: Informer[Any]) -> None:
        """`groups` says which there are, `ended` follows members that have ended."""
        self._ports = ports
        self._clock = ports.clock
        self._exists = groups.__contains__
        self._ended = ended
        self._queue = WorkQueue()
        self._wake = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._failing = False
        self._paused_until = 0.0

    def start(self) -> None:
        """Begin to follow members that have ended, and to write statuses once all members are known."""
        pace = self._ports.standstill.pace
        self._tasks = [asyncio.create_task(pace(work)) for work in (self._follow_ended(), self._work())]

    async def stop(self) -> None:
        """End. A write under way is given up."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @abstractmethod
    async def _reconcile(self, key: str) -> None:
        """Write and tell what is new of a group, which exists."""

    async def _follow_ended(self) -> None:
        await self._ended.run()

    def _look_at(self, key: str, *, not_before: float, patient: bool = False) -> None:
        """Have a group looked at; a patient one waits while others are."""
        self._queue.add(key, at=max(self._clock.now(), not_before), patient=patient)
        self._wake.set()

    async def _work(self) -> None:
        """Look at what is due until cancelled."""
        for event in self._ports.synced:
            await event.wait()
        while True:
            self._wake.clear()
            now = self._clock.now()
            key = self._queue.pop(now) if self._ports.leading() and now >= self._paused_until else None
            if key is None:
                await self._rest()
                continue
            try:
                await self._reconcile(key)
            except Exception:
                log.exception("the status of PodGroup %s could not be computed", key)
            await asyncio.sleep(0)

    async def _rest(self) -> None:
        """Sleep until something is due and may be written; while another process leads, look again in a moment."""
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

    async def _patch(self, key: str, path: str, body: bytes, kind: PatchType) -> Reply | None:
        """Patch a group's status; None when that must be tried again, or need not."""
        try:
            reply = await self._ports.client.patch(path, body, kind=kind)
        except NotFound:
            return None  # the informer will say so
        except Conflict:
            self._again(key, WRITE_PERIOD)
            return None
        except Rejected as error:
            self._again(key, _RETRY_SECONDS)
            log.warning("the status of PodGroup %s was not accepted: %s", key, error)
            return None
        except ApiError as error:
            self._again(key, 0.0)
            self._paused_until = self._clock.now() + (error.retry_after or _RETRY_SECONDS)
            if not self._failing:
                log.warning("statuses of PodGroups cannot be written: %s", error)
            self._failing = True
            return None
        self._failing = False
        return reply

    def _again(self, key: str, seconds: float) -> None:
        if self._exists(key):
            self._queue.add(key, at=self._clock.now() + seconds)
