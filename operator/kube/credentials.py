"""From kubeconfig or service account to a `Connection`: the server's address, its trust, and the client's credentials.

The operator and the CLI call `load_connection` once. The result is that of kubectl with the same files and environment;
the order is an explicit kubeconfig, KUBECONFIG, `~/.kube/config`, then the service account of the pod.
"""

from __future__ import annotations

import base64
import binascii
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit

import msgspec
from multidict import CIMultiDict

from .auth import Auth, Headers, PluginAuth, StaticAuth, TokenFileAuth, with_bearer
from .errors import CredentialsError
from .exec_credentials import ExecIssuer, OidcIssuer, exec_cluster_info
from .kubeconfig import KubeconfigCluster, Origin, Resolved, User, kubeconfig_paths, resolve
from .proxy import Proxy, parse_proxy, proxy_from_environment
from .tls import ClientTls

if TYPE_CHECKING:
    from collections.abc import Mapping

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


@dataclass(frozen=True, slots=True)
class Connection:
    """All that `transport` needs to reach an API server.

    Attributes:
        server: URL without a trailing slash or a login; may have a path.
        auth: the request headers that identify the client.
        tls: None for a plain http server.
        tls_server_name: the name the server's certificate is checked against, when it is not the URL's host.
        proxy: the HTTP proxy to go through.
        namespace: the default namespace.
    """

    server: str
    auth: Auth = field(repr=False)
    tls: ClientTls | None = field(default=None, repr=False)
    tls_server_name: str | None = None
    proxy: Proxy | None = None
    namespace: str = "default"


@dataclass(frozen=True, slots=True)
class Impersonated:
    """The user to impersonate, as `kubectl --as` and `--as-group` name it."""

    user: str
    groups: tuple[str, ...] = ()


def load_connection(
    kubeconfig: str | Path | None = None,
    *,
    context: str | None = None,
    impersonated: Impersonated | None = None,
    environ: Mapping[str, str] = os.environ,
    service_account: Path = SERVICE_ACCOUNT,
) -> Connection:
    """The connection that kubectl would use; `impersonated` takes precedence over the kubeconfig's impersonation.

    Raises CredentialsError, naming the file and field at fault.
    """
    paths = kubeconfig_paths(kubeconfig, environ)
    if paths:
        chosen = resolve(paths, context=context)
        if impersonated is not None:
            chosen = replace(chosen, user=_as(chosen.user, impersonated))
        return _from_kubeconfig(chosen, environ)
    if environ.get("KUBERNETES_SERVICE_HOST") and environ.get("KUBERNETES_SERVICE_PORT"):
        headers = _impersonation(_as(User(), impersonated)) if impersonated is not None else CIMultiDict[str]()
        return _from_service_account(service_account, environ, headers)
    raise CredentialsError(
        "no cluster to talk to: no kubeconfig was named, KUBECONFIG names no file that exists, "
        "~/.kube/config does not exist, and this process does not run in a pod"
    )


def current_namespace(
    kubeconfig: str | Path | None = None,
    *,
    context: str | None = None,
    environ: Mapping[str, str] = os.environ,
    service_account: Path = SERVICE_ACCOUNT,
) -> str:
    """The default namespace of commands; reads no certificate and runs no plugin.

    Raises CredentialsError for a kubeconfig that cannot be used.
    """
    paths = kubeconfig_paths(kubeconfig, environ)
    if paths:
        return resolve(paths, context=context).namespace
    return _service_account_namespace(service_account)


def _as(user: User, other: Impersonated) -> User:
    return msgspec.structs.replace(
        user, impersonate=other.user, impersonate_uid="", impersonate_groups=other.groups, impersonate_extra={}
    )


def _from_service_account(folder: Path, environ: Mapping[str, str], headers: Headers) -> Connection:
    host, port = environ["KUBERNETES_SERVICE_HOST"], environ["KUBERNETES_SERVICE_PORT"]
    server = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    if not is_server_url(server):
        raise CredentialsError(
            "environment variables KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT: not a host and its port"
        )
    authority = folder / "ca.crt"
    try:
        pem = authority.read_bytes()
    except OSError as error:
        raise CredentialsError(f"{authority}: cannot be read: {error.strerror}") from error
    return Connection(
        server=server,
        auth=TokenFileAuth(folder / "token", headers=headers),
        tls=ClientTls(authority=pem, insecure=False, origin=str(authority)),
        proxy=proxy_from_environment(server, environ),
        namespace=_service_account_namespace(folder),
    )


def _service_account_namespace(folder: Path) -> str:
    try:
        return (folder / "namespace").read_text().strip() or "default"
    except OSError:
        return "default"


def _from_kubeconfig(chosen: Resolved, environ: Mapping[str, str]) -> Connection:
    cluster, origin = chosen.cluster, chosen.cluster_origin
    server, login = _without_login(_server_url(cluster, origin))
    if cluster.proxy_url:
        proxy: Proxy | None = parse_proxy(cluster.proxy_url, origin=f"{origin}: proxy-url")
    else:
        proxy = proxy_from_environment(server, environ)
    if server.startswith("http://"):
        # kubectl sends credentials over TLS only.
        return Connection(server, auth=StaticAuth(login), proxy=proxy, namespace=chosen.namespace)
    authority = _authority(cluster, origin)
    tls = ClientTls(
        authority=authority,
        insecure=cluster.insecure_skip_tls_verify,
        origin=f"{origin}: certificate-authority",
    )
    return Connection(
        server=server,
        auth=_user_auth(chosen, tls=tls, authority=authority, login=login),
        tls=tls,
        tls_server_name=cluster.tls_server_name or None,
        proxy=proxy,
        namespace=chosen.namespace,
    )


