"""An API server that misbehaves when it is told to: a proxy in front of the real one, in a thread of its own.

Muster talks plain HTTP to it, the proxy logs in to the real server in Muster's place. While there is no fault
everything passes through as it is, watches included.
"""

import asyncio
import ssl
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

import aiohttp
import yaml
from aiohttp import web

from tests.controlplane.plane import ControlPlane

T = TypeVar("T")
_PASSED_ON = ("Content-Type", "Accept")
_PASSED_BACK = ("Content-Type", "Retry-After")


class Fault(Protocol):
    """What happens to a request; None lets it pass after all."""

    async def answer(self, request: web.Request) -> web.StreamResponse | None: ...


@dataclass(frozen=True)
class Refusal:
    """An error, in the API's own form."""

    status: int
    message: str = "the test wants it so"
    headers: dict[str, str] = field(default_factory=dict)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": self.message, "code": self.status}
        return web.json_response(body, status=self.status, headers=self.headers)


@dataclass(frozen=True)
class Garbage:
    """Success, with an unreadable body."""

    body: bytes = b'{"kind": "PodList", "items": [{{{ \xff\xfe'
    content_type: str = "application/json"

    async def answer(self, request: web.Request) -> web.StreamResponse:
        return web.Response(body=self.body, content_type=self.content_type)


@dataclass(frozen=True)
class BrokenOff:
    """The beginning of an answer, and then the connection breaks."""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": "1000"})
        await response.prepare(request)
        await response.write(b'{"kind": "PodList", "ite')
        assert request.transport is not None
        request.transport.abort()
        return response


class Delay:
    """Requests wait until `over` is called, and pass then. `waiting` says how many there are."""

    def __init__(self) -> None:
        self.waiting = 0
        self._over = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def answer(self, request: web.Request) -> web.StreamResponse | None:
        self._loop = asyncio.get_running_loop()
        self.waiting += 1
        await self._over.wait()
        return None

    def over(self) -> None:
        """Let them pass."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._over.set)


def is_binding(request: web.Request) -> bool:
    """Whether the request binds a pod."""
    return request.path.endswith("/binding")


def is_list(request: web.Request) -> bool:
    """Whether the request lists or watches what every scheduler needs."""
    return request.path in ("/api/v1/pods", "/api/v1/nodes")


def is_discovery(request: web.Request) -> bool:
    """Whether the request asks for the kinds of objects that the server has."""
    return request.path in ("/api", "/apis")


def everything(request: web.Request) -> bool:
    """Any request."""
    return True


class FaultyApi:
    """The proxy; usable as a context manager. Its methods may be called from the thread of the test.

    Attributes:
        met: how many requests have met a fault.
    """

    def __init__(self, plane: ControlPlane, user: str) -> None:
        login = yaml.safe_load(plane.kubeconfig(user).read_text())
        self._token = login["users"][0]["user"]["token"]
        self._upstream = plane.url
        self._trust = ssl.create_default_context(cafile=str(plane.ca_file))
        self._fault: tuple[Callable[[web.Request], bool], Fault] | None = None
        self._watches: list[tuple[web.Request, web.StreamResponse]] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self.met = 0
        self._url = ""

    def __enter__(self) -> Self:
        self._thread.start()
        self._call(self._start())
        return self

    def __exit__(self, *_: object) -> None:
        self._call(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def kubeconfig(self, path: Path) -> Path:
        """Writes a kubeconfig that leads here."""
        cluster = {"name": "faulty", "cluster": {"server": self._url}}
        context = {"name": "faulty", "context": {"cluster": "faulty", "user": "nobody"}}
        config = {"apiVersion": "v1", "kind": "Config", "clusters": [cluster], "contexts": [context]}
        path.write_text(
            yaml.safe_dump(config | {"users": [{"name": "nobody", "user": {}}], "current-context": "faulty"})
        )
        return path

    @contextmanager
    def trouble(self, fault: Fault, *, on: Callable[[web.Request], bool] = everything) -> Iterator[None]:
        """Answer with the fault to requests of this kind, for as long as the block lasts."""
        self.met = 0
        self._fault = on, fault
        try:
            yield
        finally:
            self._fault = None

    def cut_watches(self) -> None:
        """Break all watches off."""
        self._call(self._abort())

    @property
    def watching(self) -> int:
        """How many watches are open."""
        return len(self._watches)

    def say_in_watches(self, line: bytes) -> None:
        """Send a line in all watches."""
        self._call(self._say(line))

    def _call(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=30)

    async def _start(self) -> None:
        self._session = aiohttp.ClientSession(
            headers={"Authorization": f"Bearer {self._token}"}, timeout=aiohttp.ClientTimeout(total=None)
        )
        application = web.Application()
        application.router.add_route("*", "/{path:.*}", self._handle)
        # A watch whose reader has gone would keep its connection to the real server, of which a session has a hundred.
        self._runner = web.AppRunner(application, shutdown_timeout=0.1, handler_cancellation=True)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self._url = f"http://{host}:{port}"

    async def _stop(self) -> None:
        await self._runner.cleanup()
        await self._session.close()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    async def _abort(self) -> None:
        watches, self._watches = self._watches, []
        for request, _ in watches:
            if request.transport is not None:
                request.transport.abort()

    async def _say(self, line: bytes) -> None:
        for _, response in self._watches:
            with suppress(ConnectionResetError):
                await response.write(line)

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        if self._fault is not None and self._fault[0](request):
            self.met += 1
            answer = await self._fault[1].answer(request)
            if answer is not None:
                return answer
        return await self._pass_on(request)

    async def _pass_on(self, request: web.Request) -> web.StreamResponse:
        headers = {name: request.headers[name] for name in _PASSED_ON if name in request.headers}
        body = await request.read() or None
        timeout = aiohttp.ClientTimeout(total=None)
        async with self._session.request(
            request.method,
            f"{self._upstream}{request.path_qs}",
            data=body,
            headers=headers,
            ssl=self._trust,
            timeout=timeout,
        ) as upstream:
            kept = {name: upstream.headers[name] for name in _PASSED_BACK if name in upstream.headers}
            response = web.StreamResponse(status=upstream.status, headers=kept)
            watch = [(request, response)] if "watch" in request.query else []
            try:
                with suppress(ConnectionResetError):  # whoever asked has gone
                    await response.prepare(request)
                    self._watches += watch
                    async for chunk in upstream.content.iter_any():
                        await response.write(chunk)
            finally:
                self._watches = [each for each in self._watches if each not in watch]
        return response
