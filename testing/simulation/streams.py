"""One watch of a process in a simulation: the server's events, with the delay of the network.

The server's end reads its log a while after something has changed, and the events travel for a while; so watches of
different kinds are behind by different times, and one watch delivers everything in order. A watch ends when its time is
up, breaks off, or falls silent without a sign.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from math import inf
from typing import Protocol, Self

from muster.operator.kube.errors import TimedOut, Unreachable, error_from_response
from muster.sandbox.errors import StatusError
from muster.sandbox.registry import stored_as
from muster.sandbox.watching import ERROR, Watch, WatchEvent

from .loop import Owner, SimulatedLoop
from .server import Answer, Request, SimulatedServer, line, refused

_BOOKMARK_SECONDS = 60.0
_LIFETIME = 1800.0
_OPENS_WITHIN_SECONDS = 1.0
"""Longer than a request and its answer travel in calm weather."""


CarryOut = Callable[[Request], Answer]


class Record(Protocol):
    """A recorder of everything that has to be the same with the same seed."""

    def __call__(self, line: str, *bodies: bytes) -> None:
        """Record a line, which traces show, and the bodies of the messages that it is about."""


class Way(Protocol):
    """The connection of a process to the server, over which its watches travel.

    Attributes:
        server, loop, backbone: the server, and the loop and owner of messages in transit.
        record: receives every message that arrives.
        silent: whether all messages are lost.
        streams: the watches that are open.
        readers: the watches that are being read or opened.
    """

    server: SimulatedServer
    loop: SimulatedLoop
    backbone: Owner
    record: Record
    silent: bool
    streams: dict[SimulatedStream, None]
    readers: dict[SimulatedStream, None]

    async def exchange(
        self, request: Request, may_send: Callable[[], bool] | None = None, carry_out: CarryOut | None = None
    ) -> Answer:
        """A request and its answer."""
        ...

    def travel(self) -> float:
        """The travel time of a message."""
        ...

    def lag(self) -> float:
        """The time until a watch notices a change."""
        ...


class SimulatedStream:
    """A watch: a context, and in it an iterator of chunks of bytes."""

    def __init__(self, transport: Way, request: Request, silence: float) -> None:
        self._transport = transport
        self._request = request
        self._silence = silence
        self._chunks: deque[bytes] = deque()
        self._arrival: asyncio.Future[None] | None = None
        self._ended = False
        self._broken = False
        self._muted = False
        self._looking = False
        self._asked_at = inf
        self._opened = False
        self._last = 0.0
        self._open = ExitStack()
        self._watch: Watch | None = None

    async def __aenter__(self) -> Self:
        self._asked_at = self._transport.loop.time()
        self._transport.readers[self] = None
        try:
            async with asyncio.timeout(self._silence):
                opened = await self._transport.exchange(self._request, carry_out=self._begin)
            if not opened.good:
                raise error_from_response(opened.status, opened.body, opened.retry_after)
        except TimeoutError:
            self._give_up()
            raise TimedOut("the API server did not answer in time") from None
        except BaseException:
            self._give_up()
            raise
        self._opened = True
        return self

    async def __aexit__(self, *_: object) -> None:
        self._transport.readers.pop(self, None)
        self.leave()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        if not self._chunks and not self._ended and not self._broken:
            self._arrival = self._transport.loop.create_future()
            try:
                async with asyncio.timeout(self._silence):
                    await self._arrival
            except TimeoutError:
                raise TimedOut("the watch fell silent") from None
            finally:
                self._arrival = None
        if self._chunks:
            return self._chunks.popleft()
        if self._broken:
            raise Unreachable("connection broke")
        raise StopAsyncIteration

    @property
    def half_open(self) -> bool:
        """Whether its reader waits without result: the server's end is closed, or never answered."""
        is_late = not self._opened and self._transport.loop.time() > self._asked_at + _OPENS_WITHIN_SECONDS
        return self._muted or is_late

    def break_off(self) -> None:
        """Break the connection, so that both ends know."""
        self._broken = True
        self._chunks.clear()
        self.leave()
        self._wake()

    def mute(self) -> None:
        """Leave the connection half open: the server's end is closed, and the client's end does not know."""
        self._muted = True
        self.leave()

    def leave(self) -> None:
        """Close the server's end."""
        self._open.close()
        self._transport.streams.pop(self, None)

    def _give_up(self) -> None:
        """Fail a watch that could not be opened."""
        self._transport.readers.pop(self, None)
        self.mute()

    # The server's end.

    def _begin(self, request: Request) -> Answer:
        """Handle the request at the server."""
        transport = self._transport
        try:
            kind, watch = transport.server.watch(request)
        except StatusError as error:
            return refused(error)
        if self._muted:
            return Answer(200, b"")
        self._watch = watch
        self._open.enter_context(transport.server.store.ledger.listening(self._changed, stored_as(kind)))
        transport.streams[self] = None
        self._send(watch.start())
        lifetime = float(self._request.query.get("timeoutSeconds") or _LIFETIME)
        later, context = transport.loop.call_later, transport.backbone.context
        self._open.callback(later(lifetime, self._time_is_up, context=context).cancel)
        self._bookmark_later()
        return Answer(200, b"")

    def _changed(self) -> None:
        if not self._looking:
            self._looking = True
            self._transport.loop.call_later(self._transport.lag(), self._look, context=self._transport.backbone.context)

    def _look(self) -> None:
        self._looking = False
        if self in self._transport.streams and self._watch is not None:
            self._send(self._watch.poll())

    def _bookmark_later(self) -> None:
        transport = self._transport
        timer = transport.loop.call_later(_BOOKMARK_SECONDS, self._bookmark, context=transport.backbone.context)
        self._open.callback(timer.cancel)

    def _bookmark(self) -> None:
        if self._watch is not None:
            self._send([*self._watch.poll(), self._watch.bookmark()])
            self._bookmark_later()

    def _send(self, events: list[WatchEvent]) -> None:
        """Send events, none of which overtakes an earlier one."""
        if not events:
            return
        if self._transport.silent:
            self.mute()
            return
        self._travel(b"".join(map(line, events)))
        if events[-1].type == ERROR:
            self._time_is_up()

    def _time_is_up(self) -> None:
        self._travel(b"")
        self.leave()

    def _travel(self, chunk: bytes) -> None:
        transport = self._transport
        self._last = max(self._last, transport.loop.time() + transport.travel())
        transport.loop.call_at(self._last, self._arrived, chunk, context=transport.backbone.context)

    # This end.

    def _arrived(self, chunk: bytes) -> None:
        if self._muted or self._broken:
            return
        if chunk:
            self._transport.record(f"{self._request.sender} sees {self._request.path} {len(chunk)}", chunk)
            self._chunks.append(chunk)
        else:
            self._ended = True
        self._wake()

    def _wake(self) -> None:
        if self._arrival is not None and not self._arrival.done():
            self._arrival.set_result(None)
