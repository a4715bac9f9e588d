"""Recent changes of a cluster: the comparison of two states, and a bounded log of the results.

The comparison is pure; the ticker (`stream`) runs it and adds its result to the log, which the pages show. Pods of one
group with the same change between two states are one entry, so that a gang of a thousand does not displace all others.
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
_MOST_LISTED_SINGLY = 3
"""The most nodes, or pods of one group or none, with the same change that are listed singly; more form one entry."""
_NODES_NAMED = 3
LEFT = "left"
"""The text of the change for a deleted node."""


K = TypeVar("K")


class ChangeKind(StrEnum):
    """The kind of a change; the value is the word for users."""

    PLACED = "placed"
    WAITS = "waits"
    GONE = "gone"
    GROUP = "group"
    NODE = "node"


@dataclass(frozen=True, slots=True)
class RecentChange:
    """A change; `wall` is in seconds since the epoch.

    Attributes:
        subject: `namespace/name` of a pod or group, or a node's name; "" if `text` names the subject.
        text: what happened to the subject.
        group: the group that changed, or whose pods changed; None for other changes.
    """

    wall: float
    kind: ChangeKind
    subject: str
    text: str
    group: GroupId | None = None


@dataclass(frozen=True, slots=True)
class StateIndex:
    """The index of a cluster's state: pods by UID, groups by `GroupId`, nodes and quotas by name."""

    pods: Mapping[str, Pod]
    groups: Mapping[GroupId, Any]
    nodes: Mapping[str, Node]
    kinds: GroupKinds
    quotas: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, state: ClusterState) -> StateIndex:
        """Index a state."""
        groups = {
            GroupId(kind.plugin, group.metadata.key): group
            for kind in state.kinds
            for group in state.groups.get(kind.objects, ())
        }
        nodes = {node.metadata.name: node for node in state.nodes}
        quotas = {quota.metadata.key: quota for quota in state.quotas}
        return cls({pod.metadata.uid: pod for pod in state.pods}, groups, nodes, state.kinds, quotas)


class ChangeLog:
    """The latest changes, newest first, limited in number (`most`) and age (`seconds`).

    Attributes:
        seconds: the age up to which a change is listed.
        version: increases with each recorded state that differs from the previous one, also if no change is listed.
        count: the number of changes that were ever added.
    """

    def __init__(
        self, earlier: Iterable[RecentChange] = (), *, seconds: float = KEPT_SECONDS, most: int = _KEPT
    ) -> None:
        """Begin with `earlier` changes, newest first."""
        self._changes: deque[RecentChange] = deque(earlier, maxlen=most)
        self._last: StateIndex | None = None
        self.seconds = seconds
        self.version = 0
        self.count = 0

    def differences(self, index: StateIndex, now: float) -> list[RecentChange] | None:
        """The changes since the recorded state; None if the states are equal. `now` is in seconds since the epoch."""
        if self._last is None:
            return []
        return None if _same(self._last, index) else [*compare(self._last, index, now)]

    def record(self, index: StateIndex, found: Sequence[RecentChange]) -> None:
        """Record a state with its `differences` from the previous one, which may be empty."""
        self._last = index
        self.version += 1
        self._changes.extendleft(found)
        self.count += len(found)

    def latest(self, now: float) -> list[RecentChange]:
        """The changes of the last `seconds` before `now`."""
        return [change for change in self._changes if now - change.wall <= self.seconds]

    def newest(self, count: int) -> list[RecentChange]:
        """The `count` changes that were added last."""
        return [*islice(self._changes, count)]


def compare(before: StateIndex, after: StateIndex, now: float) -> Iterator[RecentChange]:
    """The changes between two states."""
    yield from _nodes(before.nodes, after.nodes, now)
    yield from _groups(before, after, now)
    yield from _pods(before, after, now)


def _same(before: StateIndex, after: StateIndex) -> bool:
    """Whether two states are equal. Informers replace changed objects, so the same object is the same version."""
    return (
        _identical(before.pods, after.pods)
        and _identical(before.groups, after.groups)
        and _identical(before.nodes, after.nodes)
        and _identical(before.quotas, after.quotas)
    )


def _identical(before: Mapping[K, object], after: Mapping[K, object]) -> bool:
    return len(before) == len(after) and all(before.get(key) is value for key, value in after.items())


def _nodes(before: Mapping[str, Node], after: Mapping[str, Node], now: float) -> Iterator[RecentChange]:
    changed = [name for name, node in after.items() if name in before and _cordoned(before[name]) != _cordoned(node)]
    for names, text in (
        (after.keys() - before.keys(), "joined"),
        (before.keys() - after.keys(), LEFT),
        ([name for name in changed if _cordoned(after[name])], "cordoned"),
        ([name for name in changed if not _cordoned(after[name])], "uncordoned"),
    ):
        if len(names) <= _MOST_LISTED_SINGLY:
            yield from (RecentChange(now, ChangeKind.NODE, name, text) for name in sorted(names))
        else:
            yield RecentChange(now, ChangeKind.NODE, "", f"{len(names)} nodes {text}")


def _cordoned(node: Node) -> bool:
    return node.spec.unschedulable


def _groups(before: StateIndex, after: StateIndex, now: float) -> Iterator[RecentChange]:
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
    """The group's phase, followed by the reason if the reason is a different word."""
    status = kind.status(group, ())
    reason = status.reason if status.placed == "False" and status.reason != status.phase else ""
    return f"{status.phase} ({reason})" if reason else status.phase


def _pods(before: StateIndex, after: StateIndex, now: float) -> Iterator[RecentChange]:
    found: defaultdict[tuple[ChangeKind, GroupId | None], list[Pod]] = defaultdict(list)
    group_of = after.kinds.named_by
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
        if len(pods) <= _MOST_LISTED_SINGLY:
            yield from (RecentChange(now, kind, pod.metadata.key, _of_one(kind, pod), group) for pod in pods)
        else:
            subject = f"{len(pods)} pods of {group.key}" if group is not None else f"{len(pods)} pods"
            yield RecentChange(now, kind, "", f"{subject} {_of_many(kind, pods)}", group)


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
