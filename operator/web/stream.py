"""News for open pages: a loop that watches the cluster, and server-sent events that report a change.

An event carries a number and no data of the cluster: the page loads itself again. A stream ends before the server would
end it, and the browser opens the next one by itself.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from http import HTTPStatus

from aiohttp import ClientConnectionResetError, web

from .changes import ChangeLog, Glance, RecentChange
from .cluster import ClusterState, FollowedCluster

_STREAM_SECONDS = 25.0
"""Less than a request may take, see `serving.Bounds`."""
_SILENT_SECONDS = 8.0
MOST_STREAMS = 16
"""Streams at once, so that they never take all connections of a server that has other pages."""
_RETRY_MILLISECONDS = 2000

log = logging.getLogger(__name__)


class Ticker:
    """Looks at a cluster again and again, and wakes callers that wait for a change.

    Attributes:
        known: what was seen when something had changed last.
    """

    def __init__(
        self, cluster: FollowedCluster, changes: ChangeLog, *, wall: Callable[[], float], every: float
    ) -> None:
        """`wall` gives seconds since the epoch, `every` is how many seconds are between two looks."""
        self._cluster = cluster
        self._changes = changes
        self._wall = wall
        self._every = every
        self._changed = asyncio.Event()
        self._looking = asyncio.Lock()
        self.known = ClusterState((), (), cluster.kinds, {})

    @property
    def version(self) -> int:
        """See `ChangeLog.version`."""
        return self._changes.version

    async def look(self) -> None:
        """Look now. Comparing is done in a thread: of a hundred thousand pods it takes a while."""
        async with self._looking:
            known = ClusterState.of(self._cluster)
            glance, found = await asyncio.to_thread(self._compared, known)
            if found is not None:
                self._changes.take_in(glance, found)
                self.known = known
                self._changed.set()
                self._changed = asyncio.Event()

    def _compared(self, known: ClusterState) -> tuple[Glance, list[RecentChange] | None]:
        glance = Glance.of(known)
        return glance, self._changes.differences(glance, self._wall())

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            try:
                await self.look()
            except Exception:  # a look that fails must not be the last one
                log.exception("Unable to compare the cluster with how it was")
            await asyncio.sleep(self._every)

    async def changed_since(self, version: int, *, within: float) -> bool:
        """Whether anything is not as it was at that version, or stops being so within so many seconds."""
        if self._changes.version == version:
            try:
                await asyncio.wait_for(self._changed.wait(), within)
            except TimeoutError:
                return False
        return True


class StreamHandler:
    """The handler of `/stream`."""

    def __init__(self, ticker: Ticker) -> None:
        self._ticker = ticker
        self._open = 0

    async def __call__(self, request: web.Request) -> web.StreamResponse:
        """Send the changes since the version from which the page was made."""
        if self._open >= MOST_STREAMS:
            return web.Response(status=HTTPStatus.SERVICE_UNAVAILABLE, text="too many pages are open\n")
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        self._open += 1
        try:
            await self._tell(response, _version_in(request))
            await response.write_eof()
        except (ClientConnectionResetError, ConnectionResetError):
            pass  # the page was closed
        finally:
            self._open -= 1
        return response

    async def _tell(self, response: web.StreamResponse, seen: int) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + _STREAM_SECONDS
        await response.write(f"retry: {_RETRY_MILLISECONDS}\n\n".encode())
        while (left := end - loop.time()) > 0:
            if await self._ticker.changed_since(seen, within=min(left, _SILENT_SECONDS)):
                seen = self._ticker.version
                await response.write(f"id: {seen}\nevent: changed\ndata: {seen}\n\n".encode())
            else:
                await response.write(b": nothing new\n\n")


def _version_in(request: web.Request) -> int:
    text = request.headers.get("Last-Event-ID") or request.query.get("at", "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else 0
