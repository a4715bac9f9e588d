"""Exec plugins and OIDC hand out credentials, or say clearly why not."""

import base64
import json
import stat
from pathlib import Path
from typing import Any

import pytest
import yaml

from muster.operator.kube.auth import PluginAuth
from muster.operator.kube.credentials import Connection, load_connection
from muster.operator.kube.errors import CredentialsError

API_VERSION = "client.authentication.k8s.io/v1"


def credential(**status: object) -> str:
    return answer(status)


def answer(status: object) -> str:
    return json.dumps({"apiVersion": API_VERSION, "kind": "ExecCredential", "status": status})


class Plugin:
    """A shell script beside a kubeconfig that names it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.info = folder / "info.json"

    def prints(self, text: str) -> None:
        self.does(f"cat <<'END'\n{text}\nEND")

    def does(self, script: str) -> None:
        path = self._folder / "plugin"
        path.write_text(f'#!/bin/sh\nprintf "%s" "$KUBERNETES_EXEC_INFO" > {self.info}\n{script}\n')
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def connection(self, cluster: dict[str, Any] | None = None, **exec_: Any) -> Connection:
        document = {
            "current-context": "it",
            "contexts": [{"name": "it", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"server": "https://api", **(cluster or {})}}],
            "users": [
                {"name": "u", "user": {"exec": {"command": "./plugin", "apiVersion": API_VERSION, **exec_}}},
            ],
        }
        config = self._folder / "config"
        config.write_text(yaml.safe_dump(document))
        return load_connection(config, environ={})


@pytest.fixture
def pem(certificate: Path, private_key: Path) -> tuple[str, str]:
    """The certificate and its key."""
    return certificate.read_text(), private_key.read_text()


@pytest.fixture
def plugin(tmp_path: Path) -> Plugin:
    return Plugin(tmp_path)


async def test_a_plugin_hands_out_a_token_until_it_expires(plugin: Plugin) -> None:
    plugin.prints(credential(token="t0ken", expirationTimestamp="2999-01-01T00:00:00Z"))
    auth = plugin.connection().auth
    assert auth.current() is None
    assert await auth.renew(None) is True
    assert auth.current() == {"Authorization": "Bearer t0ken"}
    plugin.prints(credential(token="old", expirationTimestamp="2001-01-01T00:00:00Z"))
    await auth.renew(auth.current())
    assert auth.current() is None


async def test_a_plugin_gets_its_arguments_and_environment(plugin: Plugin) -> None:
    plugin.does(f"""echo '{credential(token="PLACE")}' | sed "s/PLACE/$1-$2-$COLOUR/" """)
    auth = plugin.connection(args=["a", "b"], env=[{"name": "COLOUR", "value": "blue"}]).auth
    await auth.renew(None)
    assert auth.current() == {"Authorization": "Bearer a-b-blue"}


async def test_a_plugin_gets_the_cluster_when_it_asks(plugin: Plugin, certificate: Path, pem: tuple[str, str]) -> None:
    plugin.prints(credential(token="t"))
    cluster = {
        "certificate-authority": str(certificate),
        "tls-server-name": "kubernetes.test",
        "proxy-url": "http://proxy:1",
        "extensions": [{"name": "client.authentication.k8s.io/exec", "extension": {"audience": "x"}}],
    }
    await plugin.connection(cluster, provideClusterInfo=True).auth.renew(None)
    assert json.loads(plugin.info.read_text())["spec"]["cluster"] == {
        "server": "https://api",
        "tls-server-name": "kubernetes.test",
        "certificate-authority-data": base64.b64encode(pem[0].encode()).decode(),
        "proxy-url": "http://proxy:1",
        "config": {"audience": "x"},
    }
    await plugin.connection(cluster).auth.renew(None)
    assert "cluster" not in json.loads(plugin.info.read_text())["spec"]


async def test_a_new_client_certificate_comes_with_a_new_tls_context(plugin: Plugin, pem: tuple[str, str]) -> None:
    plugin.prints(credential(clientCertificateData=pem[0], clientKeyData=pem[1]))
    connection = plugin.connection()
    assert connection.tls is not None
    before = connection.tls.context
    await connection.auth.renew(None)
    assert connection.auth.current() == {}
    assert connection.tls.context is not before


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("echo nonsense", "exec plugin './plugin' failed: exec: failed to decode process output"),
        ("echo denied >&2; exit 3", "exec plugin './plugin' failed: exec: process returned 3. denied"),
        ("echo '{}'", "exec plugin './plugin' failed: exec: malformed response. missing key 'apiVersion'"),
        (f"echo '{credential()}'", "exec plugin './plugin' gave neither token nor certificate"),
        (
            f"echo '{credential(token='t', expirationTimestamp='soon')}'",
            "exec plugin gave a wrong expirationTimestamp 'soon'",
        ),
        ("echo 17", "exec plugin './plugin' failed: exec: the output is no ExecCredential"),
        (r"printf '\377'", "exec plugin './plugin' failed: exec: the output is no ExecCredential"),
        (
            f"echo '{answer('oops')}'",
            "exec plugin './plugin' answered nonsense: must be of type object, not string",
        ),
        (
            f"echo '{credential(token='t', expirationTimestamp=17)}'",
            "exec plugin './plugin' answered nonsense: expirationTimestamp: must be of type string, not integer",
        ),
        (
            f"echo '{credential(token=['t'])}'",
            "exec plugin './plugin' answered nonsense: token: must be of type string, not array",
        ),
        (
            f"printf '%s' '{credential(token=chr(10))}'",
            "exec plugin './plugin' gave a token that is no header",
        ),
        (
            f"echo '{credential(clientCertificateData='c', clientKeyData='k')}'",
            "client certificate and key do not load",
        ),
    ],
)
async def test_a_plugin_that_fails_is_named_with_the_reason(plugin: Plugin, script: str, problem: str) -> None:
    plugin.does(script)
    with pytest.raises(CredentialsError) as caught:
        await plugin.connection().auth.renew(None)
    assert str(caught.value).endswith(f"config: user 'u': {problem}")


def test_a_plugin_that_is_not_installed_is_named_with_the_hint(plugin: Plugin) -> None:
    with pytest.raises(CredentialsError, match=r"'no-such-command-at-all' was not found\. Install it from the shop\.$"):
        plugin.connection(command="no-such-command-at-all", installHint="Install it from the shop.\n")


def oidc_connection(folder: Path, **config: str) -> Connection:
    document = {
        "current-context": "it",
        "contexts": [{"name": "it", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://api"}}],
        "users": [{"name": "u", "user": {"auth-provider": {"name": "oidc", "config": config}}}],
    }
    path = folder / "config"
    path.write_text(yaml.safe_dump(document))
    return load_connection(path, environ={})


def web_token(expires: int) -> str:
    def part(value: dict[str, Any]) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    return f"{part({'alg': 'none'})}.{part({'exp': expires})}.sig"


async def test_an_oidc_token_that_is_good_is_used_as_it_is(tmp_path: Path) -> None:
    token = web_token(expires=32503680000)
    auth = oidc_connection(tmp_path, **{"id-token": token, "idp-issuer-url": "https://issuer.test"}).auth
    assert isinstance(auth, PluginAuth)
    await auth.renew(None)
    assert auth.current() == {"Authorization": f"Bearer {token}"}


async def test_an_issuer_that_cannot_be_reached_is_complained_about(tmp_path: Path) -> None:
    config = {"id-token": web_token(expires=1), "idp-issuer-url": "https://127.0.0.1:1", "client-id": "c"}
    auth = oidc_connection(tmp_path, **config, **{"client-secret": "s", "refresh-token": "r"}).auth
    reported = r"user 'u': the OIDC token could not be refreshed: connection refused$"
    with pytest.raises(CredentialsError, match=reported):
        await auth.renew(None)


async def test_an_oidc_token_that_is_none_is_complained_about(tmp_path: Path) -> None:
    auth = oidc_connection(tmp_path, **{"id-token": "nonsense", "idp-issuer-url": "https://issuer.test"}).auth
    with pytest.raises(CredentialsError, match=r"user 'u': auth-provider oidc has no usable id-token$"):
        await auth.renew(None)
