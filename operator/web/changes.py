"""What changed in the last minutes: the comparison of two states of a cluster, and the log of the results.

Pure except for the log, which holds a bounded number of changes. Pods of one group with the same change between two
states are one entry, so that a gang of a thousand does not displace everything else.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from typing import Any, TypeVar

from muster.framework.contract import GroupId, GroupKind
from muster.framework.model.node import Node
from muster.framework.model.pod import Pod
from muster.operator.podgroups.membership import GroupKinds

from .cluster import ClusterState

KEPT_SECONDS = 15 * 60.0
_KEPT = 500
_TOLD_SINGLY = 3
"""The most nodes, or pods of one group or none, with the same change that are listed singly; more form one entry."""
_NODES_NAMED = 3
LEFT = "left"
"""The text for a deleted node."""


K = TypeVar("K")


class ChangeKind(StrEnum):
    """The kind of a change, in a word for users."""

    PLACED = "placed"
    WAITS = "waits"
    GONE = "gone"
    GROUP = "group"
    NODE = "node"


@dataclass(frozen=True, slots=True)
class RecentChange:
    """Something that happened; `wall` in seconds since the epoch.

    Attributes:
        subject: `namespace/name` of a pod or group, or a node's name; "" where `text` says it all.
        text: what happened to it.
        group: the group that it is about, if one.
    """

    wall: float
    kind: ChangeKind
    subject: str
    text: str
    group: GroupId | None = None


@dataclass(frozen=True, slots=True)
class Glance:
    """A cluster at one moment: pods by UID, groups of these kinds by their ids, nodes and quotas by name."""

    pods: Mapping[str, Pod]
    groups: Mapping[GroupId, Any]
    nodes: Mapping[str, Node]
    kinds: GroupKinds
    quotas: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, known: ClusterState) -> Glance:
        """The state to compare."""
        groups = {
            GroupId(kind.plugin, group.metadata.key): group
            for kind in known.kinds
            for group in known.groups.get(kind.objects, ())
        }
        nodes = {node.metadata.name: node for node in known.nodes}
        quotas = {quota.metadata.key: quota for quota in known.quotas}
        return cls({pod.metadata.uid: pod for pod in known.pods}, groups, nodes, known.kinds, quotas)


class ChangeLog:
    """The latest changes, newest first: at most so many, of so many seconds.

    Attributes:
        seconds: for how long a change is listed.
        version: grows whenever anything has changed since the last look, whether it is listed or not.
        count: how many changes have been added.
    """

    def __init__(self, known: Iterable[RecentChange] = (), *, seconds: float = KEPT_SECONDS, most: int = _KEPT) -> None:
        """`known` are earlier changes."""
        self._changes: deque[RecentChange] = deque(known, maxlen=most)
        self._last: Glance | None = None
        self.seconds = seconds
        self.version = 0
        self.count = 0

    def differences(self, glance: Glance, now: float) -> list[RecentChange] | None:
        """The changes since the last look, at `now` in seconds since the epoch; None if nothing at all has changed."""
        if self._last is None:
            return []
        return None if _same(self._last, glance) else [*compare(self._last, glance, now)]

    def take_in(self, glance: Glance, found: Sequence[RecentChange]) -> None:
        """Record a look and its `differences`, of which there may be none to list."""
        self._last = glance
        self.version += 1
        self._changes.extendleft(found)
        self.count += len(found)

    def latest(self, now: float) -> list[RecentChange]:
        """The changes of the last `seconds`."""
        return [change for change in self._changes if now - change.wall <= self.seconds]

    def newest(self, count: int) -> list[RecentChange]:
        """So many of the changes that were added last."""
        return [*islice(self._changes, count)]


def compare(before: Glance, after: Glance, now: float) -> Iterator[RecentChange]:
    """The changes between two looks."""
    yield from _nodes(before.nodes, after.nodes, now)
    yield from _groups(before, after, now)
    yield from _pods(before, after, now)


def _same(before: Glance, after: Glance) -> bool:
    """Informers replace what changes, so that the same object is the same version."""
    return (
        _identical(before.pods, after.pods)
        and _identical(before.groups, after.groups)
        and _identical(before.nodes, after.nodes)
        and _identical(before.quotas, after.quotas)
    )


def _identical(before: Mapping[K, object], after: Mapping[K, object]) -> bool:
    return len(before) == len(after) and all(before.get(key) is value for key, value in after.items())


def _nodes(before: Mapping[str, Node], after: Mapping[str, Node], now: float) -> Iterator[RecentChange]:
    turned = [name for name, node in after.items() if name in before and _cordoned(before[name]) != _cordoned(node)]
    for names, text in (
        (after.keys() - before.keys(), "joined"),
        (before.keys() - after.keys(), LEFT),
        ([name for name in turned if _cordoned(after[name])], "cordoned"),
        ([name for name in turned if not _cordoned(after[name])], "uncordoned"),
    ):
        if len(names) <= _TOLD_SINGLY:
            yield from (RecentChange(now, ChangeKind.NODE, name, text) for name in sorted(names))
        else:
            yield RecentChange(now, ChangeKind.NODE, "", f"{len(names)} nodes {text}")


def _cordoned(node: Node) -> bool:
    return node.spec.unschedulable


def _groups(before: Glance, after: Glance, now: float) -> Iterator[RecentChange]:
    for each in sorted(after.groups.keys() - before.groups.keys()):
        yield RecentChange(now, ChangeKind.GROUP, each.key, "was created", each)
    for each in sorted(before.groups.keys() - after.groups.keys()):
        yield RecentChange(now, ChangeKind.GROUP, each.key, "was deleted")
    for each, group in after.groups.items():
        old = before.groups.get(each)
        if old is None or old is group:
            continue
        kind = after.kinds.of(each)
        was, state = _state(kind, old), _state(kind, group)
        if was != state:
            yield RecentChange(
                now, ChangeKind.GROUP, each.key, f"went from {was} to {state}" if was else f"is {state}", each
            )


def _state(kind: GroupKind[Any], group: Any) -> str:
    """The group's phase, with the reason if that is another word."""
    status = kind.status(group, ())
    reason = status.reason if status.placed == "False" and status.reason != status.phase else ""
    return f"{status.phase} ({reason})" if reason else status.phase


