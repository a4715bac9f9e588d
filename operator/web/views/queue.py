"""The first page: the waiting pods and groups in their order, the reasons why they wait, and the latest changes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from muster.framework.contract import GroupView
from muster.framework.model.pod import Pod
from muster.framework.model.times import age
from muster.framework.scheduler.gate_reports import GATED
from muster.operator.explain.group_views import scheduling_message

from ..census import Census
from ..change_log import RecentChange
from .parts import ChangeRow, Link, change_rows, group_link, pod_link, share

_MOST_GROUPS = 1000
_MOST_PODS = 20
_CHANGES = 8
_NOT_REPORTED = "Not reported yet."


@dataclass(frozen=True, slots=True)
class GroupRow:
    """A group in a table; `share` is the percentage of its quorum that has nodes, `tag` names its kind."""

    place: int
    name: Link
    tag: str
    api_group: str
    parent: str
    needs: int
    exist: int
    placed: int
    share: int
    priority: int
    age: str
    phase: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class WaitingReason:
    """Pods without a group that wait for the same reason; `more` of them are not listed."""

    message: str
    count: int
    oldest: str
    pods: Sequence[Link]
    more: int


@dataclass(frozen=True, slots=True)
class QueuePage:
    """The contents of the first page.

    Attributes:
        find: the text that a name has to contain to be listed.
        waiting: groups that wait for their quorum, in the order in which they are tried.
        held: groups that lack their quorum and are held, by name.
        settled: all other groups.
        hidden: the number of groups that are not listed because there are too many.
        single_pods: waiting pods without a group, by the reason why they wait.
        waiting_groups, waiting_pods, placed_pods, nodes: counts in the whole cluster, independent of `find`.
    """

    find: str
    waiting: Sequence[GroupRow]
    held: Sequence[GroupRow]
    settled: Sequence[GroupRow]
    hidden: int
    single_pods: Sequence[WaitingReason]
    changes: Sequence[ChangeRow]
    waiting_groups: int
    waiting_pods: int
    placed_pods: int
    nodes: int


def queue_page(census: Census, changes: Sequence[RecentChange], *, nodes: int, find: str, now: float) -> QueuePage:
    """Compute the first page; `now` is in seconds since the epoch."""
    waiting, held, settled = (
        [group for group in groups if find in group.key] for groups in (census.waiting, census.held, census.settled)
    )
    left = max(_MOST_GROUPS - len(waiting), 0)
    return QueuePage(
        find=find,
        waiting=[_row(group, now) for group in waiting[:_MOST_GROUPS]],
        held=[_row(group, now) for group in held[:_MOST_GROUPS]],
        settled=[_row(group, now) for group in settled[:left]],
        hidden=max(len(waiting) - _MOST_GROUPS, 0) + max(len(held) - _MOST_GROUPS, 0) + max(len(settled) - left, 0),
        single_pods=_reasons([pod for pod in census.single_pods if find in pod.metadata.key], now),
        changes=change_rows(changes[:_CHANGES], census, now),
        waiting_groups=len(census.waiting),
        waiting_pods=census.pods - census.placed,
        placed_pods=census.placed,
        nodes=nodes,
    )


def _row(group: GroupView, now: float) -> GroupRow:
    needs, placed, (reason, message) = group.needed, group.placed, group.said
    return GroupRow(
        place=group.place,
        name=group_link(group),
        tag=group.kind.tag,
        api_group=group.kind.objects.group,
        parent=group.parent,
        needs=needs,
        exist=len(group.members),
        placed=placed,
        share=share(placed, needs),
        priority=group.priority,
        age=age(group.since if group.place else group.metadata.creation_timestamp, now),
        phase=group.status.phase,
        reason=reason,
        message=message,
    )


def _reasons(pods: Sequence[Pod], now: float) -> list[WaitingReason]:
    """The waiting pods by the reason why they wait, the most frequent reason first."""
    found: defaultdict[str, list[Pod]] = defaultdict(list)
    for pod in pods:
        found[GATED if pod.spec.scheduling_gates else scheduling_message(pod) or _NOT_REPORTED].append(pod)
    return [
        WaitingReason(
            message=message,
            count=len(waiting),
            oldest=age(min(pod.metadata.creation_timestamp or "" for pod in waiting) or None, now),
            pods=[pod_link(pod) for pod in waiting[:_MOST_PODS]],
            more=max(len(waiting) - _MOST_PODS, 0),
        )
        for message, waiting in sorted(found.items(), key=lambda pair: (-len(pair[1]), pair[0]))
    ]
