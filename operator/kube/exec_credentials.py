"""Credentials of exec plugins and OIDC, through `kubernetes.config`.

`credentials` creates one issuer per connection and passes it to `PluginAuth`, which calls it in a thread. `kubernetes`
(0.3 s, 49 MB) is imported on the first call only, so that connections with a token or certificate never pay for it.
"""

from __future__ import annotations

import base64
import shutil
import time
from importlib import import_module
from typing import TYPE_CHECKING, Any

import msgspec

from muster.framework.model.faults import fault
from muster.framework.model.times import parse_time
from muster.operator.failures import in_words

from .auth import Headers, Issued, with_bearer

if TYPE_CHECKING:
    from collections.abc import Callable

    from .errors import CredentialsError
    from .kubeconfig import AuthProvider, ExecPlugin, KubeconfigCluster, Origin

_CLUSTER_EXTENSION = "client.authentication.k8s.io/exec"
_OIDC_PERIOD = 60.0
_UNDECODABLE = "failed to decode process output"


class _Given(msgspec.Struct, rename="camel", frozen=True):
    """`status` of an ExecCredential."""

    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: str | None = None


class ExecIssuer:
    """Runs an exec plugin. Raises CredentialsError if it fails or its answer is invalid; at once if it does not exist.

    `on_certificate` gets the PEM client certificate and key if the plugin issues these.
    """

    def __init__(
        self,
        plugin: ExecPlugin,
        *,
        origin: Origin,
        cluster: dict[str, Any],
        headers: Headers,
        on_certificate: Callable[[bytes, bytes], None],
    ) -> None:
        self._plugin = plugin
        self._origin = origin
        self._cluster = cluster
        self._headers = headers
        self._on_certificate = on_certificate
        path = next((variable.value for variable in plugin.env if variable.name == "PATH"), None)
        if shutil.which(self._command, path=path) is None:
            raise self._not_found()

    def __call__(self) -> Issued:
        """Run the command and read its output."""
        given = self._given(self._run())
        if given.client_certificate_data and given.client_key_data:
            self._on_certificate(given.client_certificate_data.encode(), given.client_key_data.encode())
        elif not given.token:
            raise self._complaint("gave neither token nor certificate")
        headers = with_bearer(self._headers, given.token) if given.token else self._headers.copy()
        return Issued(headers, self._expiry(given.expiration_timestamp))

    def _given(self, status: object) -> _Given:
        try:
            given = msgspec.convert(status, _Given)
        except msgspec.ValidationError as error:
            raise self._complaint(f"answered nonsense: {fault(error)}") from error
        if given.token and not given.token.isprintable():
            raise self._complaint("gave a token that is no header")
        return given

    def _run(self) -> object:
        kube_config = import_module("kubernetes.config.kube_config")
        plugin = self._plugin
        node = kube_config.ConfigNode(
            "exec",
            {
                "command": self._command,
                "args": list(plugin.args),
                "env": [{"name": variable.name, "value": variable.value} for variable in plugin.env],
                "apiVersion": plugin.api_version,
                "provideClusterInfo": plugin.provide_cluster_info,
            },
        )
        try:
            cluster = kube_config.ConfigNode("cluster", self._cluster)
            answer: object = kube_config.ExecProvider(node, "", cluster).run()
        except FileNotFoundError as error:
            raise self._not_found() from error
        except kube_config.ConfigException as error:
            message, undecodable, _ = str(error).partition(_UNDECODABLE)  # without the text of Python's JSON decoder
            raise self._complaint(f"failed: {message}{undecodable}") from error
        except (ValueError, TypeError) as error:  # for no text, and for no object
            raise self._complaint("failed: exec: the output is no ExecCredential") from error
        except OSError as error:
            raise self._complaint(f"failed: {in_words(error)}") from error
        return answer

    @property
    def _command(self) -> str:
        command = self._plugin.command
        return str(self._origin.path(command)) if "/" in command else command

    def _not_found(self) -> CredentialsError:
        hint = self._plugin.install_hint.strip()
        return self._complaint("was not found" + (f". {hint}" if hint else ""))

    def _complaint(self, problem: str) -> CredentialsError:
        return self._origin.complain(f"exec plugin {self._plugin.command!r} {problem}")

    def _expiry(self, text: str | None) -> float | None:
        if not text:
            return None
        try:
            return parse_time(text)
        except ValueError as error:
            raise self._origin.complain(f"exec plugin gave a wrong expirationTimestamp {text!r}") from error


class OidcIssuer:
    """Refreshes an expired OIDC token. Raises CredentialsError if that fails."""

    def __init__(
        self,
        provider: AuthProvider,
        *,
        origin: Origin,
        headers: Headers,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        if provider.name != "oidc":
            raise origin.complain(f"auth-provider {provider.name!r} is not supported; use an exec plugin")
        self._origin = origin
        self._headers = headers
        self._wall_clock = wall_clock
        self._provider = dict(provider.config)
        authority = self._provider.get("idp-certificate-authority")
        if authority:
            self._provider["idp-certificate-authority"] = str(origin.path(authority))

    def __call__(self) -> Issued:
        """The token, refreshed if necessary; valid for a minute, after which its expiry is checked again."""
        kube_config = import_module("kubernetes.config.kube_config")
        if not self._provider.keys() & {"idp-certificate-authority", "idp-certificate-authority-data"}:
            # Without an authority the loader would not verify the token endpoint at all.
            self._provider["idp-certificate-authority"] = import_module("certifi").where()
        configuration = kube_config.Configuration()
        try:
            kube_config.load_kube_config_from_dict(
                {
                    "current-context": "oidc",
                    "contexts": [{"name": "oidc", "context": {"cluster": "oidc", "user": "oidc"}}],
                    "clusters": [{"name": "oidc", "cluster": {}}],
                    "users": [{"name": "oidc", "user": {"auth-provider": {"name": "oidc", "config": self._provider}}}],
                },
                client_configuration=configuration,
                persist_config=False,
            )
        except (
            kube_config.ConfigException,
            ValueError,
            OSError,
            import_module("urllib3.exceptions").HTTPError,
        ) as error:
            raise self._origin.complain(f"the OIDC token could not be refreshed: {in_words(error)}") from error
        authorization = configuration.api_key.get("BearerToken")
        if not authorization:
            raise self._origin.complain("auth-provider oidc has no usable id-token")
        headers = with_bearer(self._headers, authorization.removeprefix("Bearer "))
        return Issued(headers, self._wall_clock() + _OIDC_PERIOD)


def exec_cluster_info(cluster: KubeconfigCluster, *, authority: bytes | None) -> dict[str, Any]:
    """The cluster information for an exec plugin that asks for it."""
    info: dict[str, Any] = {"server": cluster.server}
    if cluster.tls_server_name:
        info["tls-server-name"] = cluster.tls_server_name
    if cluster.insecure_skip_tls_verify:
        info["insecure-skip-tls-verify"] = True
    if authority is not None:
        info["certificate-authority-data"] = base64.b64encode(authority).decode()
    if cluster.proxy_url:
        info["proxy-url"] = cluster.proxy_url
    for extension in cluster.extensions:
        if extension.get("name") == _CLUSTER_EXTENSION:
            info["config"] = extension.get("extension")
    return info
