"""Connections to one HTTP/1.1 server, kept open and used again: the fast way for many small requests.

`transport` sends all requests over it that need no proxy and are answered whole; streams go through aiohttp. It costs a
tenth of the CPU time that aiohttp takes for a Binding, which was a third of all that Muster needed for a pod.

A connection carries one request at a time, so there are as many as requests at a time. What goes wrong is raised as
OSError, among them ssl.SSLError and TimeoutError, or as `NoAnswerError`.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import deque
from typing import TYPE_CHECKING, NamedTuple, cast

import aiohappyeyeballs

from .http_answer import Answer, AnswerReader, NoAnswerError

if TYPE_CHECKING:
    from collections.abc import Callable

    from aiohappyeyeballs import AddrInfoType

_CONNECT_SECONDS = 10.0
_NEXT_ADDRESS_AFTER = 0.25
_IDLE_SECONDS = 15.0
_BUFFER_BYTES = 1 << 16


class Server(NamedTuple):
    """Where to connect, and the name that the certificate must have."""

    host: str
    port: int
    name: str


class DisconnectedError(ConnectionError):
    """The server closed the connection without a word of an answer."""


class Pool:
    """Connections to one server. To be made, used and closed on one running event loop."""

    def __init__(self, server: Server, *, make_socket: Callable[[AddrInfoType], socket.socket]) -> None:
        self._server = server
        self._make_socket = make_socket
        # Held because in Python 3.11 asking for the running loop is a system call.
        self._loop = asyncio.get_running_loop()
        self._tls: ssl.SSLContext | None = None
        self._lines: set[_Line] = set()
        self._idle: deque[_Line] = deque()
        self._buffer = bytearray(_BUFFER_BYTES)
        self._closed = False

    async def exchange(self, request: bytes, *, tls: ssl.SSLContext | None, repeatable: bool, within: float) -> Answer:
        """Send a request, head and body, and read the answer, all `within` so many seconds.

        A connection that was opened with another TLS context is not used. A server may close a connection at the
        moment that it is used again: then a request that is `repeatable` is sent once more on a new one.
        """
        if tls is not self._tls:
            self._tls = tls
            self._close_idle()
        line = self._take_idle()
        if line is not None:
            try:
                return await self._exchange_on(line, request, within)
            except DisconnectedError:
                if not repeatable:
                    raise
        deadline = self._loop.time() + within
        async with asyncio.timeout(min(within, _CONNECT_SECONDS)):
            line = await self._connect(tls)
        return await self._exchange_on(line, request, deadline - self._loop.time())

    @property
    def open_connections(self) -> int:
        """How many there are, used or idle."""
        return len(self._lines)

    async def close(self) -> None:
        """Close all connections. Requests under way fail."""
        self._closed = True
        lines = tuple(self._lines)
        for line in lines:
            line.abort()
        await asyncio.gather(*(line.ended for line in lines))

    async def _exchange_on(self, line: _Line, request: bytes, within: float) -> Answer:
        alarm = self._loop.call_later(within, line.expire)
        try:
            answer = await line.exchange(request)
        except BaseException:
            line.abort()
            raise
        finally:
            alarm.cancel()
        if answer.reusable and line.tls is self._tls and not self._closed:
            line.idle_since = self._loop.time()
            self._idle.append(line)
        else:
            line.close()
        return answer

    def _take_idle(self) -> _Line | None:
        """The connection used last that is still open; those that lie idle for long are closed."""
        oldest = self._loop.time() - _IDLE_SECONDS
        while self._idle and self._idle[0].idle_since < oldest:
            self._idle.popleft().close()
        while self._idle:
            line = self._idle.pop()
            if line.is_open:
                return line
        return None

    def _close_idle(self) -> None:
        while self._idle:
            self._idle.pop().close()

    async def _connect(self, tls: ssl.SSLContext | None) -> _Line:
        if self._closed:
            raise ConnectionError("the pool is closed")
        found = await self._loop.getaddrinfo(self._server.host, self._server.port, type=socket.SOCK_STREAM)
        connected = await aiohappyeyeballs.start_connection(
            found, happy_eyeballs_delay=_NEXT_ADDRESS_AFTER, socket_factory=self._make_socket
        )
        try:
            _, line = await self._loop.create_connection(
                lambda: _Line(self._loop, tls, self._lines, self._buffer),
                sock=connected,
                ssl=tls,
                server_hostname=self._server.name if tls is not None else None,
            )
        except BaseException:
            connected.close()
            raise
        return line


class _Line(asyncio.BufferedProtocol):
    """One connection. It is in `lines` from its opening to its end.

    What comes is put into `buffer`, which all lines share, and read from there at once: loops that make a bytes object
    of each piece take a quarter of a megabyte from the system for it.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, tls: ssl.SSLContext | None, lines: set[_Line], buffer: bytearray
    ) -> None:
        self.tls = tls
        self.idle_since = 0.0
        self.is_open = False
        self.ended: asyncio.Future[None] = loop.create_future()
        self._loop = loop
        self._lines = lines
        self._buffer = buffer
        self._transport: asyncio.Transport | None = None
        self._waiting: asyncio.Future[Answer] | None = None
        self._reader = AnswerReader()
        self._heard = False

    async def exchange(self, request: bytes) -> Answer:
        """Send the request and read the answer. Not to be called while one is under way."""
        if self._transport is None or not self.is_open:
            raise DisconnectedError("the connection is closed")
        self._waiting = self._loop.create_future()
        self._reader = AnswerReader()
        self._heard = False
        self._transport.write(request)
        return await self._waiting

    def expire(self) -> None:
        """The answer is late: whoever waits gets a TimeoutError."""
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(TimeoutError())

    def close(self) -> None:
        """End the connection in order."""
        self.is_open = False
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """End the connection at once."""
        self.is_open = False
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by the loop."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is none by its class
        self.is_open = True
        self._lines.add(self)

    def get_buffer(self, sizehint: int) -> bytearray:
        """Called by the loop, which puts what has come there and calls `buffer_updated` at once."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Called by the loop."""
        waiting = self._waiting
        if waiting is None or waiting.done():
            self.abort()  # nothing was asked
            return
        self._heard = True
        try:
            answer = self._reader.feed(self._buffer[:nbytes])
        except NoAnswerError as error:
            waiting.set_exception(error)
            return
        if answer is not None:
            waiting.set_result(answer)

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by the loop, once."""
        self.is_open = False
        self._lines.discard(self)
        self.ended.set_result(None)
        waiting = self._waiting
        if waiting is None or waiting.done():
            return
        if exc is None and self._heard:
            try:
                waiting.set_result(self._reader.end())
            except NoAnswerError as error:
                waiting.set_exception(error)
        elif exc is not None and (self._heard or isinstance(exc, ssl.SSLError)):
            waiting.set_exception(exc)
        else:
            waiting.set_exception(DisconnectedError(str(exc or "the server closed the connection")))
