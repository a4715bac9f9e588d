"""Shared parts of the views: links between pages, and elements that more than one page shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from muster.framework.contract import GroupKind, GroupView
from muster.framework.model.pod import Pod
from muster.framework.model.times import human_duration

from ..census import Census
from ..change_log import LEFT, ChangeKind, RecentChange


@dataclass(frozen=True, slots=True)
class Link:
    """A name with the link to its page. `path` is relative to the root of the pages; "" if there is no page."""

    text: str
    path: str = ""


def share(placed: int, needs: int) -> int:
    """The percentage of a group's quorum that has nodes."""
    return min(100 * placed // needs, 100) if needs > 0 else 100


def pod_link(pod: Pod, *, short: bool = False) -> Link:
    """A link to a pod's page; `short` omits the namespace from the text."""
    meta = pod.metadata
    return Link(meta.name if short else meta.key, f"/pods/{_path(meta.namespace, meta.name)}")


def address(kind: GroupKind[Any]) -> str:
    """The first part of the path of a group's page, before namespace and name."""
    return f"{kind.tag}-groups" if kind.tag else "groups"


def group_link(group: GroupView) -> Link:
    """A link to a group's page."""
    return Link(group.key, f"/{address(group.kind)}/{_path(*group.key.split('/', 1))}")


def node_link(name: str) -> Link:
    """A link to a node's page; for "" a link without a path."""
    return Link(name, f"/nodes/{_path(name)}" if name else "")


def key_link(key: str) -> Link:
    """A link to the page of the pod `namespace/name`."""
    return Link(key, f"/pods/{_path(*key.split('/', 1))}")


def _path(*names: str) -> str:
    return "/".join(quote(name, safe="") for name in names)


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """A row of a list of changes."""

    ago: str
    kind: str
    subject: Link
    text: str


def change_rows(changes: Sequence[RecentChange], census: Census, now: float) -> list[ChangeRow]:
    """The rows of these changes, in the same order; subjects that do not exist any more have no link."""
    return [
        ChangeRow(human_duration(now - change.wall), change.kind.value, _subject(change, census), change.text)
        for change in changes
    ]


def _subject(change: RecentChange, census: Census) -> Link:
    if change.kind is ChangeKind.NODE:
        return Link(change.subject) if change.text == LEFT else node_link(change.subject)
    if change.kind is ChangeKind.GROUP:
        known = None if change.group is None else census.groups.get(change.group)
        return Link(change.subject) if known is None else group_link(known)
    if change.kind is ChangeKind.GONE or not change.subject:
        return Link(change.subject)
    return key_link(change.subject)
