"""Follows all objects of one kind: list, watch, and list again when the watch cannot continue.

The operator starts one `Informer` per kind and awaits its `synced` event before it schedules anything. It never ends by
itself: every failure is retried with growing, jittered delays, shown in `status` and logged when it changes.

            list ok
    LIST ─────────────► WATCH ───┐  ended, broken off, fell silent; 401, 403, 429, 5xx: resume at the last version
      ▲                   │  ▲   │
      │                   │  └───┘
      └───────────────────┘  410 of either kind, garbage, 400, 404, 504, any ERROR event but 429, silent from the start

The handler's state always equals the store's: a list is compared with the store and the differences are reported, so
nothing that happened during a gap is lost, deletions included.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass, field
from enum import StrEnum
from random import random as _random
from typing import TYPE_CHECKING, Generic, TypeVar

from muster.framework.contract.handle import HasMetadata

from .backoff import Backoff, BackoffRule
from .errors import ApiError, Gone, NotFound, Rejected, TimedOut, TooManyRequests
from .frames import Bookmark, Decoder, GarbageError, Lines, ListPage, StreamError, Unreadable, WatchChange
from .store import ResourceEventHandler, Store

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator

    from .client import ApiClient

T = TypeVar("T", bound=HasMetadata)

log = logging.getLogger(__name__)

PAGE_SIZE = 2000
"""For each page, etcd counts all remaining objects, so many small pages cost it more than the objects themselves. A
page of this size with plain pods is decoded in some ten milliseconds."""
_SHORTEST_WATCH = 300.0
_EARLY_SECONDS = 1.0
_STEPS_PER_TURN = 200
_TURN_SECONDS = 0.005
_LONG_LINE = 1 << 18


@dataclass(frozen=True, slots=True)
class Listed(Generic[T]):
    """The resource to follow.

    Attributes:
        path: the path of the list, e.g. `/api/v1/pods`.
        type: the struct to decode; other fields are dropped.
        field_selector, label_selector: the server's selection. An object that leaves it counts as deleted.
    """

    path: str
    type: type[T]
    field_selector: str = ""
    label_selector: str = ""

    @property
    def name(self) -> str:
        """The name for logs."""
        selectors = ",".join(filter(None, (self.field_selector, self.label_selector)))
        return f"{self.path}?{selectors}" if selectors else self.path


@dataclass(frozen=True, slots=True)
class Timing:
    """Time and randomness for an informer.

    Attributes:
        sleep, random, clock: injected by tests; `random` returns [0, 1), `clock` seconds.
        backoff: the waits after failures.
        silence: the seconds without a byte after which a watch counts as dead. Bookmarks come about every minute.
    """

    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    random: Callable[[], float] = _random
    clock: Callable[[], float] = time.monotonic
    backoff: BackoffRule = field(default=BackoffRule(base=0.8, factor=2, jitter=1, cap=30))
    silence: float = 150.0


class InformerPhase(StrEnum):
    """The current activity of an informer."""

    LISTING = "listing"
    WATCHING = "watching"
    WAITING = "waiting"
    """After a failure, until the next try."""


@dataclass(frozen=True, slots=True)
class InformerStatus:
    """The phase, and the failure since the last success, for readiness checks and users."""

    phase: InformerPhase
    error: Exception | None = None


class _EndedEarly(Exception):
    """Raised when the server closes a watch at once, without a single event."""


class _StreamFailed(Exception):
    """Raised for an ERROR event that a resumed watch would likely receive again."""


class Informer(Generic[T]):
    """Follows one resource for one handler. `run()` is the task; everything else is for reading.

    Attributes:
        synced: set once the first complete list has been reported to the handler, or once it is known that the cluster
            does not serve this kind (no such CRD); never cleared.
        status: the current status.
    """

    def __init__(
        self,
        client: ApiClient,
        resource: Listed[T],
        handler: ResourceEventHandler[T],
        *,
        timing: Timing | None = None,
        optional: bool = False,
    ) -> None:
        """An `optional` kind that the cluster does not serve causes no warning."""
        self._client = client
        self._resource = resource
        self._optional = optional
        self._timing = timing or Timing()
        self._decoder = Decoder(resource.type)
        self._store = Store(handler)
        self._backoff = Backoff(self._timing.backoff, random=self._timing.random)
        self._resume_at: str | None = None
        self._progressed = True
        self._has_worked = False
        self._in_stream = False
        self._failed_in_stream = False
        self._unreadable: dict[str, str] = {}
        self._until_refreshed: asyncio.Timeout | None = None
        self._refresh_requested = False
        self._refreshed = asyncio.Event()
        self.synced = asyncio.Event()
        self.status = InformerStatus(InformerPhase.LISTING)

    def get(self, key: str) -> T | None:
        """The object with this `namespace/name` (or name, when not namespaced)."""
        return self._store.get(key)

    def list(self) -> Iterable[T]:
        """All objects as last seen, in no particular order. Do not await while iterating."""
        return self._store.list()

    async def run(self) -> None:
        """List and watch until cancelled."""
        while True:
            try:
                async with asyncio.timeout(None) as self._until_refreshed:
                    await self._step()
            except TimeoutError:
                self._resume_at, self._in_stream = None, False

    async def refresh(self) -> None:
        """End the current request and list again; returns when the handler has received all present objects.

        A watch may be late, or half open, without any sign. Must be called once, while `run` is running.
        """
        self._refresh_requested = True
        if self._until_refreshed is not None:
            self._until_refreshed.reschedule(asyncio.get_running_loop().time())
        await self._refreshed.wait()

    async def _step(self) -> None:
        """List if necessary, and follow one watch to its end; on a failure, decide how to continue."""
        try:
            if self._resume_at is None:
                self._enter(InformerPhase.LISTING)
                await self._list()
            self._enter(InformerPhase.WATCHING)
            await self._watch(self._resume_at)
        except (ApiError, GarbageError, _EndedEarly, _StreamFailed) as error:
            await self._recover(error)

    async def _list(self) -> None:
        """Read all pages, and pass the differences to the handler.

        Until the first list is complete, nothing acts on its objects. So the handler gets each page at once, while the
        server prepares the next; this shortens the start with thousands of objects. Deletions that an aborted list
        missed come at the end. Raises ApiError or GarbageError; the handler has then received such pages at most.
        """
        # A list that began before `refresh` was called may be older than the call, so it does not count.
        refreshes, known = self._refresh_requested, bool(self._store.list())
        anew = not known or not self.synced.is_set()
        items: list[T] = []
        keep: set[str] = set()
        page = await self._page("")
        while True:
            items += page.items
            for item in page.unreadable:
                keep.add(self._note_unreadable(item))
            coming = asyncio.ensure_future(self._page(page.next_page)) if page.next_page else None
            if anew:
                try:
                    await self._in_turns(map(self._store.put, page.items))
                except asyncio.CancelledError:
                    if coming is not None:
                        coming.cancel()
                    raise
            if coming is None:
                break
            page = await coming
        if known:
            await self._in_turns(self._store.replace(items, keep=keep))
        self._unreadable = {key: self._unreadable[key] for key in keep}
        # Set last, because a list that was aborted has not reported everything up to its version.
        self._resume_at = page.resource_version
        if refreshes:
            self._refreshed.set()
        if not self.synced.is_set():
            log.info("%s: synced, %d objects", self._resource.name, len(items))
            self.synced.set()

    async def _page(self, continued: str) -> ListPage[T]:
        """One page of the list: the first, or the one that the previous page named."""
        params = {**self._selectors(), "limit": str(PAGE_SIZE)}
        if continued:
            params["continue"] = continued
        try:
            reply = await self._client.get(self._resource.path, params=params)
        except NotFound:
            if self._resource.path.startswith("/apis/"):
                self.synced.set()  # a kind that this cluster does not serve (yet) delays no other work
            raise
        return self._decoder.page(reply.body)

    async def _watch(self, resume_at: str | None) -> None:
        """Follow one watch to its end, which is normal. Raises the errors from which `run` recovers."""
        timing = self._timing
        params = {
            **self._selectors(),
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": resume_at or "",
            "timeoutSeconds": str(int(_SHORTEST_WATCH * (1 + timing.random()))),
        }
        async with await self._client.stream(self._resource.path, params=params, silence=timing.silence) as chunks:
            self._in_stream = True
            if not self._failed_in_stream:
                self._progress()
            await self._follow(chunks)
        self._in_stream = False
        self._progress()

    async def _follow(self, chunks: AsyncIterator[bytes]) -> None:
        """Act on all lines of a watch until it ends or falls silent.

        A watch that was silent from the start may be at a version that the server, restored from a backup, has yet to
        reach. It would stay silent until then, so the kind is listed next.
        """
        opened = self._timing.clock()
        count = 0
        lines = Lines()
        try:
            async for chunk in chunks:
                if batch := lines.feed(chunk):
                    count += len(batch)
                    await self._in_turns(self._take(batch))
                    self._progress()
        except TimedOut as error:
            log.debug("%s: %s", self._resource.name, error)
            if not count:
                self._resume_at = None
            return
        if not count and self._timing.clock() - opened < _EARLY_SECONDS:
            raise _EndedEarly("the watch ended at once")

    def _take(self, lines: Iterable[bytes]) -> Iterator[None]:
        """Act on lines of a watch in steps; a long line takes two, one to decode it and one to act on it."""
        for line in lines:
            frame = self._decoder.frame(line)
            if len(line) > _LONG_LINE:
                yield
            self._act(frame)
            yield

    def _act(self, frame: WatchChange[T] | Bookmark | StreamError | Unreadable) -> None:
        # The version is set after the handler was called: if an error comes between, the event arrives again.
        match frame:
            case WatchChange(type="DELETED", object=obj):
                self._store.remove(obj.metadata.key, obj)
                self._unreadable.pop(obj.metadata.key, None)
                self._resume_at = obj.metadata.resource_version
            case WatchChange(object=obj):
                self._store.put(obj)
                self._resume_at = obj.metadata.resource_version
            case Bookmark(resource_version=version):
                self._resume_at = version
            case Unreadable() as item:
                key = self._note_unreadable(item)
                if item.type == "DELETED":
                    self._store.remove(key)
                    del self._unreadable[key]
                self._resume_at = item.identity.resource_version
            case StreamError(error=error):
                raise error if isinstance(error, (Gone, TooManyRequests)) else _StreamFailed(str(error)) from error

    def _selectors(self) -> dict[str, str]:
        resource = self._resource
        selectors = {"fieldSelector": resource.field_selector, "labelSelector": resource.label_selector}
        return {name: value for name, value in selectors.items() if value}

    async def _in_turns(self, steps: Iterable[object]) -> None:
        """Take the steps, and let other tasks run after every few milliseconds."""
        clock = self._timing.clock
        count, began = 0, clock()
        for _ in steps:
            count += 1
            if count >= _STEPS_PER_TURN or clock() - began >= _TURN_SECONDS:
                await asyncio.sleep(0)
                count, began = 0, clock()

    def _note_unreadable(self, item: Unreadable) -> str:
        """Log once per version that an object is unreadable, so that its previous version is kept. Returns its key."""
        identity, key = item.identity, item.identity.key
        if self._unreadable.get(key) != identity.resource_version:
            self._unreadable[key] = identity.resource_version
            log.error("%s: %s is not readable, its change is left out: %s", self._resource.name, key, item.problem)
        return key

    def _enter(self, phase: InformerPhase) -> None:
        self.status = InformerStatus(phase, self.status.error)

    def _progress(self) -> None:
        """Note that the watch works, so that earlier failures are over.

        An opened watch proves this only if the last failure did not occur in a stream; otherwise its first event does.
        """
        self._progressed = True
        self._backoff.reset()
        if self.status.error is not None:
            log.info("%s: works %s", self._resource.name, "again" if self._has_worked else "now")
            self.status = InformerStatus(InformerPhase.WATCHING)
        self._has_worked = True

    async def _recover(self, error: Exception) -> None:
        """Decide how to continue after a failure, and wait for the backoff."""
        if _needs_list(error):
            self._resume_at = None
        self._failed_in_stream, self._in_stream = self._in_stream, False
        if isinstance(error, Gone) and self._progressed:
            log.debug("%s: %s", self._resource.name, error)
            self._progressed = False
            return
        self._progressed = False
        if not _same(error, self.status.error):
            usual = self._optional and isinstance(error, NotFound)
            if usual:
                log.info("%s: the cluster does not serve this kind; asked again until it does", self._resource.name)
            else:
                log.warning("%s: %s", self._resource.name, error)
        self.status = InformerStatus(InformerPhase.WAITING, error)
        wanted = error.retry_after if isinstance(error, ApiError) else None
        await self._timing.sleep(self._backoff.delay() if wanted is None else max(wanted, self._timing.backoff.base))


def _needs_list(error: Exception) -> bool:
    """Whether the watch cannot be resumed at its last version."""
    if isinstance(error, (Gone, Rejected, NotFound, TimedOut, GarbageError, _StreamFailed)):
        return True
    return isinstance(error, ApiError) and error.status == 504  # "Too large resource version", after a restore


def _same(one: Exception, other: Exception | None) -> bool:
    """Whether two failures are of the same kind, which is logged once."""
    return type(one) is type(other) and getattr(one, "status", 0) == getattr(other, "status", 0)
