"""The HTTP server on a port, which the process starts and stops.

Unknown clients reach the port, so every resource of a connection is bounded: the time until its request is complete,
the size of the request, the duration of the answer, and the number of connections (`Connections`).
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from dataclasses import dataclass, field

from aiohttp import ClientConnectionResetError, web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.typedefs import Handler, Middleware

from .connections import Connections, ConnectionState, Limits
from .listener import Listener, listen

DEFAULT_PORT = 10259
"""kube-scheduler's port, so that scrapers need no other configuration."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The bounds of one server.

    Attributes:
        limits: the limits of connections.
        idle_seconds: from the beginning of a connection, or the end of an answer, until all headers of the next request
            have arrived.
        request_seconds: from then until the body has arrived and the answer was sent.
        header_bytes: the longest request line, and the longest header.
        headers: the most headers of a request.
    """

    limits: Limits = field(default_factory=Limits)
    idle_seconds: float = 10.0
    request_seconds: float = 30.0
    header_bytes: int = 8190
    headers: int = 64


class Server:
    """A server of an application on one address. Start and stop it once each.

    Args:
        app: the application; its `client_max_size` limits bodies.
        host: the IP address to bind; `0.0.0.0` for all of IPv4, "" for all.
        port: the port to bind; 0 lets the system choose.
        tls: the TLS context; None for plain HTTP.
        bounds: the bounds of the server.
    """

    def __init__(
        self, app: web.Application, *, host: str, port: int, tls: ssl.SSLContext | None, bounds: Bounds | None = None
    ) -> None:
        self._bounds = bounds or Bounds()
        self.connections = Connections(self._bounds.limits)
        app.middlewares.insert(0, self._bounded())
        self._runner = web.AppRunner(
            app,
            access_log=None,
            handle_signals=False,
            shutdown_timeout=1.0,
            keepalive_timeout=self._bounds.idle_seconds,
            lingering_time=0,
            max_line_size=self._bounds.header_bytes,
            max_field_size=self._bounds.header_bytes,
            max_headers=self._bounds.headers,
            logger=_log,
        )
        self._host = host
        self._port = port
        self._tls = tls
        self._listener: Listener | None = None

    async def start(self) -> int:
        """Start to listen; returns the port. Raises ListenError."""
        sockets = listen(self._host, self._port)
        await self._runner.setup()
        make = self._runner.server
        assert make is not None
        self._listener = Listener(sockets, make, tls=self._tls, connections=self.connections)
        return int(sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Stop listening; requests in progress get a second to finish."""
        if self._listener is not None:
            self._listener.close()
        await self._runner.cleanup()
        self.connections.end_all()

    def _bounded(self) -> Middleware:
        """Read a request and answer it within the time for both; a connection is not ended while it is answered."""

        @web.middleware
        async def bounded(request: web.Request, handler: Handler) -> web.StreamResponse:
            assert self._listener is not None
            entry = self._listener.entries.get(request.protocol)
            try:
                async with asyncio.timeout(self._bounds.request_seconds):
                    await request.read()
                    if entry is not None:
                        self.connections.move(entry, ConnectionState.SERVED)
                    response = await _answer(request, handler)
                    await response.prepare(request)
                    await response.write_eof()
                    return response
            except TimeoutError:
                if request.transport is not None:
                    request.transport.abort()
                raise ClientConnectionResetError("a request took too long") from None
            finally:
                if entry is not None and entry.stage is ConnectionState.SERVED:
                    self.connections.move(entry, ConnectionState.IDLE)

        return bounded


async def _answer(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except web.HTTPException as refusal:
        return web.Response(status=refusal.status, text=refusal.text, headers=refusal.headers)


_OF_OTHERS = (HttpProcessingError, ClientConnectionResetError)


def _is_ours(record: logging.LogRecord) -> bool:
    """Whether a failure is caused by this process, not by a client's request or disconnection."""
    return record.exc_info is None or not isinstance(record.exc_info[1], _OF_OTHERS)


_log = logging.getLogger(f"{__name__}.requests")
_log.addFilter(_is_ours)
