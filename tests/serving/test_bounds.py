"""Strangers at the port: real connections, on the event loop of the process and on that of the tests."""

import asyncio
import gc
import logging
import os
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import pytest
import uvloop
from aiohttp import web

from muster.operator.serving import Bounds, Limits, Server, listener, self_signed

# uvloop goes on after what a signal's handler raises, so a test that hangs is ended with its process.
pytestmark = pytest.mark.timeout(method="thread")

PATIENT = Bounds(idle_seconds=60, request_seconds=60)
HASTY = Bounds(idle_seconds=0.05, request_seconds=0.05)
GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
TRUSTING = ssl.create_default_context()
TRUSTING.check_hostname = False
TRUSTING.verify_mode = ssl.CERT_NONE


@dataclass
class Site:
    """A server that says hello, more than a client takes at once, or nothing until the test lets it."""

    server: Server
    port: int
    tls: bool
    release: asyncio.Event
    asked: asyncio.Event

    async def connect(self, *, handshake: bool = True) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        context = TRUSTING if self.tls and handshake else None
        return await asyncio.open_connection("127.0.0.1", self.port, ssl=context)

    async def ask(self, request: bytes = GET) -> bytes:
        """The first line of the answer; b"" when there is none."""
        reader, writer = await self.connect()
        writer.write(request)
        line = await line_of(reader)
        writer.close()
        return line


async def line_of(reader: asyncio.StreamReader) -> bytes:
    try:
        return (await reader.readline()).strip()
    except ConnectionError:
        return b""


async def closed(reader: asyncio.StreamReader) -> bool:
    """Waits until the server ends the connection; whether it said nothing before."""
    try:
        return await reader.read() == b""
    except (ConnectionError, ssl.SSLError):
        return True


@asynccontextmanager
async def site(bounds: Bounds, *, tls: bool = False) -> AsyncIterator[Site]:
    release, asked = asyncio.Event(), asyncio.Event()

    async def hello(_: web.Request) -> web.Response:
        return web.Response(text="hello")

    async def endless(_: web.Request) -> web.Response:
        return web.Response(body=b"x" * (32 << 20))

    async def held(_: web.Request) -> web.Response:
        asked.set()
        await release.wait()
        return web.Response(text="at last")

    app = web.Application(client_max_size=1000)
    app.router.add_routes([web.get("/", hello), web.get("/endless", endless), web.get("/held", held)])
    app.router.add_post("/", hello)
    context = await self_signed(["localhost"]) if tls else None
    server = Server(app, host="127.0.0.1", port=0, tls=context, bounds=bounds)
    port = await server.start()
    try:
        yield Site(server, port, tls, release, asked)
    finally:
        await server.stop()
    assert len(server.connections) == 0


@pytest.mark.usefixtures("own_objects_alone")
@pytest.mark.parametrize("asks", [False, True])
@pytest.mark.parametrize("tls", [False, True])
async def test_nothing_of_a_connection_that_is_gone_waits_for_the_collector(tls: bool, asks: bool) -> None:
    if tls and not asks and not isinstance(asyncio.get_running_loop(), uvloop.Loop):
        pytest.skip("asyncio itself keeps what a handshake left that did not end; the process runs on uvloop")

    def kept() -> int:
        return sum(type(each).__name__ in ("_Guest", "OpenConnection", "RequestHandler") for each in gc.get_objects())

    async with site(PATIENT, tls=tls) as there:
        gc.collect()
        gc.disable()
        before = kept()
        try:
            for _ in range(3):
                if asks:
                    await there.ask()
                else:
                    _, writer = await there.connect(handshake=False)
                    writer.close()
            async with asyncio.timeout(10):
                while True:
                    if kept() <= before and not len(there.server.connections):
                        break
                    await asyncio.sleep(0.01)
        finally:
            gc.enable()


