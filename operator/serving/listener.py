"""The listener, which accepts connections within the bounds of `Connections` and gives each a protocol.

asyncio's servers do not count connections, and pass one to the application only after the TLS handshake. This listener
registers each connection before it reads from it.
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
"""The most connections that are accepted before other tasks run."""
_BACKLOG = 128
_PAUSE_SECONDS = 1.0
"""The pause after a failed accept, usually because of a lack of file descriptors."""

log = logging.getLogger(__name__)


class ListenError(Exception):
    """The server cannot listen on an address; the message names the address and the cause."""


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
        sockets: the listening sockets, which the listener closes.
        make: creates the protocol of a connection.
        tls: the TLS context; None for plain connections.
        connections: the registry of connections.

    Attributes:
        entries: the registered connection of each protocol.
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
        """Stop accepting. Existing connections stay open."""
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
        except OSError as error:  # includes all errors of a failed handshake
            log.debug("A connection was not established", extra={"pairs": {"address": entry.address, "err": error}})
        finally:
            if guest.transport is None:
                self._connections.leave(entry)
                accepted.close()
                guest.forget()


def _nothing() -> None:
    """Do nothing, for the reader of a connection that its client has closed."""


class _Guest(asyncio.Protocol):
    """The protocol of a connection, which forwards all calls to the serving protocol and registers its stage."""

    def __init__(
        self,
        make: Callable[[], asyncio.Protocol],
        connections: Connections,
        entries: dict[asyncio.BaseProtocol, OpenConnection],
    ) -> None:
        self._make = make
        self._served = asyncio.Protocol()  # None until it is connected
        self._entries = entries
        self.entry: OpenConnection | None = None
        self.arriving: asyncio.Task[None] | None = None
        self.transport: asyncio.Transport | None = None
        self._connections = connections

    def end(self) -> None:
        """Close the connection at once, also during its handshake."""
        if self.transport is not None:
            with suppress(AttributeError):  # asyncio's transport cannot be aborted any more after it was closed twice
                self.transport.abort()
        elif self.arriving is not None:
            self.arriving.cancel()

    def forget(self) -> None:
        """Drop the references of a lost connection, such as TLS buffers, without waiting for the garbage collector."""
        if self.entry is not None:
            self.entry.end = _nothing
        self.entry = self.transport = self.arriving = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)  # uvloop's transport is not a subclass
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