def _server_url(cluster: KubeconfigCluster, origin: Origin) -> str:
    if not cluster.server:
        raise origin.complain("server is not set")
    server = cluster.server
    if "://" not in server:
        secured = cluster.certificate_authority or cluster.certificate_authority_data
        server = f"{'https' if secured or cluster.insecure_skip_tls_verify else 'http'}://{server}"
    if not is_server_url(server):
        raise origin.complain("server is not an http or https URL")
    return server.partition("?")[0].partition("#")[0].rstrip("/")


def is_server_url(server: str) -> bool:
    """Whether requests can be sent to this URL: http or https, with a host."""
    try:
        parts = urlsplit(server)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _without_login(server: str) -> tuple[str, Headers]:
    """The URL without a login, and the header made of the login in it, which Go sends before any other."""
    parts = urlsplit(server)
    if parts.username is None:
        return server, CIMultiDict()
    shown = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    return shown, _with_basic(CIMultiDict(), unquote(parts.username), unquote(parts.password or ""))


def _authority(cluster: KubeconfigCluster, origin: Origin) -> bytes | None:
    named = bool(cluster.certificate_authority or cluster.certificate_authority_data)
    if cluster.insecure_skip_tls_verify:
        if named:
            raise origin.complain("certificate-authority and insecure-skip-tls-verify are both set")
        return None
    return _data_or_file(
        "certificate-authority", cluster.certificate_authority_data, cluster.certificate_authority, origin
    )


def _data_or_file(field_name: str, data: str, file: str, origin: Origin) -> bytes | None:
    """The bytes of a field that is given as base64 `<name>-data` or as the name of a file."""
    if data and file:
        raise origin.complain(f"{field_name} and {field_name}-data are both set")
    if data:
        try:
            return base64.b64decode(data, validate=True)
        except binascii.Error as error:
            raise origin.complain(f"{field_name}-data is not base64") from error
    if not file:
        return None
    path = origin.path(file)
    try:
        return path.read_bytes()
    except OSError as error:
        raise origin.complain(f"{field_name} {path} cannot be read: {error.strerror}") from error


def _user_auth(chosen: Resolved, *, tls: ClientTls, authority: bytes | None, login: Headers) -> Auth:
    user, origin = chosen.user, chosen.user_origin
    _check_methods(user, origin)
    certificate = _data_or_file("client-certificate", user.client_certificate_data, user.client_certificate, origin)
    if certificate is not None:
        key = _data_or_file("client-key", user.client_key_data, user.client_key, origin)
        if key is None:
            raise origin.complain("client-certificate is set but client-key is not")
        tls.present(certificate=certificate, key=key, origin=str(origin))
    headers = _impersonation(user)
    if login:
        return StaticAuth(CIMultiDict([*headers.items(), *login.items()]))
    if user.token_file:
        return TokenFileAuth(origin.path(user.token_file), headers=headers)
    if user.token:
        return StaticAuth(with_bearer(headers, user.token))
    if user.username or user.password:
        return StaticAuth(_with_basic(headers, user.username, user.password))
    if user.exec is not None:
        issuer = ExecIssuer(
            user.exec,
            origin=origin,
            cluster=exec_cluster_info(chosen.cluster, authority=authority),
            headers=headers,
            on_certificate=lambda certificate, key: tls.present(certificate=certificate, key=key, origin=str(origin)),
        )
        return PluginAuth(issuer)
    if user.auth_provider is not None:
        return PluginAuth(OidcIssuer(user.auth_provider, origin=origin, headers=headers))
    return StaticAuth(headers)


def _with_basic(headers: Headers, username: str, password: str) -> Headers:
    """These headers and the one that carries a username and password."""
    login = base64.b64encode(f"{username}:{password}".encode()).decode()
    return CIMultiDict([*headers.items(), ("Authorization", f"Basic {login}")])


def _check_methods(user: User, origin: Origin) -> None:
    if (user.token or user.token_file) and (user.username or user.password):
        raise origin.complain("a token and a username are both set")
    if user.exec is not None and user.auth_provider is not None:
        raise origin.complain("exec and auth-provider are both set")
    if not user.impersonate and (user.impersonate_uid or user.impersonate_groups or user.impersonate_extra):
        raise origin.complain("as-uid, as-groups or as-user-extra is set but as is not")


def _impersonation(user: User) -> Headers:
    """The headers that request impersonation."""
    headers: Headers = CIMultiDict()
    if user.impersonate:
        headers.add("Impersonate-User", user.impersonate)
    if user.impersonate_uid:
        headers.add("Impersonate-Uid", user.impersonate_uid)
    for group in user.impersonate_groups:
        headers.add("Impersonate-Group", group)
    for key, values in user.impersonate_extra.items():
        for value in values:
            headers.add(f"Impersonate-Extra-{quote(key, safe='')}", value)
    return headers
