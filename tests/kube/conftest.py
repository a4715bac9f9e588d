"""Fixtures of the wire's tests: the fake server, clients for it, and time that passes without waiting."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from muster.operator.kube.auth import StaticAuth
from muster.operator.kube.client import ApiClient
from muster.operator.kube.credentials import Connection
from muster.operator.kube.informer import Informer, Listed, Timing
from muster.operator.kube.transport import Transport

from .fake_api import Ending, FakeApi, Stream
from .things import PATH, Journal, Thing, error_frame

RESOURCE = Listed(PATH, Thing)
HOLD = Stream()
"""A watch that says nothing and does not end."""
EXPIRED_INSIDE = Stream([error_frame(410, "Expired")], Ending.END)

Following = Callable[..., Awaitable[tuple[Informer[Thing], Journal]]]


@dataclass
class Time:
    """A clock that moves only when someone sleeps, and then at once. Starts at `now` seconds."""

    now: float = 1000.0
    slept: list[float] = field(default_factory=list)

    def clock(self) -> float:
        return self.now

    def nanos(self) -> int:
        return round(self.now * 1e9)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
async def fake() -> AsyncIterator[FakeApi]:
    server = FakeApi()
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
async def transport(fake: FakeApi) -> AsyncIterator[Transport]:
    async with Transport(Connection(fake.url, auth=StaticAuth())) as made:
        yield made


@pytest.fixture
def client(transport: Transport) -> ApiClient:
    return ApiClient(transport)


@pytest.fixture
def certificate() -> Path:
    """A self-signed certificate for 127.0.0.1, localhost and kubernetes.test, which is its own authority."""
    return Path(__file__).parent / "data" / "certificate.pem"


@pytest.fixture
def private_key() -> Path:
    return Path(__file__).parent / "data" / "key.pem"


@pytest.fixture
def server_tls(certificate: Path, private_key: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, private_key)
    return context


@pytest.fixture
async def follow(client: ApiClient, time: Time) -> AsyncIterator[Following]:
    """Starts an informer that sleeps in virtual time; it is cancelled after the test."""
    tasks: list[asyncio.Task[None]] = []

    async def start(resource: Listed[Thing] = RESOURCE, *, silence: float = 30) -> tuple[Informer[Thing], Journal]:
        journal = Journal()
        timing = Timing(sleep=time.sleep, random=lambda: 0.0, clock=time.clock, silence=silence)
        informer = Informer(client, resource, journal, timing=timing)
        tasks.append(asyncio.create_task(informer.run()))
        return informer, journal

    yield start
    for task in tasks:
        task.cancel()
    for result in await asyncio.gather(*tasks, return_exceptions=True):
        assert isinstance(result, asyncio.CancelledError)
