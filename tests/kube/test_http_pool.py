"""Connections are used again while that is right, and what goes wrong on one of them is told.

Everything is tried on asyncio's own event loop and on the one that Muster runs on: their transports differ.
"""

import asyncio
import socket
import ssl
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Self

import pytest
import uvloop

from muster.operator.kube import http_pool
from muster.operator.kube.http_answer import Answer, NoAnswerError
from muster.operator.kube.http_pool import DisconnectedError, Pool, Server

from .fake_api import until

REQUEST = b"GET / HTTP/1.1\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

Scenario = Callable[[], Coroutine[Any, Any, None]]
Run = Callable[[Scenario], None]


class Act(NamedTuple):
    """What the server does about a request: sends this, and closes the connection or does not."""

    send: bytes = OK
    close: bool = False


class Scripted:
    """A server that does about one request after another what a test told it."""

    def __init__(self, *acts: Act, tls: ssl.SSLContext | None = None) -> None:
        self.acts = list(acts)
        self.connections = 0
        self.requests = 0
        self._tls = tls
        self._writers: list[asyncio.StreamWriter] = []

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._tls)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()
        await self._server.wait_closed()

    def say(self, words: bytes) -> None:
        """Send something that nobody asked for on all connections."""
        for writer in self._writers:
            writer.write(words)

    def pool(self) -> Pool:
        return Pool(Server("127.0.0.1", self.port, "localhost"), make_socket=lambda found: socket.socket(*found[:3]))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.append(writer)
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                await reader.readuntil(b"\r\n\r\n")
                self.requests += 1
                act = self.acts.pop(0) if self.acts else Act()
                writer.write(act.send)
                if act.close:
                    break
        writer.close()


@pytest.fixture(params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Run:
    """Runs a scenario on an event loop of its own."""

    def run_on_loop(scenario: Scenario) -> None:
        with asyncio.Runner(loop_factory=request.param) as runner:
            runner.run(scenario())

    return run_on_loop


async def ask(pool: Pool, *, tls: ssl.SSLContext | None = None, repeatable: bool = True, within: float = 5.0) -> Answer:
    return await pool.exchange(REQUEST, tls=tls, repeatable=repeatable, within=within)


def test_a_connection_is_used_again(run: Run) -> None:
    async def scenario() -> None:
        async with Scripted() as server:
            pool = server.pool()
            for _ in range(3):
                assert await ask(pool) == Answer(200, b"ok", None, reusable=True)
            assert (server.connections, server.requests) == (1, 3)
            await pool.close()

    run(scenario)


def test_requests_at_a_time_have_connections_of_their_own(run: Run) -> None:
    async def scenario() -> None:
        async with Scripted() as server:
            pool = server.pool()
            await asyncio.gather(*(ask(pool) for _ in range(4)))
            assert server.connections == 4
            await asyncio.gather(*(ask(pool) for _ in range(4)))
            assert server.connections == 4
            await pool.close()

    run(scenario)


def test_large_answers_come_whole(run: Run) -> None:
    body = bytes(range(256)) * 8000

    async def scenario() -> None:
        async with Scripted(Act(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))) as server:
            pool = server.pool()
            assert (await ask(pool)).body == body
            await pool.close()

    run(scenario)


