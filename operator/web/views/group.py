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
from ..cluster import Unavailable
from .parts import Link, node_link, pod_link, share

_MOST_MEMBERS = 1000
_NODES_NAMED = 12


@dataclass(frozen=True, slots=True)
class MemberRow:
    """A member of the group; `message` is the reason why it waits."""

    name: Link
    phase: str
    node: Link
    message: str


@dataclass(frozen=True, slots=True)
class NodesRow:
    """Nodes that together take `take` members, and the reason why they take no more."""

    nodes: int
    take: int
    reason: str
    named: Sequence[Link]
    more: int


@dataclass(frozen=True, slots=True)
class GroupPage:
    """The contents of a group's page.

    Attributes:
        tag, api_group: the tag of its kind ("" for the default kind), and the kind's API group.
        share: the percentage of its quorum that has nodes.
        since: how long it has waited; "" if it does not wait.
        held: why it is held; "" if it is not held.
        sentences: the trial's result as sentences; empty without a trial.
        zones: the number of its members in each zone; empty if nodes have no zones.
        hidden: the number of members that are not listed.
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
    sentences: Sequence[str]
    nodes: Sequence[NodesRow]
    zones: Sequence[tuple[str, int]]
    members: Sequence[MemberRow]
    hidden: int


def group_page(group: GroupView, trial: TriedGroup | Unavailable | None, snapshot: Snapshot, now: float) -> GroupPage:
    """Compute the page of a group; `now` is in seconds since the epoch."""
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
        sentences=_trial_sentences(trial, status.message),
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


def _trial_sentences(trial: TriedGroup | Unavailable | None, said: str) -> list[str]:
    """The sentences under the heading `Tried now`, which need not say so."""
    if trial is None:
        return []
    if isinstance(trial, Unavailable):
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
