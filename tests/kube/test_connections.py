"""Kept connections: one request at a time, an answer for the request that asked for it, and nothing stale."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import uvloop

from muster.operator.kube import connections
from muster.operator.kube.auth import StaticAuth
from muster.operator.kube.client import ApiClient
from muster.operator.kube.connections import ConnectionPool, HttpResponse
from muster.operator.kube.credentials import Connection
from muster.operator.kube.transport import Transport

ASK = b"POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n"
SOON = 30.0


def ok(body: bytes, headers: str = "") -> bytes:
    return f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n{headers}\r\n".encode() + body


CUT = b""
"""Instead of a piece of an answer: the server closes the connection."""


@dataclass
class Server:
    """Answers the requests that come, in order, each with the pieces of one of `answers`."""

    answers: list[Sequence[bytes]]
    opened: int = 0
    closed: int = 0
    requests: int = 0
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    writers: list[asyncio.StreamWriter] = field(default_factory=list)
    server: asyncio.Server | None = None

    async def start(self, tls: ssl.SSLContext | None = None) -> int:
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=tls)
        port: int = self.server.sockets[0].getsockname()[1]
        return port

    async def stop(self) -> None:
        assert self.server is not None
        self.server.close()
        for writer in self.writers:
            writer.close()

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(SOON), self.changed:
            await self.changed.wait_for(condition)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
        await self._note(opened=1)
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                await self._note(requests=1)
                for piece in self.answers.pop(0):
                    if piece is CUT:
                        writer.transport.abort()
                        return
                    writer.write(piece)
                    await asyncio.sleep(0)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            await self._note(closed=1)

    async def _note(self, opened: int = 0, closed: int = 0, requests: int = 0) -> None:
        async with self.changed:
            self.opened, self.closed, self.requests = (
                self.opened + opened,
                self.closed + closed,
                self.requests + requests,
            )
            self.changed.notify_all()


Starting = Callable[..., Awaitable[tuple[Server, ConnectionPool]]]


@pytest.fixture
async def start() -> AsyncIterator[Starting]:
    made: list[tuple[Server, ConnectionPool]] = []

    async def starting(*answers: Sequence[bytes]) -> tuple[Server, ConnectionPool]:
        server = Server([*answers])
        pool = ConnectionPool("127.0.0.1", await server.start(), context=lambda: None)
        made.append((server, pool))
        return made[-1]

    yield starting
    for server, pool in made:
        await pool.close()
        await server.stop()


async def test_requests_one_after_another_share_a_connection(start: Starting) -> None:
    server, pool = await start([ok(b"a")], [ok(b"b")])
    assert [(await pool.request(ASK, within=SOON)).body for _ in range(2)] == [b"a", b"b"]
    assert server.opened == 1


async def test_requests_at_one_time_have_a_connection_each(start: Starting) -> None:
    server, pool = await start([ok(b"a")], [ok(b"b")], [ok(b"c")])
    both = await asyncio.gather(pool.request(ASK, within=SOON), pool.request(ASK, within=SOON))
    assert sorted(answer.body for answer in both) == [b"a", b"b"]
    await pool.request(ASK, within=SOON)
    assert server.opened == 2


@pytest.mark.parametrize(
    ("pieces", "answer"),
    [
        ([bytes([byte]) for byte in ok(b"split")], HttpResponse(200, b"split")),
        (
            [b"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nin\r\n4\r\n two\r\n", b"0\r\n\r\n"],
            HttpResponse(201, b"in two"),
        ),
        ([b"HTTP/1.1 100 Continue\r\nDate: now\r\n\r\n", ok(b"final")], HttpResponse(200, b"final")),
        (
            [b"HTTP/1.1 429 Too Many\r\nDATE: today\r\nretry-after: 7\r\nContent-Length: 0\r\n\r\n"],
            HttpResponse(429, b"", date="today", retry_after="7"),
        ),
    ],
)
async def test_an_answer_is_complete_however_it_comes(
    start: Starting, pieces: Sequence[bytes], answer: HttpResponse
) -> None:
    server, pool = await start(pieces, [ok(b"next")])
    assert await pool.request(ASK, within=SOON) == answer
    assert await pool.request(ASK, within=SOON) == HttpResponse(200, b"next")
    assert server.opened == 1


async def test_a_connection_that_the_server_gives_up_is_not_used_again(start: Starting) -> None:
    server, pool = await start([ok(b"last", "Connection: close\r\n")], [ok(b"a")], [ok(b"b")])
    assert (await pool.request(ASK, within=SOON)).body == b"last"
    assert (await pool.request(ASK, within=SOON)).body == b"a"
    server.writers[-1].close()
    async with asyncio.timeout(SOON):
        while pool._open:  # noqa: ASYNC110  # the pool reports no loss of an idle connection
            await asyncio.sleep(0)
    assert (await pool.request(ASK, within=SOON)).body == b"b"
    assert server.opened == 3


async def test_bytes_that_answer_no_request_are_never_taken_for_the_next_answer(start: Starting) -> None:
    server, pool = await start([ok(b"a")], [ok(b"b")])
    await pool.request(ASK, within=SOON)
    server.writers[0].write(b"HTTP/1.1 408 Request Timeout\r\nContent-")  # the rest would come with the next request
    await server.until(lambda: server.closed == 1)
    assert (await pool.request(ASK, within=SOON)).body == b"b"


async def test_a_second_answer_to_one_request_closes_the_connection(start: Starting) -> None:
    server, pool = await start([ok(b"a") + ok(b"forged")], [ok(b"b")])
    assert (await pool.request(ASK, within=SOON)).body == b"a"
    assert (await pool.request(ASK, within=SOON)).body == b"b"
    assert server.opened == 2


@pytest.mark.parametrize("pieces", [[b"SSH-2.0-OpenSSH\r\n"], [ok(b"long")[:-2], CUT], [CUT]])
async def test_an_answer_that_is_none_is_a_connection_error(start: Starting, pieces: Sequence[bytes]) -> None:
    server, pool = await start(pieces, [ok(b"a")])
    with pytest.raises(ConnectionError):
        await pool.request(ASK, within=SOON)
    assert (await pool.request(ASK, within=SOON)).body == b"a"
    assert server.opened == 2


async def test_the_answer_to_a_request_that_was_given_up_reaches_no_other(start: Starting) -> None:
    server, pool = await start([], [ok(b"b")])
    given_up = asyncio.create_task(pool.request(ASK, within=SOON))
    await server.until(lambda: server.requests == 1)
    given_up.cancel()
    with pytest.raises(asyncio.CancelledError):
        await given_up
    await server.until(lambda: server.closed == 1)
    assert (await pool.request(ASK, within=SOON)).body == b"b"


async def test_an_answer_that_does_not_come_in_time_closes_the_connection(start: Starting) -> None:
    server, pool = await start([])
    with pytest.raises(TimeoutError):
        await pool.request(ASK, within=0.01)
    await server.until(lambda: server.opened == server.closed)


async def test_nothing_is_sent_if_it_may_not_be_when_the_connection_is_ready(start: Starting) -> None:
    server, pool = await start([ok(b"a")])
    with pytest.raises(ConnectionAbortedError):
        await pool.request(ASK, within=SOON, may_send=lambda: False)
    await pool.request(ASK, within=SOON, may_send=lambda: True)
    assert (server.opened, server.requests) == (1, 1)


async def test_an_idle_connection_is_closed(start: Starting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_IDLE_SECONDS", 0.0)
    server, pool = await start([ok(b"a")], [ok(b"b")])
    for closed in (1, 2):
        await pool.request(ASK, within=SOON)
        await server.until(lambda closed=closed: server.closed == closed)  # type: ignore[misc]  # mypy cannot infer it


async def test_close_ends_requests_in_flight(start: Starting) -> None:
    server, pool = await start([])
    waits = asyncio.create_task(pool.request(ASK, within=SOON))
    await server.until(lambda: server.requests == 1)
    await pool.close()
    with pytest.raises(ConnectionError):
        await waits


async def test_a_new_tls_context_ends_connections_of_the_former(certificate: Path, private_key: Path) -> None:
    served = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    served.load_cert_chain(certificate, private_key)
    contexts = [ssl.create_default_context(cafile=certificate)]
    server = Server([[ok(b"a")], [ok(b"b")], [ok(b"c")]])
    pool = ConnectionPool(
        "127.0.0.1", await server.start(served), context=lambda: contexts[-1], server_name="kubernetes.test"
    )
    for opened in (1, 1, 2):
        if opened == 2:
            contexts.append(ssl.create_default_context(cafile=certificate))
        await pool.request(ASK, within=SOON)
        assert server.opened == opened
    await pool.close()
    await server.stop()


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
def test_the_pool_works_on_asyncio_and_uvloop(run: Callable[[Any], HttpResponse]) -> None:
    async def story() -> HttpResponse:
        server = Server([[ok(b"a")]])
        pool = ConnectionPool("127.0.0.1", await server.start(), context=lambda: None)
        answer = await pool.request(ASK, within=SOON)
        await pool.close()
        await server.stop()
        return answer

    assert run(story()) == HttpResponse(200, b"a")


async def test_a_header_with_a_line_break_is_refused() -> None:
    auth = StaticAuth()
    auth.current()["Authorization"] = "Bearer a\r\nX-Remote-User: admin"
    async with Transport(Connection("http://127.0.0.1:1", auth=auth)) as transport:
        with pytest.raises(ValueError, match="line break"):
            await ApiClient(transport).post("/api", b"{}")
