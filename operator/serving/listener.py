"""Accepts connections and passes each to a protocol of its own, within the bounds of `Connections`.

asyncio's servers do not count connections, and show one to the application only after the TLS handshake. Here each
connection is registered before anything is read from it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import ssl
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import cast

from .connections import Connections, ConnectionState, OpenConnection

HANDSHAKE_SECONDS = 5.0
_CLOSING_SECONDS = 1.0
_ACCEPTED_AT_ONCE = 8
"""Connections that are accepted before the rest of the process has its turn."""
_BACKLOG = 128
_PAUSE_SECONDS = 1.0
"""After an accept that failed, for want of descriptors above all."""

log = logging.getLogger(__name__)


class ListenError(Exception):
    """An address cannot be listened on; the message names it and says why."""


def listen(host: str, port: int) -> list[socket.socket]:
    """Listening sockets for an IP address, or for all addresses of this machine when `host` is "".

    Raises ListenError.
    """
    sockets: list[socket.socket] = []
    try:
        found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, address in dict.fromkeys(found):
            listening = socket.socket(family, kind, protocol)
            sockets.append(listening)
            listening.setblocking(False)
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            listening.bind(address)
            listening.listen(_BACKLOG)
    except OSError as error:
        for listening in sockets:
            listening.close()
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
        raise ListenError(f"failed to create listener: failed to listen on {host}:{port}: {reason}") from error
    return sockets


class Listener:
    """Accepts on these sockets until closed.

    Args:
        sockets: what to listen on; they belong to the listener.
        make: a protocol for one connection.
        tls: None for plain connections.
        connections: the book.

    Attributes:
        entries: the entry of each protocol that has a connection.
    """

    def __init__(
        self,
        sockets: Sequence[socket.socket],
        make: Callable[[], asyncio.Protocol],
        *,
        tls: ssl.SSLContext | None,
        connections: Connections,
    ) -> None:
        self._sockets = sockets
        self._make = make
        self._tls = tls
        self._connections = connections
        self.entries: dict[asyncio.BaseProtocol, OpenConnection] = {}
        self._loop = asyncio.get_running_loop()
        self._arriving: set[asyncio.Task[None]] = set()
        self._closed = False
        for listening in sockets:
            self._resume(listening)

    def close(self) -> None:
        """Accept no more. Connections that are there stay."""
        self._closed = True
        for listening in self._sockets:
            self._loop.remove_reader(listening.fileno())
            listening.close()

    def _resume(self, listening: socket.socket) -> None:
        if not self._closed:
            self._loop.add_reader(listening.fileno(), self._accept, listening)

    def _accept(self, listening: socket.socket) -> None:
        for _ in range(_ACCEPTED_AT_ONCE):
            try:
                accepted, address = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                log.warning("Unable to accept connections for a moment", extra={"pairs": {"err": error}})
                self._loop.remove_reader(listening.fileno())
                self._loop.call_later(_PAUSE_SECONDS, self._resume, listening)
                return
            self._enter(accepted, str(address[0]))

    def _enter(self, accepted: socket.socket, host: str) -> None:
        guest = _Guest(self._make, self._connections, self.entries)
        entry = self._connections.admit(host, guest.end)
        if entry is None:
            accepted.close()
            return
        accepted.setblocking(False)
        guest.entry = entry
        guest.arriving = task = self._loop.create_task(self._connect(accepted, guest, entry))
        self._arriving.add(task)
        task.add_done_callback(self._arriving.discard)

    async def _connect(self, accepted: socket.socket, guest: _Guest, entry: OpenConnection) -> None:
        handshake, closing = (None, None) if self._tls is None else (HANDSHAKE_SECONDS, _CLOSING_SECONDS)
        try:
            await self._loop.connect_accepted_socket(
                lambda: guest, accepted, ssl=self._tls, ssl_handshake_timeout=handshake, ssl_shutdown_timeout=closing
            )
        except OSError as error:  # among them all that a handshake can fail with
            log.debug("A connection was not established", extra={"pairs": {"address": entry.address, "err": error}})
        finally:
            if guest.transport is None:
                self._connections.leave(entry)
                accepted.close()
                guest.forget()


def _nothing() -> None:
    """Ends a connection that its client has closed."""


class _Guest(asyncio.Protocol):
    """A connection: passes everything on to the protocol that serves it, and keeps count."""

    def __init__(
        self,
        make: Callable[[], asyncio.Protocol],
        connections: Connections,
        entries: dict[asyncio.BaseProtocol, OpenConnection],
    ) -> None:
        self._make = make
        self._served = asyncio.Protocol()  # until it is connected
        self._entries = entries
        self.entry: OpenConnection | None = None
        self.arriving: asyncio.Task[None] | None = None
        self.transport: asyncio.Transport | None = None
        self._connections = connections

    def end(self) -> None:
        """Cut the connection off, or its handshake."""
        if self.transport is not None:
            with suppress(AttributeError):  # asyncio's, closed twice, has forgotten what there was to abort
                self.transport.abort()
        elif self.arriving is not None:
            self.arriving.cancel()

    def forget(self) -> None:
        """Drop what a lost connection refers to, such as TLS's buffers, without waiting for the garbage collector."""
        if self.entry is not None:
            self.entry.end = _nothing
        self.entry = self.transport = self.arriving = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)  # uvloop's is none by class
        assert self.entry is not None
        self._connections.move(self.entry, ConnectionState.IDLE)
        self._served = self._make()
        self._entries[self._served] = self.entry
        self._served.connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        assert self.entry is not None
        self._connections.leave(self.entry)
        self._entries.pop(self._served, None)
        self._served.connection_lost(exc)
        self.forget()

    def data_received(self, data: bytes) -> None:
        self._served.data_received(data)

    def eof_received(self) -> bool | None:
        return self._served.eof_received()

    def pause_writing(self) -> None:
        self._served.pause_writing()

    def resume_writing(self) -> None:
        self._served.resume_writing()
