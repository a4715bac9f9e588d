"""What the plan goes by, read off the snapshot: what is free, what ends when, and what pods need.

Thousands of pods may end, on thousands of nodes of many domains, so other work is let in now and then; the snapshot
stands still meanwhile.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from muster.framework.contract import (
    Code,
    CycleState,
    GroupDecision,
    Handle,
    NodeView,
    Partition,
    PodDecision,
    PodInfo,
    PodSignature,
    Steps,
)
from muster.framework.snapshot.resources import ResourceColumns

from .args import NAME
from .ends import Ending
from .holds import Hold
from .plan import Amounts, Need, Plan, Room, plan

Rows = npt.NDArray[np.intp]

_ENDINGS_AT_ONCE = 256
_OF_ROOM = frozenset({"NodeResourcesFit", NAME})


@dataclass(frozen=True, slots=True)
class Wanted:
    """Pods that are to be placed at once, each with the notes of its attempt where it was tried.

    `levels` are the labels of nodes on which all have to agree, if they have to.
    """

    pods: Sequence[PodInfo]
    states: Sequence[CycleState | None]
    levels: Sequence[str] = ()


def lacks_room(decision: PodDecision) -> bool:
    """Whether it is for want of room that no node took the pod."""
    if decision.status is None or not decision.status.rejected:
        return False
    return not _OF_ROOM.isdisjoint(decision.unschedulable_plugins)


def wanted_by_pod(decision: PodDecision) -> Wanted | None:
    """What a pod by itself lacks; None where that is not room."""
    return Wanted([decision.pod], [decision.state]) if lacks_room(decision) else None


def wanted_by_group(decision: GroupDecision) -> Wanted | None:
    """What a group lacks; None where that is not room, or its pods are not there, and for trees of groups."""
    pods = decision.waiting[: decision.missing]
    refused = decision.status is not None and any(lacks_room(each) for each in decision.members)
    if decision.parts or not refused or len(pods) < decision.missing:
        return None
    states = {each.pod.signature: each.state for each in decision.members}
    levels = decision.no_domain.levels if decision.no_domain is not None else ()
    return Wanted(pods, [states.get(pod.signature) for pod in pods], levels)


def plan_for(
    wanted: Wanted, holder: str, endings: Iterable[Ending], holds: Iterable[Hold], handle: Handle, now: float
) -> Steps[Hold | None]:
    """What is to be held so that the pods start as early as possible; None when no room will help them."""
    snapshot = handle.snapshot
    columns = snapshot.resources
    rows = snapshot.live_rows()
    counts = Counter(pod.signature for pod in wanted.pods)
    examples = {pod.signature: (pod, state) for pod, state in zip(wanted.pods, wanted.states, strict=True)}
    usable = {signature: _usable(*examples[signature], handle, rows) for signature in counts}
    amounts = {signature: _amounts(examples[signature][0], columns) for signature in counts}
    yield False
    room = yield from _room(rows, list(endings), holds, handle)
    found: tuple[Plan, Rows] | None = None
    for domain in _domains(wanted.levels, handle, rows):
        needs = [Need(amounts[each], counts[each], usable[each][domain]) for each in counts]
        planned = plan(_part(room, domain, len(rows)), needs, now)
        if planned is not None and (found is None or planned.start < found[0].start):
            found = planned, rows[domain]
        yield False
    if found is None or found[0].start <= now:  # it is not for want of room that they wait
        return None
    return _hold(holder, wanted.pods, found[0], found[1], [amounts[each] for each in counts], columns)


def _usable(pod: PodInfo, state: CycleState | None, handle: Handle, rows: Rows) -> npt.NDArray[np.bool_]:
    """bool, shape (rows,): nodes that could run the pod if others ended. All of them where it was not tried."""
    if state is None:
        return np.ones(len(rows), np.bool_)
    view = NodeView(handle.snapshot, rows)
    diagnosis = handle.run_filter_plugins_with_nominated_pods(state, pod, view)
    never = set(diagnosis.nodes_with(Code.UNSCHEDULABLE_AND_UNRESOLVABLE))
    return np.array([name not in never for name in view.names()], np.bool_)


def _amounts(pod: PodInfo, columns: ResourceColumns) -> Amounts:
    """By resource column, then the one pod that it is."""
    requests = pod.signature.requests
    return np.array([*(requests.get(name, 0) if name else 0 for name in columns.names), 1], np.int64)


def _room(rows: Rows, endings: Sequence[Ending], holds: Iterable[Hold], handle: Handle) -> Steps[Room]:
    snapshot = handle.snapshot
    columns = snapshot.resources
    used = np.vstack([columns.requested[:, rows], columns.pod_count[rows]]).T
    offered = np.vstack([columns.allocatable[:, rows], columns.allowed_pods[rows]]).T
    place = np.full(snapshot.height, -1, np.intp)
    place[rows] = np.arange(len(rows))
    held = np.zeros_like(used)
    for hold in holds:
        there = place[hold.rows] >= 0
        at = place[hold.rows][there]
        held[at, -1] += hold.pods[there]
        for name, amounts in hold.amounts.items():
            index = columns.index(name)
            if index is not None:
                held[at, index] += amounts[there]
    claims: dict[PodSignature, Amounts] = {}
    known: list[tuple[float, int, Amounts]] = []
    for count, ending in enumerate(endings):
        row, signature = snapshot.live_row_of(ending.node_name), ending.pod.signature
        if row is not None and ending.pod.uid in snapshot.pods[row]:
            if signature not in claims:
                claims[signature] = _amounts(ending.pod, columns)
            known.append((ending.at, int(place[row]), claims[signature]))
        if not count % _ENDINGS_AT_ONCE:
            yield False
    given_back = np.array([each for *_, each in known], np.int64).reshape(-1, used.shape[1])
    nodes = np.array([node for _, node, _ in known], np.intp)
    open_ended = used.copy()
    np.subtract.at(open_ended, nodes, given_back)
    ends = np.array([at for at, *_ in known], np.float64)
    yield False
    return Room(offered - used - held, ends, nodes, given_back, np.maximum(open_ended, 0))


def _domains(levels: Sequence[str], handle: Handle, rows: Rows) -> list[Rows]:
    """Positions in `rows` of the nodes of each domain; all of them where pods need not be together."""
    if not levels:
        return [np.arange(len(rows))]
    return [np.searchsorted(rows, each) for each in Partition(handle.snapshot, levels).rows]


def _part(room: Room, domain: Rows, nodes: int) -> Room:
    """The same of some nodes alone."""
    place = np.full(nodes, -1, np.intp)
    place[domain] = np.arange(len(domain))
    there = place[room.nodes] >= 0
    return Room(
        room.free[domain],
        room.ends[there],
        place[room.nodes][there],
        room.amounts[there],
        room.open_ended[domain],
    )


def _hold(
    holder: str,
    pods: Sequence[PodInfo],
    planned: Plan,
    rows: Rows,
    amounts: Sequence[Amounts],
    columns: ResourceColumns,
) -> Hold:
    held = np.zeros((len(rows), len(amounts[0])), np.int64)
    for nodes, each in zip(planned.nodes, amounts, strict=True):
        np.add.at(held, np.array(nodes, np.intp), each)
    used = np.flatnonzero(held[:, -1])
    by_name = {name: held[used, index] for index, name in enumerate(columns.names) if name and held[used, index].any()}
    priority = max(pod.priority for pod in pods)
    members = frozenset(pod.uid for pod in pods)
    return Hold(holder, priority, members, planned.start, rows[used], held[used, -1], by_name)