def _pods(before: Glance, after: Glance, now: float) -> Iterator[RecentChange]:
    found: defaultdict[tuple[ChangeKind, GroupId | None], list[Pod]] = defaultdict(list)
    group_of = after.kinds.group_of
    for uid, pod in after.pods.items():
        old = before.pods.get(uid)
        if old is pod:
            continue
        if pod.spec.node_name:
            if old is None or not old.spec.node_name:
                found[ChangeKind.PLACED, group_of(pod)].append(pod)
        elif old is None:
            found[ChangeKind.WAITS, group_of(pod)].append(pod)
    for uid, pod in before.pods.items():
        if uid not in after.pods:
            found[ChangeKind.GONE, group_of(pod)].append(pod)
    for (kind, group), pods in found.items():
        if len(pods) <= _TOLD_SINGLY:
            yield from (RecentChange(now, kind, pod.metadata.key, _of_one(kind, pod), group) for pod in pods)
        else:
            whose = f"{len(pods)} pods of {group.key}" if group is not None else f"{len(pods)} pods"
            yield RecentChange(now, kind, "", f"{whose} {_of_many(kind, pods)}", group)


def _of_one(kind: ChangeKind, pod: Pod) -> str:
    if kind is ChangeKind.PLACED:
        return f"was placed on {pod.spec.node_name}"
    return "waits for a node" if kind is ChangeKind.WAITS else "has ended or was deleted"


def _of_many(kind: ChangeKind, pods: Iterable[Pod]) -> str:
    if kind is not ChangeKind.PLACED:
        return "wait for nodes" if kind is ChangeKind.WAITS else "have ended or were deleted"
    nodes = sorted({pod.spec.node_name for pod in pods})
    if len(nodes) <= _NODES_NAMED:
        return f"were placed on {', '.join(nodes)}"
    return f"were placed on {len(nodes)} nodes"
