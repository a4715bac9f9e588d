"""Requests that go straight to the API server, over connections that are kept open. `transport` is its only user."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from .http_pool import Pool, Server

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Mapping

    from aiohappyeyeballs import AddrInfoType

    from .auth import Headers
    from .credentials import Connection
    from .http_answer import Answer

_DEFAULT_PORTS = {"http": 80, "https": 443}
_REPEATABLE = frozenset({"GET", "PUT", "DELETE"})
"""To do these twice is the same as once."""


class Request(NamedTuple):
    """What to send; `path` is percent-encoded."""

    method: str
    path: str
    body: bytes | None
    content_type: str | None


class Direct:
    """A pool of connections, and requests in its bytes."""

    def __init__(
        self,
        connection: Connection,
        *,
        headers: Mapping[str, str],
        make_socket: Callable[[AddrInfoType], socket.socket],
    ) -> None:
        """`headers` go with every request, besides those that say who we are."""
        parts = urlsplit(connection.server)
        host = parts.hostname or ""
        port = parts.port or _DEFAULT_PORTS[parts.scheme]
        self._connection = connection
        self._prefix = parts.path
        self._fixed = {"Host": parts.netloc.rpartition("@")[2], **headers}
        self._fields: dict[str | None, tuple[Headers, bytes]] = {}
        self._pool = Pool(Server(host, port, connection.tls_server_name or host), make_socket=make_socket)

    async def send(self, request: Request, headers: Headers, *, within: float) -> Answer:
        """Send a request as whom `headers` say and read the answer, all `within` so many seconds.

        Raises OSError, among them TimeoutError and ssl.SSLError, and NoAnswerError.
        """
        tls = self._connection.tls
        return await self._pool.exchange(
            self._bytes_of(request, headers),
            tls=None if tls is None else tls.context,
            repeatable=request.method in _REPEATABLE,
            within=within,
        )

    async def close(self) -> None:
        """Close all connections. Requests under way fail."""
        await self._pool.close()

    def _bytes_of(self, request: Request, headers: Headers) -> bytes:
        method, path, body, content_type = request
        start = f"{method} {self._prefix}{path} HTTP/1.1\r\n".encode("ascii")
        if start.count(b" ") != 2 or start.count(b"\n") != 1:
            raise ValueError(f"the path {path!r} is not percent-encoded")
        fields = self._fields_for(headers, content_type)
        if body is None:
            return b"%b%b\r\n" % (start, fields)
        return b"%b%bContent-Length: %d\r\n\r\n%b" % (start, fields, len(body), body)

    def _fields_for(self, headers: Headers, content_type: str | None) -> bytes:
        """Header lines, made once for each pair of arguments, since they go with every request."""
        known = self._fields.get(content_type)
        if known is not None and known[0] is headers:
            return known[1]
        fields = [*self._fixed.items(), *headers.items()]
        if content_type is not None:
            fields.append(("Content-Type", content_type))
        if any(character in value for _, value in fields for character in "\r\n\0"):
            raise ValueError("a header value has a line break in it")
        lines = "".join(f"{name}: {value}\r\n" for name, value in fields).encode("latin-1")
        self._fields[content_type] = (headers, lines)
        return lines
