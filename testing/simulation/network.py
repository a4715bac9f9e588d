"""The network between a process and the API server in a simulation, with all its faults.

A `SimulatedTransport` replaces the one over HTTP. Each request travels there and back for a time of its own, so
requests overtake one another; each watch delivers its events in order, with any delay. `Weather` says how often
something goes wrong. A request that was sent arrives even if its sender has ended meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from email.utils import formatdate
from functools import lru_cache
from random import Random

import msgspec

from muster.operator.kube.errors import ConnectionRefused, TimedOut, Unreachable, error_from_response
from muster.operator.kube.transport import Reply, RequestOutcome

from .loop import Owner, SimulatedLoop
from .server import Answer, Request, SimulatedServer
from .streams import CarryOut, Record, SimulatedStream


@dataclass(frozen=True, slots=True)
class Weather:
    """The behaviour of a network, and of the server at its end, for a while. Probabilities are per request.

    Attributes:
        latency: the longest travel time of a message in one direction, in seconds.
        lag: the longest delay of an event of a watch, in seconds.
        lost: the probability that a request never arrives.
        unanswered: the probability that a request is carried out, but its answer never arrives.
        broken: the share of these two after which the client sees a broken connection; in the others it sees nothing.
        refusals: the probability that the server refuses a request: 403, 429, 500, 503, 504, or a conflict.
        about: the end of the paths of requests that are affected.
        shut: whether the server does not listen at all.
    """

    latency: float = 0.02
    lag: float = 0.02
    lost: float = 0.0
    unanswered: float = 0.0
    broken: float = 0.5
    refusals: float = 0.0
    about: str = ""
    shut: bool = False


CALM = Weather()
_REFUSALS = (
    (403, "Forbidden", None),
    (429, "TooManyRequests", "1"),
    (429, "TooManyRequests", None),
    (500, "InternalError", None),
    (503, "ServiceUnavailable", "1"),
    (503, "ServiceUnavailable", None),
    (504, "Timeout", None),
)
_CONFLICT = (409, "Conflict", None)


class SimulatedTransport:
    """The connection of one process to the server. Implements `client.RoundTripper`.

    Attributes:
        weather: the current behaviour of the network.
        silent: whether all messages are lost in both directions without a sign, as with a pulled cable.
    """

    def __init__(
        self,
        sender: str,
        server: SimulatedServer,
        loop: SimulatedLoop,
        backbone: Owner,
        *,
        random: Random,
        record: Record,
    ) -> None:
        """Messages in transit belong to `backbone`, not to their sender. `record` receives each that arrives."""
        self.weather = CALM
        self.silent = False
        self.closed = False
        self.record = record
        self.server = server
        self.loop = loop
        self.backbone = backbone
        self.random = random
        self.streams: dict[SimulatedStream, None] = {}
        self.readers: dict[SimulatedStream, None] = {}
        self._sender = sender
        self._listeners: list[Callable[[RequestOutcome], None]] = []

    @property
    def is_deaf(self) -> bool:
        """Whether a watch is half open, and its reader has yet to notice."""
        return any(stream.half_open for stream in self.readers)

    @property
    def host(self) -> str:
        """The API server's clock."""
        return "simulation"

    def subscribe(self, listener: Callable[[RequestOutcome], None]) -> None:
        """Call `listener` with the outcome of each request."""
        self._listeners.append(listener)

    def _report(self, outcome: RequestOutcome) -> None:
        for listener in self._listeners:
            listener(outcome)

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
        """See `Transport.request`."""
        request = Request(self._sender, method, path, body, content_type or "application/json")
        began = self.loop.time()
        try:
            async with asyncio.timeout(within):
                answer = await self.exchange(request, may_send)
        except TimeoutError:
            self._report(RequestOutcome(method, "<error>", within))
            raise TimedOut("the API server did not answer in time") from None
        self._report(RequestOutcome(method, str(answer.status), self.loop.time() - began, answer.date))
        if not answer.good:
            raise error_from_response(answer.status, answer.body, answer.retry_after)
        return Reply(answer.status, answer.body)

    def stream(self, path: str, *, silence: float) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """See `Transport.stream`."""
        return SimulatedStream(self, Request(self._sender, "GET", path), silence)

    async def exchange(
        self, request: Request, may_send: Callable[[], bool] | None = None, carry_out: CarryOut | None = None
    ) -> Answer:
        """A request and its answer. Raises ConnectionRefused and Unreachable; waits forever if a message is lost.

        `carry_out` handles the request at the server, by default `SimulatedServer.answer`.
        """
        if self.closed:
            raise Unreachable("the client is closed")
        if self.weather.shut:
            raise ConnectionRefused("connection refused")
        await asyncio.sleep(self.travel())
        if request.data is not None and may_send is not None and not may_send():
            raise Unreachable("the request may not be sent any more")
        waits: asyncio.Future[Answer] = self.loop.create_future()
        if self.silent or self._befalls(request, self.weather.lost):
            self._lose(waits)
        else:
            self.loop.call_later(
                self.travel(),
                self._arrive,
                request,
                waits,
                carry_out or self.server.answer,
                context=self.backbone.context,
            )
        return await waits

    def travel(self) -> float:
        """The travel time of a message."""
        return self.random.random() * self.weather.latency

    def lag(self) -> float:
        """The time until a watch notices a change."""
        return self.random.random() * self.weather.lag

    def cut(self) -> None:
        """Break the connections of all watches."""
        for stream in tuple(self.streams):
            stream.break_off()

    def fall_silent(self) -> None:
        """Leave all watches half open: no more events arrive, and the client sees no error."""
        for stream in tuple(self.streams):
            stream.mute()

    def close(self) -> None:
        """Note that the process has ended."""
        self.closed = True
        for stream in tuple(self.streams):
            stream.leave()

    def _arrive(self, request: Request, waits: asyncio.Future[Answer], carry_out: CarryOut) -> None:
        """Handle a request at the server, whether the client still waits or not."""
        refuses = self._befalls(request, self.weather.refusals)
        answer = self._refusal(request) if refuses else carry_out(request)
        if refuses:
            self.server.on_refusal(request)
        answer = Answer(answer.status, answer.body, answer.retry_after, _date(int(self.server.wall())))
        line = f"{request.sender} {request.method} {request.url} {answer.status}"
        self.record(line, request.data or b"", answer.body)
        if self.silent or self._befalls(request, self.weather.unanswered):
            self._lose(waits)
        else:
            self.loop.call_later(self.travel(), _deliver, waits, answer, context=self.backbone.context)

    def _refusal(self, request: Request) -> Answer:
        choices = (*_REFUSALS, _CONFLICT) if request.method in ("PUT", "PATCH") else _REFUSALS
        status, reason, retry_after = self.random.choice(choices)
        body = {"kind": "Status", "status": "Failure", "reason": reason, "message": "the weather", "code": status}
        return Answer(status, msgspec.json.encode(body), retry_after)

    def _befalls(self, request: Request, chance: float) -> bool:
        return chance > 0 and request.path.endswith(self.weather.about) and self.random.random() < chance

    def _lose(self, waits: asyncio.Future[Answer]) -> None:
        if self.random.random() < self.weather.broken:
            self.loop.call_later(self.travel(), _fail, waits, context=self.backbone.context)


@lru_cache(maxsize=64)
def _date(second: int) -> str:
    """A second since the epoch, as the `Date` header of all answers in that second."""
    return formatdate(second, usegmt=True)


def _deliver(waits: asyncio.Future[Answer], answer: Answer) -> None:
    if not waits.done():
        waits.set_result(answer)


def _fail(waits: asyncio.Future[Answer]) -> None:
    if not waits.done():
        waits.set_exception(Unreachable("connection broke"))
