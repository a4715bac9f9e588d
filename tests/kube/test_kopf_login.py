"""kopf reaches the API server the way that everything else does."""

import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import kopf
import pytest

from muster.operator.kube.auth import StaticAuth
from muster.operator.kube.credentials import Connection
from muster.operator.kube.errors import CredentialsError
from muster.operator.kube.proxy import Proxy, parse_proxy
from muster.operator.kube.tls import ClientTls
from muster.operator.process.kopf_login import KopfLogin

from .fake_api import FakeApi, Json
from .tunnel_proxy import TunnelProxy

LOGIN = "Basic bWU6cGFzcw=="


async def get_version(fake: FakeApi, connection: Connection) -> int:
    fake.on("GET", "/version", Json({}))
    session = await KopfLogin(connection)()
    async with session.aiohttp_session as client, client.get(f"{session.server}/version") as response:
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
    assert await get_version(secured, named) == 200
    misnamed = Connection(secured.url, auth=StaticAuth(), tls=tls, tls_server_name="other.test")
    with pytest.raises(aiohttp.ClientConnectorCertificateError):
        await get_version(secured, misnamed)


async def test_a_proxy_that_asks_for_credentials_gets_them(secured: FakeApi, tls: ClientTls) -> None:
    async with TunnelProxy() as proxy:
        connection = Connection(secured.url, auth=StaticAuth(), tls=tls, proxy=proxy_at(proxy.port))
        assert await get_version(secured, connection) == 200
        assert f"Proxy-Authorization: {LOGIN}".encode() in proxy.asked
    assert "Proxy-Authorization" not in secured.asked[0].headers


async def test_a_proxy_gets_credentials_for_a_plain_server_too(fake: FakeApi) -> None:
    connection = Connection("http://api.corp", auth=StaticAuth(), proxy=proxy_at(int(fake.url.rpartition(":")[2])))
    assert await get_version(fake, connection) == 200
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
