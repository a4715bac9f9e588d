"""Kept connections to one API server, for small requests with small answers: Bindings, Events, status patches.

`transport.Transport` sends requests that have a body here; lists and watches go over aiohttp. A scheduler writes two
such requests per pod, and aiohttp's machinery for one takes longer than deciding the pod.

1. A connection carries one request at a time, and is reused only after a complete answer that keeps it alive.
2. The caller's last check runs in the same step of the event loop as the write to the socket.
3. An idle connection is closed after 15 seconds, before load balancers forget it silently, and when the TLS context
   has been replaced.
"""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, NamedTuple, cast

import httptools
from aiohappyeyeballs import start_connection

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    from aiohappyeyeballs import AddrInfoType

CONNECT_TIMEOUT = 10.0
_IDLE_SECONDS = 15.0
_NEXT_FAMILY_AFTER = 0.25
_FIRST_FINAL = 200
# A peer that vanished silently is noticed after 15 + 3 * 10 seconds.
_KEEPALIVE = {"TCP_KEEPIDLE": 15, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}


class HttpResponse(NamedTuple):
    """An HTTP answer with any status. `date` and `retry_after` are headers, None where absent."""

    status: int
    body: bytes
    date: str | None = None
    retry_after: str | None = None


class ConnectionPool:
    """Connections to `host` and `port`. Make it inside a running event loop, and close it there.

    `context` returns the current TLS context, None for plain HTTP; `server_name` is what certificates are checked
    against, by default the host.
    """

    def __init__(
        self, host: str, port: int, *, context: Callable[[], ssl.SSLContext | None], server_name: str | None = None
    ) -> None:
        self._address = host, port
        self._context = context
        self._server_name = server_name or host
        self._loop = asyncio.get_running_loop()
        self._open = set[_Connection]()
        self._idle: list[_Connection] = []
        self._pruning: asyncio.TimerHandle | None = None

    async def request(
        self, message: bytes, *, within: float, may_send: Callable[[], bool] | None = None
    ) -> HttpResponse:
        """Send one HTTP/1.1 message and return the complete answer, `within` so many seconds in all.

        Raises TimeoutError, and other OSErrors where the connection fails; ConnectionAbortedError if `may_send` is
        False when the connection is ready, and then nothing was sent. When it is cancelled, the connection is closed.
        """
        deadline = self._loop.time() + within
        connection = self._reusable()
        if connection is None:
            async with asyncio.timeout_at(deadline):
                connection = await self._connect()
        if may_send is not None and not may_send():
            self._keep(connection)
            raise ConnectionAbortedError("the request may not be sent any more")
        ending = self._loop.call_at(deadline, connection.time_out)
        try:
            answer = await connection.send(message)
        except BaseException:
            connection.abort()
            raise
        finally:
            ending.cancel()
        if connection.reusable:
            self._keep(connection)
        return answer

    async def close(self) -> None:
        """Close all connections. Requests in flight fail with ConnectionError."""
        if self._pruning is not None:
            self._pruning.cancel()
        for connection in tuple(self._open):
            connection.abort()
        await asyncio.sleep(0)  # so that the event loop closes the sockets

    def _reusable(self) -> _Connection | None:
        """The idle connection that was used last, which the server is the least likely to have closed."""
        if self._idle and self._idle[-1].context is not self._context():
            self._close_idle(lambda _: True)
        return self._idle.pop() if self._idle else None

    def _keep(self, connection: _Connection) -> None:
        connection.idle_since = self._loop.time()
        self._idle.append(connection)
        if self._pruning is None:
            self._prune_later()

    def _prune_later(self) -> None:
        self._pruning = self._loop.call_at(self._idle[0].idle_since + _IDLE_SECONDS, self._prune)

    def _prune(self) -> None:
        now, self._pruning = self._loop.time(), None
        self._close_idle(lambda connection: now - connection.idle_since >= _IDLE_SECONDS)
        if self._idle:
            self._prune_later()

    def _close_idle(self, condition: Callable[[_Connection], bool]) -> None:
        for connection in filter(condition, tuple(self._idle)):
            connection.abort()

    def _drop(self, connection: _Connection) -> None:
        self._open.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)

    async def _connect(self) -> _Connection:
        host, port = self._address
        context = self._context()
        async with asyncio.timeout(CONNECT_TIMEOUT):
            addresses = await self._loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            connected = await start_connection(
                addresses, happy_eyeballs_delay=_NEXT_FAMILY_AFTER, interleave=1, socket_factory=make_socket
            )
            _, connection = await self._loop.create_connection(
                lambda: _Connection(context, self._drop),
                sock=connected,
                ssl=context,
                server_hostname=self._server_name if context is not None else None,
            )
        self._open.add(connection)
        return connection


class _Connection(asyncio.Protocol):
    """One connection; also receives httptools' callbacks.

    Attributes:
        context: the TLS context that it was opened with.
        idle_since: when its last answer was complete, seconds on the event loop's clock.
        reusable: whether the last answer was complete and leaves it open.
    """

    def __init__(self, context: ssl.SSLContext | None, drop: Callable[[_Connection], None]) -> None:
        self.context = context
        self.idle_since = 0.0
        self.reusable = True
        self._drop = drop
        self._loop = asyncio.get_running_loop()
        self._answer: asyncio.Future[HttpResponse] | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._body: list[bytes] = []
        self._date: str | None = None
        self._retry_after: str | None = None

    def send(self, message: bytes) -> asyncio.Future[HttpResponse]:
        """Write a request; the future gets the answer, or a ConnectionError."""
        self.reusable = False
        self._answer = self._loop.create_future()
        self._transport.write(message)
        return self._answer

    def abort(self) -> None:
        """Leave the pool and close at once: an orderly end of TLS may last longer than the event loop."""
        self.reusable = False
        self._drop(self)
        self._transport.abort()

    def time_out(self) -> None:
        """End the request in flight, which had no answer in time."""
        self._fail(TimeoutError("no answer came in time"))

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's are not derived from it

    def data_received(self, data: bytes) -> None:
        if self._answer is None:  # it belongs to no request, and must not be taken for the answer to the next one
            self.abort()
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._fail(ConnectionError(f"the answer is not HTTP: {error}"))

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(exc or ConnectionResetError("the server closed the connection"))

    # httptools

    def on_message_begin(self) -> None:
        self._body.clear()
        self._date = self._retry_after = None

    def on_header(self, name: bytes, value: bytes) -> None:
        match name.lower():
            case b"date":
                self._date = value.decode("latin-1")
            case b"retry-after":
                self._retry_after = value.decode("latin-1")

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        status, answer = self._parser.get_status_code(), self._answer
        if status < _FIRST_FINAL:
            return
        if answer is None or answer.done():  # a second answer, or an answer to an abandoned request
            self.abort()
            return
        self.reusable = self._parser.should_keep_alive()
        if not self.reusable:
            self.abort()
        self._answer = None
        answer.set_result(HttpResponse(status, b"".join(self._body), self._date, self._retry_after))

    def _fail(self, error: Exception) -> None:
        self.abort()
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)


def make_socket(address: AddrInfoType) -> socket.socket:
    """A socket whose connection is probed while it is silent. Its type is that of aiohttp's `socket_factory`."""
    family, kind, protocol, *_ = address
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE.items():
        if hasattr(socket, name):  # macOS has other names for some
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return made
