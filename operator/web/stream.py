"""Notifications for open pages: a ticker that compares the cluster with its previous state, and server-sent events.

An event carries a version number and no data of the cluster; the page then reloads itself. A stream ends before the
server would end it, and the browser opens the next one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from http import HTTPStatus

from aiohttp import ClientConnectionResetError, web

from .change_log import ChangeLog, RecentChange, StateIndex
from .cluster import ClusterState, FollowedCluster

_STREAM_SECONDS = 25.0
"""Less than the longest duration of a request, see `serving.Bounds`."""
_SILENT_SECONDS = 8.0
MOST_STREAMS = 16
"""The most streams at once, so that they never use up the connections of a server that has other pages."""
_RETRY_MILLISECONDS = 2000

log = logging.getLogger(__name__)


class Ticker:
    """Reads a cluster's state periodically, and wakes callers that wait for a change.

    Attributes:
        state: the latest state that differed from the one before.
    """

    def __init__(
        self, cluster: FollowedCluster, changes: ChangeLog, *, wall: Callable[[], float], every: float
    ) -> None:
        """`wall` returns seconds since the epoch; `every` is the number of seconds between two polls."""
        self._cluster = cluster
        self._changes = changes
        self._wall = wall
        self._every = every
        self._changed = asyncio.Event()
        self._polling = asyncio.Lock()
        self.state = ClusterState((), (), cluster.kinds, {})

    @property
    def version(self) -> int:
        """See `ChangeLog.version`."""
        return self._changes.version

    async def poll(self) -> None:
        """Read and compare the state now. A thread compares, because a hundred thousand pods take a while."""
        async with self._polling:
            state = ClusterState.of(self._cluster)
            index, found = await asyncio.to_thread(self._compared, state)
            if found is not None:
                self._changes.record(index, found)
                self.state = state
                self._changed.set()  # wakes the current waiters; later ones wait for the next change
                self._changed = asyncio.Event()

    def _compared(self, state: ClusterState) -> tuple[StateIndex, list[RecentChange] | None]:
        index = StateIndex.of(state)
        return index, self._changes.differences(index, self._wall())

    async def run(self) -> None:
        """Poll until cancelled."""
        while True:
            try:
                await self.poll()
            except Exception:  # polling continues after an error
                log.exception("Unable to compare the cluster with its previous state")
            await asyncio.sleep(self._every)

    async def changed_since(self, version: int, *, within: float) -> bool:
        """Wait up to `within` seconds for a version other than `version`; returns whether there is one."""
        if self._changes.version == version:
            try:
                await asyncio.wait_for(self._changed.wait(), within)
            except TimeoutError:
                return False
        return True


class StreamHandler:
    """The handler of `/stream`, which counts the open streams."""

    def __init__(self, ticker: Ticker) -> None:
        self._ticker = ticker
        self._open = 0

    async def __call__(self, request: web.Request) -> web.StreamResponse:
        """Send an event for each change after the version that the page shows."""
        if self._open >= MOST_STREAMS:
            return web.Response(status=HTTPStatus.SERVICE_UNAVAILABLE, text="too many pages are open\n")
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        self._open += 1
        try:
            await self._send_changes(response, _version_in(request))
            await response.write_eof()
        except (ClientConnectionResetError, ConnectionResetError):
            pass  # the page was closed
        finally:
            self._open -= 1
        return response

    async def _send_changes(self, response: web.StreamResponse, seen: int) -> None:
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
