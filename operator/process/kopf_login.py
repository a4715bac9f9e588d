"""kopf's login: the process's credentials, at a limited rate, and a session that tells foreign answers from the API's.

The kopf operators call it at their start and after each 401. kopf itself does not pause in between, so an API server
that refuses the credentials for a while would be asked hundreds of times a second.

While an API server restarts, a proxy may answer in its place, with a page and status 200. kopf tries a request again
after a refused connection and after a 503, but an answer that it cannot read would end the operator at once.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import aiohttp
import kopf
from multidict import CIMultiDict

from muster.operator.failures import in_words
from muster.operator.kube.errors import CredentialsError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from muster.operator.kube.credentials import Connection

PAUSE_SECONDS = 5.0
RETRY_SECONDS = 60.0
"""The pause between two tries to get credentials."""
_FIRST_BAD = 300
_LONGEST_FOREIGN_TEXT = 100


class ForeignAnswerError(aiohttp.ClientConnectionError):
    """An answer that is not from a Kubernetes API server, or broke off. kopf tries the request again, as if there had
    been no answer.
    """


class KopfLogin:
    """Logs one kopf operator in, at once or `PAUSE_SECONDS` after its last login."""

    def __init__(
        self,
        connection: Connection,
        *,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._connection = connection
        self._now = now
        self._sleep = sleep
        self._not_before = float("-inf")

    async def __call__(self) -> kopf.AiohttpSession:
        """Return a session with the current credentials, renewed if they have expired.

        Raises kopf.TemporaryError if there are none: kopf logs it in one line, other errors with a traceback.
        """
        pause = self._not_before - self._now()
        if pause > 0:
            await self._sleep(pause)
        self._not_before = self._now() + PAUSE_SECONDS
        try:
            return await self._session()
        except CredentialsError as error:
            raise kopf.TemporaryError(str(error), delay=RETRY_SECONDS) from error

    async def _session(self) -> kopf.AiohttpSession:
        connection = self._connection
        headers = connection.auth.current()
        if headers is None:
            await connection.auth.renew(None)
            headers = connection.auth.current()
        proxy = connection.proxy
        session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=connection.tls.context if connection.tls is not None else True),
            headers=headers,
            proxy=proxy.url if proxy is not None else None,
            middlewares=(_directions(connection), _own_answers),
        )
        return kopf.AiohttpSession(
            server=connection.server, default_namespace=connection.namespace, aiohttp_session=session
        )


def _directions(connection: Connection) -> aiohttp.ClientMiddlewareType:
    """A middleware for settings that a session does not support: the TLS server name and the proxy's credentials."""
    proxy_headers = connection.proxy.headers if connection.proxy is not None else {}

    async def direct(request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
        request.server_hostname = connection.tls_server_name
        if connection.tls is not None:  # they go with the request for the tunnel
            request.proxy_headers = CIMultiDict(proxy_headers)
        else:
            request.headers.update(proxy_headers)
        return await send(request)

    return direct


async def _own_answers(request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """A middleware that raises ForeignAnswerError where kopf would not understand the answer; watches pass unread."""
    response = await send(request)
    if response.status >= _FIRST_BAD or "watch" in request.url.query:
        return response
    try:
        text = await response.read()
    except aiohttp.ClientPayloadError as error:
        raise ForeignAnswerError(f"the answer to {request.url.path} broke off: {in_words(error)}") from error
    try:
        answer = await response.json()
    except (aiohttp.ContentTypeError, ValueError, RecursionError):
        answer = None
    if isinstance(answer, dict) and "kind" in answer:
        return response
    raise ForeignAnswerError(
        f"the answer to {request.url.path} is not one of a Kubernetes API server: "
        f"{response.content_type}: {_beginning(text)}"
    )


def _beginning(text: bytes) -> str:
    """The first characters of an answer, in one line."""
    line = " ".join(text.decode(errors="replace").split())
    shown = "".join(filter(str.isprintable, line))
    return shown if len(shown) <= _LONGEST_FOREIGN_TEXT else f"{shown[:_LONGEST_FOREIGN_TEXT]}…"
