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
"""For each page etcd counts all that is left behind it, so small pages of many pods cost it more than the pods do.
One of plain pods is decoded in some ten milliseconds."""
_SHORTEST_WATCH = 300.0
_EARLY_SECONDS = 1.0
_BREATH_EVENTS = 200
_BREATH_SECONDS = 0.005
_LONG_LINE = 1 << 18


@dataclass(frozen=True, slots=True)
class Listed(Generic[T]):
    """The resource to follow.

    Attributes:
        path: of the list, e.g. `/api/v1/pods`.
        type: the struct to decode; its fields are all that is kept.
        field_selector, label_selector: sent to the server. An object that leaves them counts as deleted.
    """

    path: str
    type: type[T]
    field_selector: str = ""
    label_selector: str = ""

    @property
    def name(self) -> str:
        """For logs."""
        selectors = ",".join(filter(None, (self.field_selector, self.label_selector)))
        return f"{self.path}?{selectors}" if selectors else self.path


@dataclass(frozen=True, slots=True)
class Timing:
    """Time and chance, as an informer meets them.

    Attributes:
        sleep, random, clock: injected by tests; `random` gives [0, 1), `clock` seconds.
        backoff: waits between failures.
        silence: seconds without a byte after which a watch counts as dead. Bookmarks come about every minute.
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
    """For readiness and people: the phase, and the failure that has not been overcome yet."""

    phase: InformerPhase
    error: Exception | None = None


class _EndedEarly(Exception):
    """The server closed a watch at once, without a single event."""


class _StreamFailed(Exception):
    """An ERROR event that a resumed watch would likely meet again."""


class Informer(Generic[T]):
    """Follows one resource for one handler. `run()` is the task; everything else is for reading.

    Attributes:
        synced: set once the first complete list has been reported to the handler, or once it is known that the cluster
            does not serve this kind (no such CRD); never cleared.
        status: see InformerStatus.
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
        self._inside = False
        self._failed_inside = False
        self._told_unreadable: dict[str, str] = {}
        self._until_refreshed: asyncio.Timeout | None = None
        self._outdated = False
        self._refreshed = asyncio.Event()
        self.synced = asyncio.Event()
        self.status = InformerStatus(InformerPhase.LISTING)

    def get(self, key: str) -> T | None:
        """The object with this `namespace/name` (or name, when not namespaced)."""
        return self._store.get(key)

    def list(self) -> Iterable[T]:
        """All objects as last seen, in no order. Do not await while iterating."""
        return self._store.list()

    async def run(self) -> None:
        """List and watch until cancelled."""
        while True:
            try:
                async with asyncio.timeout(None) as self._until_refreshed:
                    await self._go_on()
            except TimeoutError:
                self._resume_at, self._inside = None, False

    async def refresh(self) -> None:
        """End the current request and list again; returns when all present objects have been reported to the handler.

        A watch may be late, or half open, without any sign. Must be called once, while `run` runs.
        """
        self._outdated = True
        if self._until_refreshed is not None:
            self._until_refreshed.reschedule(asyncio.get_running_loop().time())
        await self._refreshed.wait()

    async def _go_on(self) -> None:
        """List, if that is needed, and follow one watch; or find out what to do about what went wrong."""
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
        server prepares the next; this shortens the start with thousands of objects. The deletions that an aborted list
        missed come at the end. Raises ApiError or GarbageError, with nothing but such pages passed on.
        """
        # A list that began before `refresh` was called may be older than the call, and does not answer it.
        refreshes, known = self._outdated, bool(self._store.list())
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
                    await self._breathing(map(self._store.put, page.items))
                except asyncio.CancelledError:
                    if coming is not None:
                        coming.cancel()
                    raise
            if coming is None:
                break
            page = await coming
        if known:
            await self._breathing(self._store.replace(items, keep=keep))
        self._told_unreadable = {key: self._told_unreadable[key] for key in keep}
        # Set last: a list that was given up halfway has not reported everything up to its version.
        self._resume_at = page.resource_version
        if refreshes:
            self._refreshed.set()
        if not self.synced.is_set():
            log.info("%s: synced, %d objects", self._resource.name, len(items))
            self.synced.set()

    async def _page(self, continued: str) -> ListPage[T]:
        """One page of the list: the first, or the one that the page before it named."""
        params = {**self._selectors(), "limit": str(PAGE_SIZE)}
        if continued:
            params["continue"] = continued
        try:
            reply = await self._client.get(self._resource.path, params=params)
        except NotFound:
            if self._resource.path.startswith("/apis/"):
                self.synced.set()  # a kind that this cluster does not serve (yet) is nothing to wait for
            raise
        return self._decoder.page(reply.body)

    async def _watch(self, resume_at: str | None) -> None:
        """Follow one watch to its end, which is normal. Raises what `run` recovers from."""
        timing = self._timing
        params = {
            **self._selectors(),
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": resume_at or "",
            "timeoutSeconds": str(int(_SHORTEST_WATCH * (1 + timing.random()))),
        }
        async with await self._client.stream(self._resource.path, params=params, silence=timing.silence) as chunks:
            self._inside = True
            if not self._failed_inside:
                self._progress()
            await self._follow(chunks)
        self._inside = False
        self._progress()

    async def _follow(self, chunks: AsyncIterator[bytes]) -> None:
        """Act on all lines of a watch until it ends or falls silent.

        A watch without even a bookmark may be one at a version that the server, restored from a backup, has yet to
        reach; it would stay silent until then, so the next thing to do is to list.
        """
        opened = self._timing.clock()
        count = 0
        lines = Lines()
        try:
            async for chunk in chunks:
                if batch := lines.feed(chunk):
                    count += len(batch)
                    await self._breathing(self._take(batch))
                    self._progress()
        except TimedOut as error:
            log.debug("%s: %s", self._resource.name, error)
            if not count:
                self._resume_at = None
            return
        if not count and self._timing.clock() - opened < _EARLY_SECONDS:
            raise _EndedEarly("the watch ended at once")

    def _take(self, lines: Iterable[bytes]) -> Iterator[None]:
        """Act on lines of a watch in steps: to read a long one and to act on it are two."""
        for line in lines:
            frame = self._decoder.frame(line)
            if len(line) > _LONG_LINE:
                yield
            self._act(frame)
            yield

    def _act(self, frame: WatchChange[T] | Bookmark | StreamError | Unreadable) -> None:
        # The handler comes before the version: after an error in between, the event arrives again and is not lost.
        match frame:
            case WatchChange(type="DELETED", object=obj):
                self._store.remove(obj.metadata.key, obj)
                self._told_unreadable.pop(obj.metadata.key, None)
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
                    del self._told_unreadable[key]
                self._resume_at = item.identity.resource_version
            case StreamError(error=error):
                raise error if isinstance(error, (Gone, TooManyRequests)) else _StreamFailed(str(error)) from error

    def _selectors(self) -> dict[str, str]:
        resource = self._resource
        selectors = {"fieldSelector": resource.field_selector, "labelSelector": resource.label_selector}
        return {name: value for name, value in selectors.items() if value}

    async def _breathing(self, steps: Iterable[object]) -> None:
        """Take the steps, letting other tasks run every now and then."""
        clock = self._timing.clock
        count, began = 0, clock()
        for _ in steps:
            count += 1
            if count >= _BREATH_EVENTS or clock() - began >= _BREATH_SECONDS:
                await asyncio.sleep(0)
                count, began = 0, clock()

    def _note_unreadable(self, item: Unreadable) -> str:
        """Say once per version that an object is left as it was last seen. Returns its key."""
        identity, key = item.identity, item.identity.key
        if self._told_unreadable.get(key) != identity.resource_version:
            self._told_unreadable[key] = identity.resource_version
            log.error("%s: %s is not readable, its change is left out: %s", self._resource.name, key, item.problem)
        return key

    def _enter(self, phase: InformerPhase) -> None:
        self.status = InformerStatus(phase, self.status.error)

    def _progress(self) -> None:
        """The watch works: what went wrong before is over.

        A watch that opens proves that only if the last failure was not inside one; else its first event does.
        """
        self._progressed = True
        self._backoff.reset()
        if self.status.error is not None:
            log.info("%s: works %s", self._resource.name, "again" if self._has_worked else "now")
            self.status = InformerStatus(InformerPhase.WATCHING)
        self._has_worked = True

    async def _recover(self, error: Exception) -> None:
        """Decide where to go on after a failure, and wait until then."""
        if _needs_list(error):
            self._resume_at = None
        self._failed_inside, self._inside = self._inside, False
        if isinstance(error, Gone) and self._progressed:
            log.debug("%s: %s", self._resource.name, error)
            self._progressed = False
            return
        self._progressed = False
        if not _same(error, self.status.error):
            usual = self._optional and isinstance(error, NotFound)
            log.log(logging.INFO if usual else logging.WARNING, "%s: %s", self._resource.name, error)
        self.status = InformerStatus(InformerPhase.WAITING, error)
        asked = error.retry_after if isinstance(error, ApiError) else None
        await self._timing.sleep(self._backoff.delay() if asked is None else max(asked, self._timing.backoff.base))


def _needs_list(error: Exception) -> bool:
    """Whether the watch cannot go on from where it was."""
    if isinstance(error, (Gone, Rejected, NotFound, TimedOut, GarbageError, _StreamFailed)):
        return True
    return isinstance(error, ApiError) and error.status == 504  # "Too large resource version", after a restore


def _same(one: Exception, other: Exception | None) -> bool:
    """Whether two failures are of the same kind, which is logged once."""
    return type(one) is type(other) and getattr(one, "status", 0) == getattr(other, "status", 0)
