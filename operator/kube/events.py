"""Events for users: Muster's decisions on a pod and their reasons, as `kubectl describe` shows them.

The scheduler calls `ProfileEvents.event`, which only queues; workers of the recorder write to events.k8s.io/v1 with an
API client of their own. Nothing here ever delays scheduling: when the queue is full, the newest events are dropped and
counted. Repetitions become series, see `series`.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from random import random as _random
from typing import TYPE_CHECKING

import msgspec

from .client import PatchType
from .errors import ApiError, Fenced, NotFound, Unreachable
from .references import ObjectReference, pod_reference
from .series import QUIET, EventKey, SeriesTable, Sighting

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from muster.framework.model.pod_info import PodInfo

    from .client import ApiClient

log = logging.getLogger(__name__)

NOTE_LIMIT = 1024
_NOTE_ENDING = " ..."
_NAME_LIMIT = 253
_INSTANCE_LIMIT = 128
_TRIES = 12
_RETRY_SECONDS = 10.0
_RETRY_JITTER = 0.25
# Normal events rarely repeat but come with every bound pod; kept apart, they do not push the others out.
_CAPACITY = {"Normal": 2048, "Warning": 16384}


class _Metadata(msgspec.Struct, gc=False):
    name: str
    namespace: str


class _Series(msgspec.Struct, rename="camel", gc=False):
    count: int
    last_observed_time: str


class _SeriesPatch(msgspec.Struct, gc=False):
    series: _Series


class _Event(msgspec.Struct, rename="camel", omit_defaults=True, gc=False):
    metadata: _Metadata
    event_time: str
    reporting_controller: str
    reporting_instance: str
    action: str
    reason: str
    regarding: ObjectReference
    note: str
    type: str
    api_version: str
    kind: str
    related: ObjectReference | None = None
    series: _Series | None = None


_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Ambient:
    """The time, randomness and host name of a recorder; tests inject others.

    `wall_clock` returns nanoseconds since the epoch.
    """

    wall_clock: Callable[[], int] = time.time_ns
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    random: Callable[[], float] = _random
    hostname: str = ""


class EventRecorder:
    """Queues events and writes them, `workers` at a time, `capacity` waiting at most.

    Call `start` on the running loop and `drain` before it ends.
    """

    def __init__(
        self,
        client: ApiClient,
        *,
        ambient: Ambient | None = None,
        workers: int = 32,
        capacity: int = 10_000,
    ) -> None:
        self._client = client
        self._ambient = ambient or Ambient(hostname=socket.gethostname())
        self._queue: asyncio.Queue[Sighting] = asyncio.Queue(capacity)
        self._series = {type_: SeriesTable(size) for type_, size in _CAPACITY.items()}
        self._workers = workers
        self._tasks: list[asyncio.Task[None]] = []
        self._last_nanos = 0
        self._writing: dict[str, bool] = {}
        self._unfinished = 0
        self.dropped = 0

    @property
    def backlog(self) -> int:
        """The number of Events that wait to be written."""
        return self._queue.qsize()

    def for_profile(self, scheduler_name: str) -> ProfileEvents:
        """The events of one scheduler profile, which reports them under its name."""
        return ProfileEvents(self, scheduler_name)

    def start(self) -> None:
        """Start the workers."""
        self._tasks = [asyncio.create_task(self._work()) for _ in range(self._workers)]
        self._tasks.append(asyncio.create_task(self._sweep()))

    async def drain(self, *, within: float) -> None:
        """Write the queued Events, for `within` seconds at most, and stop. The log counts those not written."""
        if not self._tasks:
            return
        try:
            async with asyncio.timeout(within):
                await self._queue.join()
        except TimeoutError:
            log.warning("%d events were not written before the end", self._unfinished)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []

    def record(self, key: EventKey) -> None:
        """Record an event that happens now."""
        # Two events of one nanosecond would have one name.
        nanos = self._last_nanos = max(self._ambient.wall_clock(), self._last_nanos + 1)
        name = _event_name(key.regarding.name, nanos)
        for sighting in self._series[key.type].observe(key, name=name, now=nanos / 1e9):
            self._enqueue(sighting)

    def _enqueue(self, sighting: Sighting) -> None:
        try:
            self._queue.put_nowait(sighting)
        except asyncio.QueueFull:
            if not self.dropped % self._queue.maxsize:
                log.warning("events come faster than they can be written, some are dropped")
            self.dropped += 1
        else:
            self._unfinished += 1

    async def _work(self) -> None:
        while True:
            sighting = await self._queue.get()
            try:
                await self._write_in_turn(sighting)
            except Exception:
                log.exception("event %s could not be written", sighting.name)
            self._unfinished -= 1
            self._queue.task_done()

    async def _sweep(self) -> None:
        while True:
            await self._ambient.sleep(QUIET)
            now = self._ambient.wall_clock() / 1e9
            for table in self._series.values():
                for sighting in table.sweep(now=now):
                    self._enqueue(sighting)

    async def _write_in_turn(self, sighting: Sighting) -> None:
        """Write the Event, or leave it to the worker that is writing it: no patch may overtake the creation."""
        name = sighting.name
        if name in self._writing:
            self._writing[name] = True
            return
        again = True
        try:
            while again:
                self._writing[name] = False
                await self._write(sighting)
                again = self._writing[name]
        finally:
            del self._writing[name]

    async def _write(self, sighting: Sighting) -> None:
        """Write until success or the last try, by client-go's rule, which retries only writes without an answer."""
        tries = 0
        while True:
            try:
                await self._send(sighting)
                return
            except Fenced:
                return  # only the leader writes Events; a standby would duplicate them
            except ApiError as error:
                tries += 1
                if tries >= _TRIES or not _may_pass(error):
                    log.warning("event %s was not written: %s", sighting.name, error)
                    return
                wait = _RETRY_SECONDS * (1 + _RETRY_JITTER * self._ambient.random())
                await self._ambient.sleep(wait if error.retry_after is None else error.retry_after)

    async def _send(self, sighting: Sighting) -> None:
        path = f"/apis/events.k8s.io/v1/namespaces/{_namespace(sighting.key)}/events"
        if sighting.count > 1:
            try:
                await self._client.patch(
                    f"{path}/{sighting.name}", _encode(_SeriesPatch(_series(sighting))), kind=PatchType.STRATEGIC
                )
                return
            except NotFound:
                pass  # the Event expired, or was never written: create it
        await self._client.post(path, self._body(sighting))

    def _body(self, sighting: Sighting) -> bytes:
        key = sighting.key
        return _encode(
            _Event(
                metadata=_Metadata(sighting.name, _namespace(key)),
                event_time=_timestamp(sighting.first_seen),
                reporting_controller=key.controller,
                reporting_instance=f"{key.controller}-{self._ambient.hostname}"[:_INSTANCE_LIMIT],
                action=key.action,
                reason=key.reason,
                regarding=key.regarding,
                note=key.note,
                type=key.type,
                api_version="events.k8s.io/v1",
                kind="Event",
                related=key.related,
                series=_series(sighting) if sighting.count > 1 else None,
            )
        )


