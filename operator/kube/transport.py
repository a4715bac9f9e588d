"""The transport to one API server: sends requests, opens streams, renews credentials, translates failures to `errors`.

Other modules use `client.ApiClient`; several clients with limits of their own may share a transport. It uses no
cookies, no compression and no redirects. Requests with a body go over `connections`, unless there is a proxy; all
others go over aiohttp.
"""

from __future__ import annotations

import errno
import socket
import ssl
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar
from urllib.parse import SplitResult, urlencode, urlsplit

import aiohttp
from aiohttp.abc import AbstractStreamWriter
from multidict import CIMultiDict
from yarl import URL

from muster.operator.failures import in_words

from .connections import CONNECT_TIMEOUT, ConnectionPool, make_socket
from .errors import (
    ApiError,
    ConnectionRefused,
    CredentialsError,
    TimedOut,
    Unauthorized,
    Unreachable,
    error_from_response,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from .auth import Headers
    from .credentials import Connection

T = TypeVar("T")

Params = Mapping[str, str]

_FIRST_BAD = 300
_NO_ANSWER = "<error>"
_PORTS = {"http": 80, "https": 443}
_READ_BUFFER = 1 << 20
_CONNECTIONS = 512
"""The most requests in flight; further ones wait, so that file descriptors suffice."""
_DEFAULT_HEADERS = {"Accept": "application/json", "User-Agent": "muster"}


class Reply(NamedTuple):
    """A successful answer."""

    status: int
    body: bytes


class RequestOutcome(NamedTuple):
    """The outcome of an API request.

    Attributes:
        method: of HTTP.
        code: the answer's status, `<error>` without an answer.
        seconds: from the request to the answer's headers.
        date: the answer's `Date` header, None if it has none.
    """

    method: str
    code: str
    seconds: float
    date: str | None = None


class _Request(NamedTuple):
    """A request to send; `path` is percent-encoded."""

    method: str
    path: str
    body: bytes | None = None
    content_type: str | None = None
    may_send: Callable[[], bool] | None = None


class _Guarded(aiohttp.BytesPayload):
    """A body that is sent, like its headers, only if the write is still allowed at that moment.

    A process may be suspended while a request waits for its connection.
    """

    def __init__(self, body: bytes, may_send: Callable[[], bool]) -> None:
        super().__init__(body)
        self._may_send = may_send

    async def write_with_length(self, writer: AbstractStreamWriter, content_length: int | None) -> None:
        if not self._may_send():
            raise ConnectionAbortedError("the request may not be sent any more")
        await super().write_with_length(writer, content_length)


class Transport:
    """The connections to a server, as an async context manager. Create and close it on one running event loop."""

    def __init__(self, connection: Connection) -> None:
        self._listeners: list[Callable[[RequestOutcome], None]] = []
        self._connection = connection
        self._base = connection.server
        self._closed = False
        self._pool = _pool(connection)
        self._prefix = urlsplit(connection.server).path
        self._headers: Headers | None = None
        self._lines = ""
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=_CONNECTIONS, socket_factory=make_socket),
            headers=_DEFAULT_HEADERS,
            skip_auto_headers=("Accept-Encoding", "Content-Type"),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            read_bufsize=_READ_BUFFER,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def host(self) -> str:
        """The API server's host and port."""
        return urlsplit(self._base).netloc

    def subscribe(self, listener: Callable[[RequestOutcome], None]) -> None:
        """Call `listener` with the outcome of each further request, answered or not."""
        self._listeners.append(listener)

    async def close(self) -> None:
        """Close all connections. Requests in flight fail with Unreachable."""
        self._closed = True
        await self._pool.close()
        await self._session.close()

    async def request(
        self,
        method: str,
        path: str,
        *,
        body: bytes | None = None,
        content_type: str | None = None,
        within: float,
        may_send: Callable[[], bool] | None = None,
    ) -> Reply:
        """Send one request and read the whole answer; `path` is percent-encoded and may have a query.
        The limit for all of it is `within` seconds. A body is not sent if `may_send` returns False at that moment.

        Raises ApiError. After a 401 the credentials are renewed and the request is sent once more.
        """
        request = _Request(method, path, body, content_type, may_send)

        async def send(headers: Headers) -> Reply:
            if body is not None and self._connection.proxy is None:
                return await self._write(request, body, headers, within)
            response = await self._open(request, headers, _whole(within))
            async with response:
                return Reply(response.status, await response.read())

        return await self._authorised(send)

    @asynccontextmanager
    async def stream(self, path: str, *, silence: float) -> AsyncIterator[AsyncIterator[bytes]]:
        """A GET whose body is read as it arrives, in chunks of any size; `silence` seconds without a chunk end it.

        Raises ApiError on entry and, TimedOut or Unreachable, from the chunks. Leaving closes the connection.
        """
        request = _Request("GET", path)
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT, sock_read=silence)
        response = await self._authorised(lambda headers: self._open(request, headers, timeout))
        try:
            yield self._chunks(response)
        finally:
            _cut(response)

    async def _chunks(self, response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
        try:
            async for chunk in response.content.iter_any():
                yield chunk
        except (aiohttp.ClientError, OSError) as error:
            raise _translated(error, self._base) from error

    async def _authorised(self, send: Callable[[Headers], Awaitable[T]]) -> T:
        """The result of `send` with the client's credentials; after a 401 it is called again with renewed ones."""
        if self._closed:
            raise Unreachable("the client is closed")
        headers = self._connection.auth.current()
        if headers is None:
            headers = await self._renewed(None)
        try:
            try:
                return await send(headers)
            except Unauthorized:
                fresh = await self._renewed(headers)
                if fresh is headers:
                    raise
            return await send(fresh)
        except (aiohttp.ClientError, OSError) as error:
            raise _translated(error, self._base) from error

    async def _renewed(self, rejected: Headers | None) -> Headers:
        """Renewed headers; the rejected ones if there are no others."""
        auth = self._connection.auth
        try:
            again = await auth.renew(rejected)
        except CredentialsError as error:
            raise Unauthorized(str(error), status=401) from error
        headers = auth.current() if again else rejected
        if headers is None:
            raise Unauthorized("the credentials that were issued have expired already", status=401)
        return headers

    async def _write(self, request: _Request, body: bytes, headers: Headers, within: float) -> Reply:
        message = self._message(request, body, headers)
        began, code, date = time.monotonic(), _NO_ANSWER, None
        try:
            answer = await self._pool.request(message, within=within, may_send=request.may_send)
            code, date = str(answer.status), answer.date
        finally:
            self._report(RequestOutcome(request.method, code, time.monotonic() - began, date))
        if answer.status < _FIRST_BAD:
            return Reply(answer.status, answer.body)
        raise error_from_response(answer.status, answer.body, answer.retry_after)

    def _report(self, outcome: RequestOutcome) -> None:
        for listener in self._listeners:
            listener(outcome)

    def _message(self, request: _Request, body: bytes, headers: Headers) -> bytes:
        """The request as an HTTP/1.1 message. Raises ValueError for an invalid header or path."""
        if self._headers is not headers:  # credentials come with an object of their own, which does not change
            self._lines = _header_lines(urlsplit(self._base), headers)
            self._headers = headers
        if not request.path.isprintable():
            raise ValueError(f"the path {request.path!r} contains a control character")
        return (
            f"{request.method} {self._prefix}{request.path} HTTP/1.1\r\n{self._lines}\r\n"
            f"Content-Type: {request.content_type}\r\nContent-Length: {len(body)}\r\n\r\n"
        ).encode() + body

    async def _open(self, request: _Request, headers: Headers, limits: aiohttp.ClientTimeout) -> aiohttp.ClientResponse:
        """A response with a good status; its body is not read yet."""
        connection, proxy = self._connection, self._connection.proxy
        merged = CIMultiDict(headers)
        options: dict[str, Any] = {}
        if proxy is not None:
            options = {"proxy": proxy.url, "proxy_headers": proxy.headers}
            if connection.tls is None:
                merged.update(proxy.headers)  # with TLS they go with the request for the tunnel instead
        if request.content_type is not None:
            merged["Content-Type"] = request.content_type
        began, code, date = time.monotonic(), _NO_ANSWER, None
        try:
            response = await self._session.request(
                request.method,
                URL(self._base + request.path, encoded=True),
                data=_body(request),
                headers=merged,
                timeout=limits,
                ssl=connection.tls.context if connection.tls is not None else True,
                server_hostname=connection.tls_server_name,
                allow_redirects=False,
                **options,
            )
            code, date = str(response.status), response.headers.get("Date")
        finally:
            self._report(RequestOutcome(request.method, code, time.monotonic() - began, date))
        if response.status < _FIRST_BAD:
            return response
        async with response:
            body = await response.read()
        raise error_from_response(response.status, body, response.headers.get("Retry-After"))


def _pool(connection: Connection) -> ConnectionPool:
    server, tls = urlsplit(connection.server), connection.tls
    return ConnectionPool(
        server.hostname or "",
        server.port or _PORTS[server.scheme],
        context=lambda: None if tls is None else tls.context,
        server_name=connection.tls_server_name,
    )


def _header_lines(server: SplitResult, headers: Headers) -> str:
    """The header lines of all requests with these headers. Raises ValueError for an invalid header."""
    lines = [f"Host: {server.netloc}"]
    lines += [f"{name}: {value}" for name, value in (*_DEFAULT_HEADERS.items(), *headers.items())]
    if not all(map(str.isprintable, lines)):
        raise ValueError("a header contains a line break or another control character")
    return "\r\n".join(lines)


def _body(request: _Request) -> bytes | _Guarded | None:
    if request.body is None or request.may_send is None:
        return request.body
    return _Guarded(request.body, request.may_send)


def _cut(response: aiohttp.ClientResponse) -> None:
    """Abort a response at once: an orderly end of TLS may last longer than the event loop."""
    connection = response.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()
    response.close()


@lru_cache
def _whole(seconds: float) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=seconds, sock_connect=CONNECT_TIMEOUT)


def path_with(path: str, params: Params | None) -> str:
    """`path` with the query `params`."""
    return f"{path}?{urlencode(params)}" if params else path


def _translated(error: Exception, server: str) -> ApiError:
    match error:
        case TimeoutError():
            return TimedOut(f"{server} did not answer in time")
        case ConnectionRefusedError():
            return ConnectionRefused(f"connection to {server} refused")
        case OSError(errno=errno.ECONNREFUSED):  # of several addresses
            return ConnectionRefused(f"connection to {server} refused")
        case aiohttp.ClientConnectorError(os_error=cause) if cause.errno == errno.ECONNREFUSED:
            return ConnectionRefused(f"connection to {server} refused")
        case ssl.SSLError() | aiohttp.ClientConnectorCertificateError() | aiohttp.ClientConnectorSSLError():
            return Unreachable(f"TLS to {server} failed: {in_words(error)}")
        case socket.gaierror() | aiohttp.ClientConnectorDNSError():
            return Unreachable(f"the host name of {server} does not resolve")
        case aiohttp.ClientHttpProxyError():
            return Unreachable(f"the proxy refused the connection to {server}: {error.status} {error.message}")
        case _:
            return Unreachable(f"connection to {server} broke: {in_words(error)}")
