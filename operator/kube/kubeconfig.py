"""Kubeconfig files: finding, reading, merging and checking them as kubectl does.

`credentials` turns the chosen context into a connection; the CLI reads the current namespace. `kubernetes.config` is
not used for this because it merges in the opposite order, writes secrets to temporary files, takes 0.3 s to import
and does not name the faulty file.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import yaml

from muster.framework.model.faults import fault

from .errors import CredentialsError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class _Hidden(msgspec.Struct, rename="kebab", frozen=True):
    """The base of structs that may have secrets: their repr is empty."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class KubeconfigCluster(_Hidden, frozen=True):
    """`clusters[].cluster`: the address of the API server, and the authorities to verify it."""

    server: str = ""
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""
    extensions: tuple[dict[str, Any], ...] = ()


class ExecVariable(_Hidden, frozen=True):
    """An environment variable for an exec plugin."""

    name: str
    value: str = ""


class ExecPlugin(_Hidden, frozen=True, rename="camel"):
    """`users[].user.exec`: a command that prints credentials."""

    command: str
    api_version: str
    args: tuple[str, ...] = ()
    env: tuple[ExecVariable, ...] = ()
    provide_cluster_info: bool = False
    install_hint: str = ""


class AuthProvider(_Hidden, frozen=True):
    """`users[].user.auth-provider`; kubectl still knows `oidc`."""

    name: str
    config: dict[str, str] = {}


class User(_Hidden, frozen=True):
    """`users[].user`: the credentials."""

    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    username: str = ""
    password: str = ""
    impersonate: str = msgspec.field(default="", name="as")
    impersonate_uid: str = msgspec.field(default="", name="as-uid")
    impersonate_groups: tuple[str, ...] = msgspec.field(default=(), name="as-groups")
    impersonate_extra: dict[str, tuple[str, ...]] = msgspec.field(default={}, name="as-user-extra")
    exec: ExecPlugin | None = None
    auth_provider: AuthProvider | None = None


class Context(msgspec.Struct, frozen=True):
    """`contexts[].context`: a cluster, a user, a namespace."""

    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _NamedCluster(msgspec.Struct, frozen=True):
    name: str
    cluster: KubeconfigCluster = KubeconfigCluster()


class _NamedUser(msgspec.Struct, frozen=True):
    name: str
    user: User = User()


class _NamedContext(msgspec.Struct, frozen=True):
    name: str
    context: Context = Context()


class _File(msgspec.Struct, rename="kebab", frozen=True):
    current_context: str = ""
    clusters: tuple[_NamedCluster, ...] = ()
    users: tuple[_NamedUser, ...] = ()
    contexts: tuple[_NamedContext, ...] = ()


@dataclass(frozen=True, slots=True)
class Origin:
    """The place of a value: relative paths start at the file's folder, errors begin with its text."""

    file: Path
    section: str

    def path(self, text: str) -> Path:
        """The file that `text` names."""
        return self.file.parent / Path(text).expanduser()

    def complain(self, problem: str) -> CredentialsError:
        """The error about this place."""
        return CredentialsError(f"{self}: {problem}")

    def __str__(self) -> str:
        return f"{self.file}: {self.section}"


@dataclass(frozen=True, slots=True)
class Resolved:
    """A context with its cluster and user."""

    namespace: str
    cluster: KubeconfigCluster
    cluster_origin: Origin
    user: User
    user_origin: Origin


def kubeconfig_paths(
    explicit: str | Path | None, environ: Mapping[str, str], *, home: Path | None = None
) -> tuple[Path, ...]:
    """The files to read, in order of precedence; none if none exist.

    An explicitly named file must exist; missing files of KUBECONFIG, or a missing `~/.kube/config`, are ignored.
    """
    if explicit is not None:
        path = Path(explicit).expanduser()
        if not path.exists():
            raise CredentialsError(f"{path}: no such kubeconfig file")
        return (path,)
    listed = [Path(part).expanduser() for part in environ.get("KUBECONFIG", "").split(":") if part]
    candidates = listed or [(home or Path.home()) / ".kube" / "config"]
    return tuple(dict.fromkeys(path for path in candidates if path.exists()))


def resolve(paths: Sequence[Path], *, context: str | None = None) -> Resolved:
    """The named context, or the current one. Among entries with the same name, the first file's counts.

    Raises CredentialsError for a file that cannot be read and for a context, cluster or user that is missing.
    """
    where = ", ".join(str(path) for path in paths)
    contexts: dict[str, tuple[Context, Path]] = {}
    clusters: dict[str, tuple[KubeconfigCluster, Path]] = {}
    users: dict[str, tuple[User, Path]] = {}
    current = ""
    for path in paths:
        file = _read(path)
        current = current or file.current_context
        for named_context in file.contexts:
            contexts.setdefault(named_context.name, (named_context.context, path))
        for named_cluster in file.clusters:
            clusters.setdefault(named_cluster.name, (named_cluster.cluster, path))
        for named_user in file.users:
            users.setdefault(named_user.name, (named_user.user, path))

    name = context or current
    if not name:
        raise CredentialsError(f"{where}: current-context is not set and no context was named")
    if name not in contexts:
        raise CredentialsError(f"{where}: context {name!r} does not exist{_known(contexts)}")
    chosen, path = contexts[name]
    origin = Origin(path, f"context {name!r}")
    if chosen.cluster not in clusters:
        raise origin.complain(f"cluster {chosen.cluster!r} does not exist{_known(clusters)}")
    if chosen.user and chosen.user not in users:
        raise origin.complain(f"user {chosen.user!r} does not exist{_known(users)}")
    cluster, cluster_path = clusters[chosen.cluster]
    user, user_path = users[chosen.user] if chosen.user else (User(), path)
    return Resolved(
        namespace=chosen.namespace or "default",
        cluster=cluster,
        cluster_origin=Origin(cluster_path, f"cluster {chosen.cluster!r}"),
        user=user,
        user_origin=Origin(user_path, f"user {chosen.user!r}"),
    )


def context_names(explicit: str | Path | None, environ: Mapping[str, str] = os.environ) -> list[str]:
    """The names of all contexts. Raises CredentialsError for a file that cannot be read."""
    paths = kubeconfig_paths(explicit, environ)
    return sorted({named.name for path in paths for named in _read(path).contexts})


def _read(path: Path) -> _File:
    try:
        document = yaml.safe_load(path.read_bytes())
    except OSError as error:
        raise CredentialsError(f"{path}: cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise CredentialsError(f"{path}: not valid YAML{_position(error)}") from None
    try:
        return msgspec.convert(_without_nulls(document) or {}, _File)
    except msgspec.ValidationError as error:
        raise CredentialsError(f"{path}: {fault(error)}") from None


def _position(error: Exception) -> str:
    """The line and the column only, because PyYAML's text quotes the document, which may have secrets."""
    mark = getattr(error, "problem_mark", None)
    return f" at line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""


def _without_nulls(value: Any) -> Any:
    """Remove nulls, which mean the same as absent keys, as in Go."""
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value


def _known(entries: Mapping[str, object]) -> str:
    return f" (there is {', '.join(sorted(entries))})" if entries else ""
