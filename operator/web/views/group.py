"""A group: what it lacks, the result of trying it now, and where its members are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from muster.framework.contract import GroupView
from muster.framework.model.times import age
from muster.framework.snapshot.snapshot import Snapshot
from muster.operator.explain.group_trial import TRIED, TriedGroup, sentences
from muster.operator.explain.group_views import scheduling_message

from ..capacity import ZONE
from ..cluster import Unanswered
from .parts import Link, node_link, pod_link, share

_MOST_MEMBERS = 1000
_NODES_NAMED = 12


@dataclass(frozen=True, slots=True)
class MemberRow:
    """A member; `message` is why it waits."""

    name: Link
    phase: str
    node: Link
    message: str


@dataclass(frozen=True, slots=True)
class NodesRow:
    """Nodes that take so many members, and why no more."""

    nodes: int
    take: int
    reason: str
    named: Sequence[Link]
    more: int


@dataclass(frozen=True, slots=True)
class GroupPage:
    """The page.

    Attributes:
        tag, api_group: what tells its kind from others, "" where nothing has to; and the API group of that.
        share: how many hundredths of what it needs have nodes.
        since: for how long it waits; "" when it does not.
        held: why it is held; "" when it is not.
        told: what a trial came to, sentence by sentence; empty where none was made.
        zones: how many of its members are in each zone, where nodes have zones.
        hidden: how many members are left out.
    """

    name: str
    tag: str
    api_group: str
    parent: str
    needs: int
    exist: int
    placed: int
    share: int
    place: int
    phase: str
    age: str
    since: str
    held: str
    reason: str
    message: str
    told: Sequence[str]
    nodes: Sequence[NodesRow]
    zones: Sequence[tuple[str, int]]
    members: Sequence[MemberRow]
    hidden: int


def group_view(group: GroupView, trial: TriedGroup | Unanswered | None, snapshot: Snapshot, now: float) -> GroupPage:
    """The view; `now` in seconds since the epoch."""
    status, needs, placed = group.status, group.needed, group.placed
    tried = trial if isinstance(trial, TriedGroup) else None
    return GroupPage(
        name=group.key,
        tag=group.kind.tag,
        api_group=group.kind.objects.group,
        parent=group.parent,
        needs=needs,
        exist=len(group.members),
        placed=placed,
        share=share(placed, needs),
        place=group.place,
        phase=status.phase,
        age=age(group.metadata.creation_timestamp, now),
        since=age(group.since, now) if group.place else "",
        held=group.held,
        reason=status.reason,
        message=status.message,
        told=_told(trial, status.message),
        nodes=[]
        if tried is None
        else [
            NodesRow(
                nodes=len(each.nodes),
                take=each.took,
                reason=each.reason,
                named=[node_link(name) for name in each.nodes[:_NODES_NAMED]],
                more=max(len(each.nodes) - _NODES_NAMED, 0),
            )
            for each in tried.nodes
        ],
        zones=_zones(group, snapshot),
        members=[
            MemberRow(
                name=pod_link(pod, short=True),
                phase=pod.status.phase,
                node=node_link(pod.spec.node_name),
                message="" if pod.spec.node_name else scheduling_message(pod),
            )
            for pod in group.members[:_MOST_MEMBERS]
        ],
        hidden=max(len(group.members) - _MOST_MEMBERS, 0),
    )


def _told(trial: TriedGroup | Unanswered | None, said: str) -> list[str]:
    """The sentences under the heading `Tried now`, which need not say so."""
    if trial is None:
        return []
    if isinstance(trial, Unanswered):
        return [trial.reason]
    first, *further = sentences(trial, said)
    return [first.removeprefix(TRIED), *further]


def _zones(group: GroupView, snapshot: Snapshot) -> list[tuple[str, int]]:
    counted: Counter[str] = Counter()
    for pod in group.members:
        row = snapshot.live_row_of(pod.spec.node_name)
        node = None if row is None else snapshot.nodes[row]
        if node is not None and ZONE in node.metadata.labels:
            counted[node.metadata.labels[ZONE]] += 1
    return sorted(counted.items())
