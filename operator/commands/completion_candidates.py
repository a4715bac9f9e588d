"""Candidates of shell completion: contexts, namespaces, groups and pods of the cluster.

Only completion calls these functions, with the options typed so far. After an error there are no candidates.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import quote

import click
import msgspec
from click.shell_completion import CompletionItem

from muster.framework.contract import ApiError, WatchedKind
from muster.operator.kube.client import ApiClient
from muster.operator.kube.credentials import Impersonated, current_namespace, load_connection
from muster.operator.kube.errors import CredentialsError
from muster.operator.kube.kubeconfig import context_names
from muster.operator.kube.transport import Transport
from muster.operator.podgroups.membership import GroupKinds
from muster.plugins.catalog import group_kinds

_SECONDS = 3.0
_MOST = "500"
_POD_KINDS = ("po", "pod", "pods")
_CORE = "/api/v1"


class _Metadata(msgspec.Struct):
    name: str = ""


class _Item(msgspec.Struct):
    metadata: _Metadata


class _Page(msgspec.Struct):
    items: list[_Item] = []


def contexts(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The contexts of the kubeconfig."""
    try:
        return _beginning(context_names(_kubeconfig(context)), incomplete)
    except CredentialsError:
        return []


def namespaces(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The cluster's namespaces."""
    return _beginning(_names(context, f"{_CORE}/namespaces"), incomplete)


def groups(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The groups of the namespace, of all kinds."""
    return _of_kinds(context, [kind.objects for kind in group_kinds()], incomplete)


def pods(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The pods of the namespace."""
    return _beginning(_names(context, f"{_CORE}/namespaces/{_namespace(context)}/pods"), incomplete)


def pods_and_groups(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The arguments of `why`: names of groups and pods, or of objects of the typed kind, composites included."""
    prefix, kind, rest = _split(context, parameter, incomplete)
    found = [
        *_groups_of(context, kind, rest),
        *(pods(context, parameter, rest) if not kind or kind in _POD_KINDS else ()),
    ]
    return [CompletionItem(f"{prefix}{item.value}") for item in found]


def groups_and_trees(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The arguments of `hold` and `resume`: names of groups, or of objects of the typed kind."""
    prefix, kind, rest = _split(context, parameter, incomplete)
    return [CompletionItem(f"{prefix}{item.value}") for item in _groups_of(context, kind, rest)]


def _split(context: click.Context, parameter: click.Parameter, incomplete: str) -> tuple[str, str, str]:
    """The prefix of the incomplete word to keep, the typed kind ("" for none), and the beginning of the name."""
    kind, slash, rest = incomplete.rpartition("/")
    typed: Sequence[str] = context.params.get(parameter.name or "") or ()
    if not slash and len(typed) == 1:
        return "", typed[0], incomplete
    return f"{kind}{slash}", kind, rest


def _groups_of(context: click.Context, kind: str, incomplete: str) -> list[CompletionItem]:
    """The groups that a word names, or the composites if it names these."""
    kinds = GroupKinds(group_kinds())
    composites = [each.composites for each in kinds.of_composites(kind) if each.composites is not None]
    return _of_kinds(context, [*(each.objects for each in kinds.named(kind)), *composites], incomplete)


def _of_kinds(context: click.Context, kinds: Iterable[WatchedKind], incomplete: str) -> list[CompletionItem]:
    """The objects of these kinds in the namespace."""
    paths = [f"/apis/{kind.api_version}/namespaces/{_namespace(context)}/{kind.plural}" for kind in kinds]
    return _beginning(sorted({name for path in paths for name in _names(context, path)}), incomplete)


def _beginning(names: list[str], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _kubeconfig(context: click.Context) -> Path | None:
    path: Path | None = context.params.get("kubeconfig")
    return path


def _namespace(context: click.Context) -> str:
    named: str | None = context.params.get("namespace")
    try:
        found = named or current_namespace(_kubeconfig(context), context=context.params.get("context_name"))
    except CredentialsError:
        found = "default"
    return quote(found, safe="")


def _names(context: click.Context, path: str) -> list[str]:
    user = context.params.get("as_user")
    other = Impersonated(user, tuple(context.params.get("as_groups") or ())) if user else None
    try:
        connection = load_connection(
            _kubeconfig(context), context=context.params.get("context_name"), impersonated=other
        )

        async def listed() -> bytes:
            async with Transport(connection) as transport:
                return (await ApiClient(transport, timeout=_SECONDS).get(path, params={"limit": _MOST})).body

        page = msgspec.json.decode(asyncio.run(listed()), type=_Page)
    except (ApiError, CredentialsError, OSError, msgspec.MsgspecError):
        return []
    return [item.metadata.name for item in page.items]