@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.parametrize("sent", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: x\r\n"])
async def test_a_request_that_does_not_come_is_not_waited_for(sent: bytes, tls: bool) -> None:
    async with site(HASTY, tls=tls) as there:
        reader, writer = await there.connect()
        writer.write(sent)
        assert await closed(reader)
        writer.close()


async def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    async with site(HASTY) as there:
        reader, writer = await there.connect()
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf")
        assert await closed(reader)
        writer.close()


async def test_an_answer_that_the_client_does_not_read_is_aborted() -> None:
    async with site(replace(HASTY, idle_seconds=60)) as there:
        reader, writer = await there.connect()
        writer.write(GET.replace(b"/ ", b"/endless ", 1))
        assert (await line_of(reader)).endswith(b"200 OK")
        while len(there.server.connections):  # noqa: ASYNC110  # the book has no event for it
            await asyncio.sleep(0.001)
        writer.close()


async def test_a_handshake_that_does_not_come_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "HANDSHAKE_SECONDS", 0.05)
    async with site(PATIENT, tls=True) as there:
        reader, writer = await there.connect(handshake=False)
        assert await closed(reader)
        writer.close()
        assert len(there.server.connections) == 0


@pytest.mark.parametrize("tls", [False, True])
async def test_idle_connections_do_not_delay_other_clients(tls: bool) -> None:
    limits = Limits(total=12, per_address=12, handshakes=4)
    before = len(os.listdir("/proc/self/fd"))
    async with site(replace(PATIENT, limits=limits), tls=tls) as there:
        idle = [await there.connect(handshake=False) for _ in range(60)]
        assert (await there.ask()).endswith(b"200 OK")
        assert len(there.server.connections) <= 12
        for _, writer in idle:
            writer.close()
        for _, writer in idle:
            await asyncio.gather(writer.wait_closed(), return_exceptions=True)
    await asyncio.sleep(0)
    assert len(os.listdir("/proc/self/fd")) <= before + 2  # what the loop keeps for itself


async def test_a_request_under_way_outlives_a_flood() -> None:
    async with site(replace(PATIENT, limits=Limits(total=4, per_address=4))) as there:
        reader, writer = await there.connect()
        writer.write(GET.replace(b"/ ", b"/held ", 1))
        await there.asked.wait()
        for _ in range(20):
            await there.ask()
        there.release.set()
        assert (await line_of(reader)).endswith(b"200 OK")
        writer.close()


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    with caplog.at_level(logging.WARNING):
        yield caplog


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        (b"nonsense\r\n\r\n", b"400 Bad Request"),
        (b"GET / HTTP/9.9\r\n\r\n", b"400 Bad Request"),
        (b"GET / HTTP/1.1\r\nno colon\r\n\r\n", b"400 Bad Request"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", b"400 Bad Request"),
        (b"GET /" + b"x" * 20000 + b" HTTP/1.1\r\n\r\n", b"400 Bad Request"),
        (b"GET / HTTP/1.1\r\nA: " + b"x" * 20000 + b"\r\n\r\n", b"400 Bad Request"),
        (b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 200 + b"\r\n", b"400 Bad Request"),
        (b"POST / HTTP/1.1\r\nContent-Length: -4\r\n\r\n", b"400 Bad Request"),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", b"400 Bad Request"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2000\r\n\r\n" + b"x" * 2000, b"413 Request Entity Too Large"),
        (b"GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n", b"404 Not Found"),
        (b"DELETE / HTTP/1.1\r\nHost: x\r\n\r\n", b"405 Method Not Allowed"),
    ],
)
async def test_bytes_that_are_no_request_are_refused_and_write_nothing_to_the_log(
    logged: pytest.LogCaptureFixture, request_: bytes, answer: bytes
) -> None:
    async with site(PATIENT) as there:
        assert (await there.ask(request_)).endswith(answer)
    assert logged.text == ""


async def test_bytes_that_are_no_handshake_write_nothing_to_the_log(logged: pytest.LogCaptureFixture) -> None:
    async with site(PATIENT, tls=True) as there:
        reader, writer = await there.connect(handshake=False)
        writer.write(GET)
        await closed(reader)
        writer.close()
        assert (await there.ask()).endswith(b"200 OK")
    assert logged.text == ""
