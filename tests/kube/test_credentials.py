"""A connection is what kubectl would make of the same files and environment."""

import base64
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from muster.operator.kube.client import ApiClient
from muster.operator.kube.credentials import Connection, current_namespace, load_connection
from muster.operator.kube.errors import CredentialsError, Unreachable
from muster.operator.kube.transport import Transport

from .fake_api import FakeApi, Json
from .tunnel_proxy import TunnelProxy

NOWHERE: Mapping[str, str] = {"KUBECONFIG": "/nonexistent"}


def encoded(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Path:
    return tmp_path / "config"


def connection_of(
    path: Path, *, cluster: dict[str, Any], user: dict[str, Any] | None = None, environ: Mapping[str, str] | None = None
) -> Connection:
    document = {
        "current-context": "it",
        "contexts": [{"name": "it", "context": {"cluster": "c", "user": "u", "namespace": "team"}}],
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": user or {}}],
    }
    path.write_text(yaml.safe_dump(document))
    return load_connection(path, environ=environ or {})


def headers_of(connection: Connection) -> list[tuple[str, str]]:
    headers = connection.auth.current()
    assert headers is not None
    return list(headers.items())


def test_a_token_and_impersonation_become_headers(kubeconfig: Path) -> None:
    connection = connection_of(
        kubeconfig,
        cluster={"server": "https://api:6443/"},
        user={
            "token": "s3cret",
            "as": "jane",
            "as-uid": "7",
            "as-groups": ["dev", "ops"],
            "as-user-extra": {"example.org/scope": ["a", "b"]},
        },
    )
    assert connection.server == "https://api:6443"
    assert connection.namespace == "team"
    assert headers_of(connection) == [
        ("Impersonate-User", "jane"),
        ("Impersonate-Uid", "7"),
        ("Impersonate-Group", "dev"),
        ("Impersonate-Group", "ops"),
        ("Impersonate-Extra-example.org%2Fscope", "a"),
        ("Impersonate-Extra-example.org%2Fscope", "b"),
        ("Authorization", "Bearer s3cret"),
    ]
    assert "s3cret" not in repr(connection)


def test_a_username_and_password_become_basic_authentication(kubeconfig: Path) -> None:
    connection = connection_of(kubeconfig, cluster={"server": "https://api"}, user={"username": "a", "password": "b"})
    assert headers_of(connection) == [("Authorization", "Basic YTpi")]


@pytest.mark.parametrize(("scheme", "user"), [("http", {}), ("https", {}), ("https", {"token": "t"})])
def test_a_login_in_the_server_url_goes_before_other_credentials(
    kubeconfig: Path, scheme: str, user: dict[str, str]
) -> None:
    connection = connection_of(kubeconfig, cluster={"server": f"{scheme}://a:s%3Acret@api:6443/x"}, user=user)
    assert connection.server == f"{scheme}://api:6443/x"
    assert headers_of(connection) == [("Authorization", "Basic YTpzOmNyZXQ=")]


async def test_a_login_in_the_server_url_is_in_no_text(kubeconfig: Path) -> None:
    connection = connection_of(kubeconfig, cluster={"server": "https://admin:s3cret@127.0.0.1:1"})
    async with Transport(connection) as transport:
        with pytest.raises(Unreachable) as caught:
            await ApiClient(transport).get("/version")
    assert str(caught.value) == "connection to https://127.0.0.1:1 refused"
    assert "s3cret" not in repr(connection)


def test_a_token_file_beside_the_kubeconfig_is_found_and_goes_before_a_token(kubeconfig: Path) -> None:
    (kubeconfig.parent / "token").write_text("from-file")
    connection = connection_of(
        kubeconfig, cluster={"server": "https://api"}, user={"tokenFile": "token", "token": "fixed"}
    )
    assert headers_of(connection) == [("Authorization", "Bearer from-file")]


@pytest.mark.parametrize(
    ("server", "url"),
    [
        ("https://api:6443/k8s/clusters/c-1/?x=1#y", "https://api:6443/k8s/clusters/c-1"),
        ("api:8080", "http://api:8080"),
        ("https://[fd00::1]:6443", "https://[fd00::1]:6443"),
    ],
)
def test_the_server_url_is_brought_into_shape(kubeconfig: Path, server: str, url: str) -> None:
    assert connection_of(kubeconfig, cluster={"server": server}).server == url


def test_a_server_without_scheme_but_with_an_authority_speaks_tls(kubeconfig: Path, certificate: Path) -> None:
    cluster = {"server": "api:6443", "certificate-authority": str(certificate)}
    assert connection_of(kubeconfig, cluster=cluster).server == "https://api:6443"


def test_words_around_the_certificates_of_an_authority_are_passed_over(kubeconfig: Path, certificate: Path) -> None:
    authority = kubeconfig.parent / "ca.pem"
    authority.write_text(f"# Behörde für Entwicklung\n{certificate.read_text()}# Ende \N{EM DASH} fin\n")
    connection = connection_of(kubeconfig, cluster={"server": "https://api", "certificate-authority": "ca.pem"})
    assert connection.tls is not None
    assert len(connection.tls.context.get_ca_certs()) == 1


def test_no_credentials_are_sent_without_tls(kubeconfig: Path) -> None:
    connection = connection_of(kubeconfig, cluster={"server": "http://api"}, user={"token": "s3cret"})
    assert connection.tls is None
    assert headers_of(connection) == []


def test_the_kubeconfigs_proxy_goes_before_the_environments(kubeconfig: Path) -> None:
    environ = {"HTTPS_PROXY": "http://env:1"}
    own = connection_of(kubeconfig, cluster={"server": "https://api", "proxy-url": "http://own:2"}, environ=environ)
    general = connection_of(kubeconfig, cluster={"server": "https://api"}, environ=environ)
    assert own.proxy is not None
    assert own.proxy.url == "http://own:2"
    assert general.proxy is not None
    assert general.proxy.url == "http://env:1"


@pytest.mark.parametrize(
    ("cluster", "user", "problem"),
    [
        ({}, {}, "cluster 'c': server is not set"),
        ({"server": "ftp://x"}, {}, "cluster 'c': server is not an http or https URL"),
        ({"server": "https://x:port"}, {}, "cluster 'c': server is not an http or https URL"),
        (
            {"server": "https://x", "certificate-authority": "ca.pem"},
            {},
            "cluster 'c': certificate-authority DIR/ca.pem cannot be read: No such file or directory",
        ),
        (
            {"server": "https://x", "certificate-authority-data": "!"},
            {},
            "cluster 'c': certificate-authority-data is not base64",
        ),
        (
            {"server": "https://x", "certificate-authority-data": "czNjcmV0"},
            {},
            "cluster 'c': certificate-authority: not a PEM certificate",
        ),
        (
            {"server": "https://x", "certificate-authority-data": "YQ==", "certificate-authority": "ca.pem"},
            {},
            "cluster 'c': certificate-authority and certificate-authority-data are both set",
        ),
        (
            {"server": "https://x", "certificate-authority-data": "YQ==", "insecure-skip-tls-verify": True},
            {},
            "cluster 'c': certificate-authority and insecure-skip-tls-verify are both set",
        ),
        (
            {"server": "https://x", "proxy-url": "socks5://p"},
            {},
            "cluster 'c': proxy-url: proxies of scheme 'socks5' are not supported, only http and https",
        ),
        (
            {"server": "https://x"},
            {"client-certificate-data": "czNjcmV0"},
            "user 'u': client-certificate is set but client-key is not",
        ),
        (
            {"server": "https://x"},
            {"client-certificate-data": "czNjcmV0", "client-key-data": "czNjcmV0"},
            "user 'u': client certificate and key do not load",
        ),
        (
            {"server": "https://x"},
            {"token": "s3cret", "username": "x"},
            "user 'u': a token and a username are both set",
        ),
        (
            {"server": "https://x"},
            {"as-groups": ["x"]},
            "user 'u': as-uid, as-groups or as-user-extra is set but as is not",
        ),
        (
            {"server": "https://x"},
            {"auth-provider": {"name": "gcp"}},
            "user 'u': auth-provider 'gcp' is not supported; use an exec plugin",
        ),
        (
            {"server": "https://x"},
            {"auth-provider": {"name": "oidc"}, "exec": {"command": "x", "apiVersion": "v1"}},
            "user 'u': exec and auth-provider are both set",
        ),
    ],
)
def test_complaints_name_file_entry_and_field_and_no_secret(
    kubeconfig: Path, cluster: dict[str, Any], user: dict[str, Any], problem: str
) -> None:
    with pytest.raises(CredentialsError) as caught:
        connection_of(kubeconfig, cluster=cluster, user=user)
    assert str(caught.value) == f"{kubeconfig}: {problem.replace('DIR', str(kubeconfig.parent))}"


def test_a_missing_token_file_is_named(kubeconfig: Path) -> None:
    with pytest.raises(CredentialsError, match=r"/nope: token file cannot be read: No such file or directory$"):
        connection_of(kubeconfig, cluster={"server": "https://x"}, user={"tokenFile": "nope"})


@pytest.fixture
def service_account(tmp_path: Path, certificate: Path) -> Path:
    folder = tmp_path / "serviceaccount"
    folder.mkdir()
    (folder / "token").write_text("pod-token")
    (folder / "namespace").write_text("muster-system")
    (folder / "ca.crt").write_bytes(certificate.read_bytes())
    return folder


@pytest.mark.parametrize(
    ("host", "server"), [("10.96.0.1", "https://10.96.0.1:443"), ("fd00::1", "https://[fd00::1]:443")]
)
def test_in_a_pod_the_service_account_is_used(service_account: Path, host: str, server: str) -> None:
    environ = {**NOWHERE, "KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": "443"}
    connection = load_connection(environ=environ, service_account=service_account)
    assert (connection.server, connection.namespace) == (server, "muster-system")
    assert headers_of(connection) == [("Authorization", "Bearer pod-token")]


def test_a_kubeconfig_goes_before_the_service_account(kubeconfig: Path, service_account: Path) -> None:
    connection_of(kubeconfig, cluster={"server": "https://api"})
    environ = {"KUBECONFIG": str(kubeconfig), "KUBERNETES_SERVICE_HOST": "h", "KUBERNETES_SERVICE_PORT": "443"}
    assert load_connection(environ=environ, service_account=service_account).server == "https://api"


def test_a_service_account_without_its_files_is_pointed_out(tmp_path: Path) -> None:
    environ = {**NOWHERE, "KUBERNETES_SERVICE_HOST": "h", "KUBERNETES_SERVICE_PORT": "443"}
    with pytest.raises(CredentialsError, match=r"ca\.crt: cannot be read: No such file or directory$"):
        load_connection(environ=environ, service_account=tmp_path)


def test_without_credentials_all_checked_places_are_named(tmp_path: Path) -> None:
    with pytest.raises(CredentialsError, match="no kubeconfig was named, KUBECONFIG names no file that exists"):
        load_connection(environ=NOWHERE, service_account=tmp_path)


def test_the_current_namespace_is_the_contexts_or_the_pods_or_default(
    kubeconfig: Path, service_account: Path, tmp_path: Path
) -> None:
    connection_of(kubeconfig, cluster={"server": "https://api"})
    assert current_namespace(kubeconfig) == "team"
    assert current_namespace(environ=NOWHERE, service_account=service_account) == "muster-system"
    assert current_namespace(environ=NOWHERE, service_account=tmp_path) == "default"


@pytest.fixture
def mutual_tls(certificate: Path, private_key: Path) -> ssl.SSLContext:
    """A server's context that demands a client certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, private_key)
    context.load_verify_locations(certificate)
    context.verify_mode = ssl.CERT_REQUIRED
    return context


async def get_over(server: FakeApi, connection: Connection) -> int:
    server.on("GET", "/version", Json({}))
    async with Transport(connection) as transport:
        return (await ApiClient(transport).get("/version")).status


async def test_server_and_client_know_each_other_by_certificate(
    kubeconfig: Path, certificate: Path, private_key: Path, mutual_tls: ssl.SSLContext
) -> None:
    server = FakeApi()
    await server.start(mutual_tls)
    cluster = {"server": server.url, "certificate-authority-data": encoded(certificate)}
    inline = {"client-certificate-data": encoded(certificate), "client-key-data": encoded(private_key)}
    files = {"client-certificate": str(certificate), "client-key": str(private_key)}
    assert await get_over(server, connection_of(kubeconfig, cluster=cluster, user=inline)) == 200
    assert await get_over(server, connection_of(kubeconfig, cluster=cluster, user=files)) == 200
    with pytest.raises(Unreachable):
        await get_over(server, connection_of(kubeconfig, cluster=cluster))
    await server.stop()


async def test_a_server_of_another_authority_or_name_is_not_trusted(
    kubeconfig: Path, certificate: Path, server_tls: ssl.SSLContext
) -> None:
    server = FakeApi()
    await server.start(server_tls)
    known = {"server": server.url, "certificate-authority": str(certificate)}
    with pytest.raises(Unreachable, match=r"TLS to https://127\.0\.0\.1:"):
        await get_over(server, connection_of(kubeconfig, cluster={"server": server.url}))
    with pytest.raises(Unreachable, match=r"TLS to https://127\.0\.0\.1:"):
        await get_over(server, connection_of(kubeconfig, cluster={**known, "tls-server-name": "other.test"}))
    renamed = connection_of(kubeconfig, cluster={**known, "tls-server-name": "kubernetes.test"})
    assert await get_over(server, renamed) == 200
    blind = connection_of(kubeconfig, cluster={"server": server.url, "insecure-skip-tls-verify": True})
    assert await get_over(server, blind) == 200
    await server.stop()


async def test_a_tls_server_is_reached_through_the_tunnel_of_a_proxy(
    kubeconfig: Path, certificate: Path, server_tls: ssl.SSLContext
) -> None:
    server = FakeApi()
    await server.start(server_tls)
    async with TunnelProxy() as proxy:
        cluster = {
            # Loopback is never proxied by environment, but a kubeconfig's own proxy goes before that.
            "server": server.url,
            "certificate-authority": str(certificate),
            "proxy-url": f"http://me:pass@127.0.0.1:{proxy.port}",
        }
        assert await get_over(server, connection_of(kubeconfig, cluster=cluster)) == 200
        assert proxy.asked.startswith(f"CONNECT {server.url.removeprefix('https://')} HTTP/1.1".encode())
        assert b"Proxy-Authorization: Basic bWU6cGFzcw==" in proxy.asked
    await server.stop()
