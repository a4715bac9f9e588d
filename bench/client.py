"""A minimal HTTP client for an API server: raw JSON in, raw JSON out, no retries.

The benchmarks fill clusters and follow pods with it, and it measures the ceiling: its cost is the cost of HTTP and JSON
in Python. It logs in with the token of a kubeconfig that `tests.controlplane` wrote.
"""

import asyncio
import base64
import ssl
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlencode

import aiohttp
import msgspec
import yaml
from yarl import URL

MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
_ERRORS_FROM = 400
_NOT_FOUND = 404
_TOLD = 1000
_CHUNK = 1 << 20
_CONNECT_SECONDS = 60.0


class RefusedError(Exception):
    """The API server refused a request; the text has the request, the status and the server's words.

    Attributes:
        status: the HTTP status.
    """

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.status = status


class Following(ABC):
    """Follows a watch in the background, as a context manager."""

    def __init__(self) -> None:
        self._following: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._following = asyncio.create_task(self._follow())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._following is not None:
            self._following.cancel()
            await asyncio.gather(self._following, return_exceptions=True)

    async def raise_if_stopped(self) -> None:
        """Raise the error that ended the watch, if it has ended."""
        if self._following is not None and self._following.done():
            await self._following

    @abstractmethod
    async def _follow(self) -> None:
        """Watch until cancelled."""


class Client:
    """A client for one user, with a connection for each concurrent request. Create it on a running loop."""

    def __init__(self, kubeconfig: Path) -> None:
        config = yaml.safe_load(kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        trust = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
        self._server: str = cluster["server"]
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=trust, limit=0),
            headers={"Authorization": f"Bearer {user['token']}", "Content-Type": "application/json"},
            skip_auto_headers=("Accept-Encoding", "User-Agent"),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS, sock_read=120),
            read_bufsize=_CHUNK,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def post(self, path: str, body: bytes) -> bytes:
        """Create an object or a subresource; returns the answer. Raises `RefusedError`."""
        async with self._session.post(self._url(path), data=body) as response:
            return await _body(response)

    async def patch(self, path: str, change: Mapping[str, Any], form: str = MERGE_PATCH) -> None:
        """Changes an object by a patch of this form. Raises `RefusedError`."""
        headers = {"Content-Type": form}
        async with self._session.patch(self._url(path), data=msgspec.json.encode(change), headers=headers) as response:
            await _body(response)

    async def put(self, path: str, body: bytes) -> None:
        """Replace an object, or a part of it by a subresource. Raises `RefusedError`."""
        async with self._session.put(self._url(path), data=body) as response:
            await _body(response)

    async def delete(self, path: str, *, at_once: bool = True, **query: str) -> None:
        """Delete an object, if it exists, or the selected objects of a collection. Raises `RefusedError`.

        Unless `at_once`, a pod gets its grace period.
        """
        given = {"gracePeriodSeconds": "0"} if at_once else {}
        async with self._session.delete(self._url(path, {**given, **query})) as response:
            if response.status != _NOT_FOUND:
                await _body(response)

    async def remove(self, path: str, uid: str) -> None:
        """Deletes an object at once, unless another one has its name by now. Raises `RefusedError`."""
        options = {"gracePeriodSeconds": 0, "preconditions": {"uid": uid}}
        async with self._session.delete(self._url(path), data=msgspec.json.encode(options)) as response:
            await _body(response)

    async def get(self, path: str, **query: str) -> Any:
        """Read an object or a list. Raises `RefusedError`."""
        async with self._session.get(self._url(path, query)) as response:
            return msgspec.json.decode(await _body(response))

    async def text(self, path: str) -> str:
        """Read a plain text, such as metrics. Raises `RefusedError`."""
        async with self._session.get(self._url(path)) as response:
            return (await _body(response)).decode()

    async def watch(self, path: str, **query: str) -> AsyncIterator[list[bytes]]:
        """Yield the lines of a watch in batches, until the server ends it. Raises `RefusedError`."""
        # A watch may be silent for minutes, as while kube-scheduler looks for a rack for its first gang of a thousand.
        silent = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS, sock_read=None)
        async with self._session.get(self._url(path, {"watch": "true", **query}), timeout=silent) as response:
            if response.status >= _ERRORS_FROM:
                await _body(response)
            unfinished = b""
            try:
                async for chunk in response.content.iter_any():
                    *lines, unfinished = (unfinished + chunk).split(b"\n")
                    if lines:
                        yield lines
            finally:
                if response.connection is not None and response.connection.transport is not None:
                    response.connection.transport.abort()  # an orderly end of TLS may last longer than the event loop

    def _url(self, path: str, query: dict[str, str] | None = None) -> URL:
        return URL(f"{self._server}{path}?{urlencode(query)}" if query else self._server + path, encoded=True)


async def _body(response: aiohttp.ClientResponse) -> bytes:
    body = await response.read()
    if response.status >= _ERRORS_FROM:
        raise RefusedError(
            f"{response.method} {response.url.path}: {response.status} {body[:_TOLD].decode(errors='replace')}",
            response.status,
        )
    return body
