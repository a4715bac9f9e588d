"""kopf reaches the API server the way that everything else does."""

import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import kopf
import pytest

from muster.operator.failures import in_words
from muster.operator.kube.auth import StaticAuth
from muster.operator.kube.credentials import Connection
from muster.operator.kube.errors import CredentialsError
from muster.operator.kube.proxy import Proxy, parse_proxy
from muster.operator.kube.tls import ClientTls
from muster.operator.process.kopf_login import KopfLogin

from .fake_api import Answer, Ending, FakeApi, Json, Raw, Stream
from .tunnel_proxy import TunnelProxy

LOGIN = "Basic bWU6cGFzcw=="
VERSIONS = Json({"kind": "APIVersions", "versions": ["v1"]})
FOREIGN = "the answer to /api is not one of a Kubernetes API server: "


async def get_versions(fake: FakeApi, connection: Connection, answer: Answer = VERSIONS) -> int:
    fake.on("GET", "/api", answer)
    session = await KopfLogin(connection)()
    async with session.aiohttp_session as client, client.get(f"{session.server}/api") as response:
        return response.status


@pytest.fixture
def tls(certificate: Path) -> ClientTls:
    return ClientTls(authority=certificate.read_bytes(), insecure=False, origin="a test")


def proxy_at(port: int) -> Proxy:
    return parse_proxy(f"http://me:pass@127.0.0.1:{port}", origin="a test")


@pytest.fixture
async def secured(server_tls: ssl.SSLContext) -> AsyncIterator[FakeApi]:
    server = FakeApi()
    await server.start(server_tls)
    yield server
    await server.stop()


async def test_the_certificate_is_checked_against_the_name_that_the_kubeconfig_gives(
    secured: FakeApi, tls: ClientTls
) -> None:
    named = Connection(secured.url, auth=StaticAuth(), tls=tls, tls_server_name="kubernetes.test")
    assert await get_versions(secured, named) == 200
    misnamed = Connection(secured.url, auth=StaticAuth(), tls=tls, tls_server_name="other.test")
    with pytest.raises(aiohttp.ClientConnectorCertificateError):
        await get_versions(secured, misnamed)


async def test_a_proxy_that_asks_for_credentials_gets_them(secured: FakeApi, tls: ClientTls) -> None:
    async with TunnelProxy() as proxy:
        connection = Connection(secured.url, auth=StaticAuth(), tls=tls, proxy=proxy_at(proxy.port))
        assert await get_versions(secured, connection) == 200
        assert f"Proxy-Authorization: {LOGIN}".encode() in proxy.asked
    assert "Proxy-Authorization" not in secured.asked[0].headers


async def test_a_proxy_gets_credentials_for_a_plain_server_too(fake: FakeApi) -> None:
    connection = Connection("http://api.corp", auth=StaticAuth(), proxy=proxy_at(int(fake.url.rpartition(":")[2])))
    assert await get_versions(fake, connection) == 200
    assert fake.asked[0].headers["Proxy-Authorization"] == LOGIN


async def test_missing_credentials_are_reported_in_a_line_and_asked_for_later() -> None:
    class Broken(StaticAuth):
        def current(self) -> None:  # type: ignore[override]
            return None

        async def renew(self, rejected: object) -> bool:
            raise CredentialsError("exec plugin 'login' failed")

    with pytest.raises(kopf.TemporaryError, match=r"exec plugin 'login' failed$") as caught:
        await KopfLogin(Connection("http://api.corp", auth=Broken()))()
    assert caught.value.delay == 60


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Raw(b"<html>\n<p>Back soon</html>\n"), f"{FOREIGN}application/octet-stream: <html> <p>Back soon</html>"),
        (Raw(b"<" * 1000), f"{FOREIGN}application/octet-stream: {'<' * 100}…"),
        (Raw(b"\xff\x1b[31m"), f"{FOREIGN}application/octet-stream: \N{REPLACEMENT CHARACTER}[31m"),
        (Json("<html>"), f'{FOREIGN}application/json: "<html>"'),
        (Json({"ok": True}), f'{FOREIGN}application/json: {{"ok": true}}'),
        (Stream([b"{{{"], Ending.END), f"{FOREIGN}application/json: {{{{{{"),
        (Stream([b"[" * 100_000], Ending.END), f"{FOREIGN}application/json: {'[' * 100}…"),
        (Stream([b'{"kind": '], Ending.CUT), "the answer to /api broke off: unexpected EOF"),
    ],
    ids=["a page", "a long page", "bytes", "a text", "another program", "no JSON", "deep lists", "half an answer"],
)
async def test_an_answer_of_another_program_is_tried_again_like_a_refused_connection(
    fake: FakeApi, answer: Answer, words: str
) -> None:
    with pytest.raises(aiohttp.ClientConnectionError) as caught:  # after which kopf tries again
        await get_versions(fake, Connection(fake.url, auth=StaticAuth()), answer)
    assert in_words(caught.value) == words


async def test_a_refusal_and_a_watch_reach_kopf_unread(fake: FakeApi) -> None:
    connection = Connection(fake.url, auth=StaticAuth())
    assert await get_versions(fake, connection, Raw(b"down", status=503)) == 503
    fake.on("WATCH", "/api", Stream([b"<html>"]))
    session = await KopfLogin(connection)()
    async with session.aiohttp_session as client, client.get(f"{fake.url}/api?watch=true") as response:
        assert await response.content.readany() == b"<html>"
