"""The API client: verbs over raw JSON bytes, with a limit on concurrent writes.

Informers, the binder, the event recorder and the lease elector use it. Callers pass encoded bodies (msgspec) and
receive bytes, which they decode as far as they need. Events should have a client of their own on the same transport, so
that a flood of them never delays a Binding.
"""

from __future__ import annotations

import asyncio
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from .errors import Fenced
from .transport import RequestOutcome, path_with
from .versions import ServedVersions, body_at

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from contextlib import AbstractAsyncContextManager

    from .transport import Params, Reply

_JSON = "application/json"
_TIMEOUT = 30.0


class PatchType(StrEnum):
    """The format of a PATCH's body."""

    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"
    """Server-side apply; JSON is YAML. Needs `fieldManager` in the parameters."""


class Limiter(Protocol):
    """The pacing of all requests of a client, e.g. `limiter.TokenBucket`."""

    async def acquire(self) -> None:
        """Return when one request may go out."""
        ...


class RoundTripper(Protocol):
    """The connection to an API server: `transport.Transport`, or a simulated one."""

    @property
    def host(self) -> str:
        """The API server's host and port."""
        ...

    def subscribe(self, listener: Callable[[RequestOutcome], None]) -> None:
        """Call `listener` with the outcome of each further request, answered or not."""
        ...

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
        """One request and its whole answer; see `Transport.request`."""
        ...

    def stream(self, path: str, *, silence: float) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """A GET whose body is read as it arrives; see `Transport.stream`."""
        ...


class ApiClient:
    """Requests to one API server. All methods raise `errors.ApiError` and nothing else.

    Without a `limiter`, requests per second are not limited. At most `max_writes` writes are in flight, few enough that
    their answers, if all arrive together, block the loop for some 10 ms; further writes wait in order. `timeout` is the
    limit for a whole request, in seconds. `may_write` is called just before a write is sent; if it returns False, the
    write ends with `errors.Fenced`. `on_write` is called with the verb and the resource, as `written` names it, of each
    write that is sent.
    """

    def __init__(
        self,
        transport: RoundTripper,
        *,
        limiter: Limiter | None = None,
        max_writes: int = 32,
        timeout: float = _TIMEOUT,
        may_write: Callable[[], bool] = lambda: True,
        on_write: Callable[[str, str], None] = lambda verb, resource: None,
    ) -> None:
        self._transport = transport
        self._on_write = on_write
        self._limiter = limiter
        self._timeout = timeout
        self._may_write = may_write
        self._gate = asyncio.Semaphore(max_writes)
        self._writes_in_flight = 0
        self._backlog = 0
        self._versions = ServedVersions(self._read)

    def may_write(self) -> bool:
        """Whether a write would be sent."""
        return self._may_write()

    @property
    def writes_in_flight(self) -> int:
        """Writes that the server has not answered yet."""
        return self._writes_in_flight

    @property
    def backlog(self) -> int:
        """The writes that wait for the limiter, or for the end of another write."""
        return self._backlog

    async def get(self, path: str, *, params: Params | None = None) -> Reply:
        """Read an object, or a list of them."""
        if self._limiter is not None:
            await self._limiter.acquire()
        return await self._versions.reply(path_with(path, params), self._read)

    async def require(self, path: str) -> None:
        """Raise NotFound if the server does not serve the kind whose objects are at this path.

        Discovery tells so to users without a role, too; to list such a kind is Forbidden for them.
        """
        await self._versions.require(path)

    async def stream(
        self, path: str, *, params: Params, silence: float
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Open a watch: `async with await client.stream(…) as chunks`. See `Transport.stream`."""
        if self._limiter is not None:
            await self._limiter.acquire()
        return self._transport.stream(self._versions.current(path_with(path, params)), silence=silence)

    async def post(self, path: str, body: bytes, *, params: Params | None = None) -> Reply:
        """Create an object or a subresource."""
        return await self._write("POST", path_with(path, params), body, _JSON)

    async def put(self, path: str, body: bytes, *, params: Params | None = None) -> Reply:
        """Replace an object."""
        return await self._write("PUT", path_with(path, params), body, _JSON)

    async def patch(self, path: str, body: bytes, *, kind: PatchType, params: Params | None = None) -> Reply:
        """Change parts of an object."""
        return await self._write("PATCH", path_with(path, params), body, kind.value)

    async def delete(self, path: str, body: bytes | None = None, *, params: Params | None = None) -> Reply:
        """Delete an object; `body` is a DeleteOptions."""
        return await self._write("DELETE", path_with(path, params), body, _JSON if body is not None else None)

    async def _read(self, path: str) -> Reply:
        return await self._transport.request("GET", path, within=self._timeout)

    async def _write(self, method: str, path: str, body: bytes | None, content_type: str | None) -> Reply:
        def send(there: str) -> Awaitable[Reply]:
            return self._transport.request(
                method,
                there,
                body=body if there == path else body_at(there, body),
                content_type=content_type,
                within=self._timeout,
                may_send=self._may_write,
            )

        self._backlog += 1
        try:
            if self._limiter is not None:
                await self._limiter.acquire()
            await self._gate.acquire()
        finally:
            self._backlog -= 1
        self._writes_in_flight += 1
        try:
            # Asked after the waits for the limiter and the gate, during which the lease may have been lost. The
            # transport asks once more when it has a connection.
            if not self._may_write():
                raise Fenced("this process does not hold the lease")
            self._on_write(method, written(path))
            return await self._versions.reply(path, send)
        finally:
            self._writes_in_flight -= 1
            self._gate.release()


def written(path: str) -> str:
    """The resource that a path of the API is about, with its subresource: `pods/binding`."""
    group, *rest = path.partition("?")[0].strip("/").split("/")
    rest = rest[1 if group == "api" else 2 :]
    if len(rest) > 2 and rest[0] == "namespaces":
        rest = rest[2:]
    return "/".join((*rest[:1], *rest[2:3]))
