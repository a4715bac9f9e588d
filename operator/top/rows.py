"""The rows of `muster top`: groups, and waiting pods without a group, with counts of the waiting pods.

A pure function of a `ClusterState`. `session` calls it after each change; `state` filters and sorts its result.

The API does not show the scheduler's queue, so a pod's state follows from its gates and its condition. A pod is
therefore `unschedulable` also while it is in backoffQ after a rejection, and `active` until its first attempt is
reported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from muster.framework.contract import GroupId, GroupView
from muster.framework.model.pod import POD_SCHEDULED, SCHEDULER_ERROR, SCHEDULING_GATED, Pod
from muster.framework.scheduler.gate_reports import GATED
from muster.operator.explain.group_views import permit_message, scheduling_message
from muster.operator.web.census import take_census
from muster.operator.web.cluster import ClusterState

"""The reason of the condition of a pod whose attempt ended with an error, which waits in backoffQ."""

RowId = GroupId | str
"""A group, or the pod `namespace/name`."""


class WaitingState(StrEnum):
    """How a pod or group waits, the most telling first: a group has the first that one of its members has.

    Only a group is held. Its members are gated, because that is what the scheduler reports of each of them.
    """

    HELD = "held"
    PERMIT = "permit"
    BACKOFF = "backoff"
    UNSCHEDULABLE = "unschedulable"
    GATED = "gated"
    ACTIVE = "active"
    EMPTY = "empty"
    PLACED = "placed"

    @property
    def rank(self) -> int:
        """The position in the order of the enumeration."""
        return [*WaitingState].index(self)


COUNTED = (
    *(WaitingState.ACTIVE, WaitingState.BACKOFF, WaitingState.UNSCHEDULABLE),
    *(WaitingState.GATED, WaitingState.PERMIT),
)
"""The states of pods that wait."""


@dataclass(frozen=True, slots=True)
class TopRow:
    """A group or a pod.

    Attributes:
        place: its place among the waiting groups; 0 for none.
        placed, needed: the number of its pods that have nodes, and that need them.
        since: the time since which it waits, or exists if it does not wait.
    """

    id: RowId
    kind: str
    name: str
    state: WaitingState
    place: int
    placed: int
    needed: int
    priority: int
    since: str
    message: str


@dataclass(frozen=True, slots=True)
class QueueSummary:
    """All rows in the order of the queue, and counts of waiting pods by state, of waiting and held groups, of nodes."""

    rows: Sequence[TopRow]
    groups: Mapping[GroupId, GroupView]
    pods: Mapping[WaitingState, int]
    placed: int
    waiting_groups: int
    held_groups: int
    nodes: int


def summarize(known: ClusterState) -> QueueSummary:
    """The summary: waiting groups in the order in which they are tried, held groups, single pods, then other groups."""
    census = take_census(known)
    waiting = [pod for pod in known.pods if not pod.spec.node_name]
    alone = sorted(
        (pod for pod in waiting if census.group_of(pod) is None),
        key=lambda pod: (-(pod.spec.priority or 0), pod.metadata.creation_timestamp or "", pod.metadata.key),
    )
    return QueueSummary(
        rows=[
            *map(_of_group, census.waiting),
            *(replace(_of_group(group), state=WaitingState.HELD) for group in census.held),
            *map(_of_pod, alone),
            *map(_of_group, census.settled),
        ],
        groups=census.groups,
        pods=Counter(map(state_of, waiting)),
        placed=census.placed,
        waiting_groups=len(census.waiting),
        held_groups=len(census.held),
        nodes=len(known.nodes),
    )


def state_of(pod: Pod) -> WaitingState:
    """How the pod waits, as far as the API shows."""
    condition = pod.status.condition(POD_SCHEDULED)
    if pod.spec.node_name:
        return WaitingState.PLACED
    if pod.spec.scheduling_gates or (condition is not None and condition.reason == SCHEDULING_GATED):
        return WaitingState.GATED
    if permit_message(pod):
        return WaitingState.PERMIT
    if condition is None or condition.status != "False":
        return WaitingState.ACTIVE
    return WaitingState.BACKOFF if condition.reason == SCHEDULER_ERROR else WaitingState.UNSCHEDULABLE


def _of_group(group: GroupView) -> TopRow:
    reason, message = group.said
    return TopRow(
        id=group.id,
        kind=f"{group.kind.tag} group".strip(),
        name=group.key,
        state=_of_all(group.members),
        place=group.place,
        placed=group.placed,
        needed=group.needed,
        priority=group.priority,
        since=(group.since if group.place else group.metadata.creation_timestamp) or "",
        message=f"{reason}: {message}" if reason else group.status.phase,
    )


def _of_all(members: Iterable[Pod]) -> WaitingState:
    return min({state_of(pod) for pod in members}, key=lambda each: each.rank, default=WaitingState.EMPTY)


def _of_pod(pod: Pod) -> TopRow:
    return TopRow(
        id=pod.metadata.key,
        kind="pod",
        name=pod.metadata.key,
        state=state_of(pod),
        place=0,
        placed=0,
        needed=1,
        priority=pod.spec.priority or 0,
        since=pod.metadata.creation_timestamp or "",
        message=GATED if pod.spec.scheduling_gates else scheduling_message(pod),
    )
