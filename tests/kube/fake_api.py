"""An HTTP server that gives the answers that a test sets, however wrong, and remembers its requests."""

import asyncio
import json
import ssl
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Self

from aiohttp import web


@dataclass(frozen=True)
class Json:
    """An ordinary answer."""

    payload: Any
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)

    async def send(self, request: web.BaseRequest) -> web.StreamResponse:
        body = json.dumps(self.payload).encode()
        return web.Response(body=body, status=self.status, headers=self.headers, content_type="application/json")


@dataclass(frozen=True)
class Raw:
    """An answer that is no JSON."""

    body: bytes
    status: int = 200

    async def send(self, request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(body=self.body, status=self.status)


class Ending(Enum):
    """What happens after the last chunk of a stream."""

    END = "the stream ends as it should"
    HOLD = "nothing more comes, the connection stays"
    CUT = "the connection breaks"


@dataclass(frozen=True)
class Stream:
    """A watch: chunks, then an ending."""

    chunks: Iterable[bytes] = ()
    ending: Ending = Ending.HOLD

    async def send(self, request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        for chunk in self.chunks:
            await response.write(chunk)
        if self.ending is Ending.HOLD:
            await asyncio.Event().wait()
        if self.ending is Ending.CUT:
            assert request.transport is not None
            request.transport.abort()
        return response


@dataclass
class Gate:
    """An answer that waits until the test opens the gate; `waiting` counts the requests held."""

    answer: Json | Raw
    opened: asyncio.Event = field(default_factory=asyncio.Event)
    waiting: int = 0

    async def send(self, request: web.BaseRequest) -> web.StreamResponse:
        self.waiting += 1
        await self.opened.wait()
        return await self.answer.send(request)


Answer = Json | Raw | Stream | Gate


@dataclass(frozen=True)
class Asked:
    """One request as the server got it."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class FakeApi:
    """Answers each method and path with the answers given for it, in order; the last one again and again."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self._answers: dict[tuple[str, str], list[Answer]] = {}
        self._runner: web.ServerRunner | None = None
        self.url = ""

    def on(self, method: str, path: str, *answers: Answer) -> Self:
        """Set the answers for `METHOD /path`; for watches the method is WATCH."""
        self._answers[method, path] = list(answers)
        return self

    def asked_for(self, method: str, path: str) -> list[Asked]:
        """The requests so far for `METHOD /path`."""
        return [asked for asked in self.asked if (asked.method, asked.path) == (method, path)]

    async def start(self, tls: ssl.SSLContext | None = None) -> None:
        self._runner = web.ServerRunner(web.Server(self._answer), shutdown_timeout=0.01)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=tls)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"{'https' if tls else 'http'}://{host}:{port}"

    async def stop(self) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        method = "WATCH" if request.query.get("watch") else request.method
        self.asked.append(Asked(method, request.path, dict(request.query), dict(request.headers), await request.read()))
        answers = self._answers.get((method, request.path))
        if answers is None:
            return await status_answer(404, "NotFound", f"nothing at {method} {request.path}").send(request)
        answer = answers[0] if len(answers) == 1 else answers.pop(0)
        return await answer.send(request)


async def until(condition: Callable[[], object]) -> None:
    """Return when the condition holds; fail when it does not within a few seconds."""
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110  # conditions are of many kinds, not all have an event
            await asyncio.sleep(0.001)


def status_answer(code: int, reason: str, message: str, **headers: str) -> Json:
    """A `Status` as the API server sends it for a failed request."""
    payload = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    }
    return Json(payload, code, {name.replace("_", "-"): value for name, value in headers.items()})