class ProfileEvents:
    """The reports of one scheduler profile. Satisfies the `EventSink` that plugins see."""

    def __init__(self, recorder: EventRecorder, scheduler_name: str) -> None:
        self._recorder = recorder
        self._scheduler_name = scheduler_name

    def event(
        self,
        regarding: PodInfo,
        *,
        type: str,
        reason: str,
        action: str,
        note: str,
        related: PodInfo | None = None,
    ) -> None:
        """Record an Event about a pod; `type` is Normal or Warning. Never blocks.

        A note longer than 1024 bytes is cut. Raises KeyError for another type.
        """
        self._recorder.record(
            EventKey(
                type=type,
                reason=reason,
                action=action,
                note=cut_note(note),
                controller=self._scheduler_name,
                regarding=pod_reference(regarding.pod.metadata),
                related=pod_reference(related.pod.metadata) if related is not None else None,
            )
        )


def cut_note(note: str) -> str:
    """The note as the API accepts it: if longer than 1024 bytes, its first 1020 (whole characters) and ` ...`."""
    if len(note) * 4 <= NOTE_LIMIT:
        return note
    encoded = note.encode()
    if len(encoded) <= NOTE_LIMIT:
        return note
    return encoded[: NOTE_LIMIT - len(_NOTE_ENDING)].decode(errors="ignore") + _NOTE_ENDING


def _may_pass(error: ApiError) -> bool:
    return isinstance(error, Unreachable) or error.retry_after is not None


def _event_name(regarding: str, nanos: int) -> str:
    ending = f".{nanos:x}"
    return f"{regarding[: _NAME_LIMIT - len(ending)].rstrip('-.')}{ending}"


def _namespace(key: EventKey) -> str:
    return key.regarding.namespace or "default"


def _series(sighting: Sighting) -> _Series:
    return _Series(sighting.count, _timestamp(sighting.last_seen))


def _timestamp(seconds: float) -> str:
    whole, micros = divmod(int(seconds) * 1_000_000 + round(seconds % 1 * 1e6), 1_000_000)
    return f"{_to_the_second(whole)}.{micros:06d}Z"


@lru_cache(maxsize=16)
def _to_the_second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None).isoformat()