@pytest.mark.parametrize(
    "act",
    [
        Act(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"),
        Act(b"HTTP/1.1 200 OK\r\n\r\nok", close=True),
        Act(OK, close=True),
    ],
)
def test_a_connection_that_the_server_closes_is_not_used_again(run: Run, act: Act) -> None:
    async def scenario() -> None:
        async with Scripted(act) as server:
            pool = server.pool()
            assert (await ask(pool)).body == b"ok"
            await until(lambda: not pool.open_connections)
            assert (await ask(pool)).body == b"ok"
            assert server.connections == 2
            await pool.close()

    run(scenario)


def test_a_connection_that_lay_idle_for_long_is_not_used_again(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_pool, "_IDLE_SECONDS", -1.0)

    async def scenario() -> None:
        async with Scripted() as server:
            pool = server.pool()
            await ask(pool)
            await ask(pool)
            assert server.connections == 2
            await pool.close()

    run(scenario)


def test_a_request_that_may_be_repeated_survives_the_end_of_an_idle_connection(run: Run) -> None:
    async def scenario() -> None:
        async with Scripted(Act(), Act(b"", close=True)) as server:
            pool = server.pool()
            await ask(pool)
            assert (await ask(pool)).status == 200
            assert (server.connections, server.requests) == (2, 3)
            await pool.close()

    run(scenario)


def test_a_request_that_may_not_be_repeated_is_sent_once(run: Run) -> None:
    async def scenario() -> None:
        async with Scripted(Act(), Act(b"", close=True)) as server:
            pool = server.pool()
            await ask(pool)
            with pytest.raises(DisconnectedError):
                await ask(pool, repeatable=False)
            assert (server.connections, server.requests) == (1, 2)
            await pool.close()

    run(scenario)


def test_a_fresh_connection_that_the_server_closes_is_not_tried_again(run: Run) -> None:
    async def scenario() -> None:
        async with Scripted(Act(b"", close=True)) as server:
            pool = server.pool()
            with pytest.raises(DisconnectedError):
                await ask(pool)
            assert server.requests == 1
            await pool.close()

    run(scenario)


def test_half_an_answer_is_none(run: Run) -> None:
    async def scenario() -> None:
        async with Scripted(Act(OK[:-1], close=True), Act(b"no HTTP at all\r\n\r\n")) as server:
            pool = server.pool()
            for fault in ("ended in the middle", "not HTTP/1.1"):
                with pytest.raises(NoAnswerError, match=fault):
                    await ask(pool)
            assert (await ask(pool)).status == 200
            assert server.connections == 3
            await pool.close()

    run(scenario)


def test_an_answer_that_is_late_ends_its_connection(run: Run) -> None:
    async def scenario() -> None:
        async with Scripted(Act(b"HTTP/1.1 200")) as server:
            pool = server.pool()
            with pytest.raises(TimeoutError):
                await ask(pool, within=0.01)
            assert (await ask(pool)).status == 200
            assert server.connections == 2
            await pool.close()

    run(scenario)


def test_a_request_that_is_given_up_ends_its_connection(run: Run) -> None:
    async def scenario() -> None:
        async with Scripted(Act(b"")) as server:
            pool = server.pool()
            asked = asyncio.create_task(ask(pool))
            await until(lambda: server.requests)
            asked.cancel()
            await asyncio.gather(asked, return_exceptions=True)
            assert asked.cancelled()
            assert (await ask(pool)).status == 200
            assert server.connections == 2
            await pool.close()

    run(scenario)


def test_what_comes_unasked_ends_the_connection(run: Run) -> None:
    async def scenario() -> None:
        async with Scripted(Act()) as server:
            pool = server.pool()
            await ask(pool)
            server.say(b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n")
            await until(lambda: not pool.open_connections)
            assert (await ask(pool)).status == 200
            assert server.connections == 2
            await pool.close()

    run(scenario)


def test_a_closed_pool_ends_what_is_under_way_and_takes_nothing_more(run: Run) -> None:
    async def scenario() -> None:
        async with Scripted(Act(), Act(b"")) as server:
            pool = server.pool()
            await asyncio.gather(ask(pool))
            asked = asyncio.create_task(ask(pool))
            await until(lambda: server.requests == 2)
            await pool.close()
            assert not pool.open_connections
            with pytest.raises(ConnectionError):
                await asked
            with pytest.raises(ConnectionError, match="the pool is closed"):
                await ask(pool)

    run(scenario)


def test_a_new_tls_context_brings_new_connections(run: Run, certificate: Path, private_key: Path) -> None:
    server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_side.load_cert_chain(certificate, private_key)
    one, other = (ssl.create_default_context(cafile=str(certificate)) for _ in range(2))

    async def scenario() -> None:
        async with Scripted(tls=server_side) as server:
            pool = server.pool()
            for tls, connections in ((one, 1), (one, 1), (other, 2), (other, 2)):
                assert (await ask(pool, tls=tls)).status == 200
                assert server.connections == connections
            with pytest.raises(ssl.SSLCertVerificationError):
                await ask(pool, tls=ssl.create_default_context())
            await pool.close()

    run(scenario)


def test_nobody_listening_is_told(run: Run) -> None:
    async def scenario() -> None:
        async with Scripted() as server:
            pool = server.pool()
        with pytest.raises(ConnectionRefusedError):
            await ask(pool)
        await pool.close()

    run(scenario)
