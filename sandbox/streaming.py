"""Watches over HTTP: one line of JSON per event, until time is up, the client leaves or the sandbox closes."""

import asyncio
from collections.abc import Sequence

import msgspec
from aiohttp import web

from muster.sandbox.registry import Kind, stored_as
from muster.sandbox.responses import JSON, Form, table_metadata
from muster.sandbox.store import ObjectStore
from muster.sandbox.watching import ERROR, Watch, WatchEvent

LIFETIME_SECONDS = 1800.0
"""The duration of a watch by default."""

_BOOKMARK_SECONDS = 60.0
_LAST_BOOKMARK_SECONDS = 2.0
"""A watcher that takes bookmarks gets one this long before its time is up, so that it need not list again."""


class Streams:
    """The open watches of one sandbox."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._closed = False
        self._wakers: dict[asyncio.Event, None] = {}

    def close(self) -> None:
        """Ends all watches, and every later one at once."""
        self._closed = True
        for waker in self._wakers:
            waker.set()

    async def serve(
        self, request: web.BaseRequest, kind: Kind, watch: Watch, *, lifetime: float, bookmarks: bool
    ) -> web.StreamResponse:
        """Answers a request with the events of a watch for at most `lifetime` seconds."""
        stream = _Stream(self._store, kind, Form.of(request))
        waker = asyncio.Event()
        self._wakers[waker] = None
        try:
            with self._store.ledger.listening(waker.set, stored_as(kind)):
                await stream.open(request)
                await stream.send(watch.start())
                await self._follow(watch, stream, waker, lifetime, bookmarks=bookmarks)
        finally:
            del self._wakers[waker]
        return stream.response

    async def _follow(
        self, watch: Watch, stream: "_Stream", waker: asyncio.Event, lifetime: float, *, bookmarks: bool
    ) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + lifetime
        bookmark_at = min(loop.time() + _BOOKMARK_SECONDS, end - _LAST_BOOKMARK_SECONDS) if bookmarks else end
        while not (self._closed or stream.failed):
            try:
                async with asyncio.timeout_at(min(end, bookmark_at)):
                    await waker.wait()
            except TimeoutError:
                if loop.time() >= end:
                    return
                await stream.send([*watch.poll(), watch.bookmark()])
                bookmark_at += _BOOKMARK_SECONDS
                continue
            waker.clear()
            await stream.send(watch.poll())


class _Stream:
    """The response of one watch."""

    def __init__(self, store: ObjectStore, kind: Kind, form: Form) -> None:
        self.response = web.StreamResponse(headers={"Content-Type": JSON, "Cache-Control": "no-cache, private"})
        self.failed = False
        self._store = store
        self._kind = kind
        self._form = form
        self._with_headers = True

    async def open(self, request: web.BaseRequest) -> None:
        """Sends the head of the response, so that the client knows that it watches."""
        self.response.enable_chunked_encoding()
        await self.response.prepare(request)

    async def send(self, events: Sequence[WatchEvent]) -> None:
        """Writes all events in one go; notes when the last of them is an error, which ends a watch."""
        if events:
            await self.response.write(b"".join([self._line(event) for event in events]))
            self.failed = events[-1].type == ERROR

    def _line(self, event: WatchEvent) -> bytes:
        return b'{"type":"%b","object":%b}\n' % (event.type.encode(), self._body(event))

    def _body(self, event: WatchEvent) -> bytes:
        if event.type == ERROR or not self._form.table:
            return event.entry.whole if event.entry else msgspec.json.encode(event.obj)
        entries = [event.entry] if event.entry else []
        meta = table_metadata(event.entry.obj if event.entry else event.obj or {})
        now, headers = self._store.sources.clock(), self._with_headers
        self._with_headers = False
        return msgspec.json.encode(self._form.table_of(self._kind, entries, now, meta, headers=headers))
