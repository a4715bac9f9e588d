"""Planning: from a placement request to the reservation with which it starts as early as possible.

`plan_for` reads free capacity, the ends of pods and the needs of members from the snapshot, lets `group_plan` find
nodes and a time, and returns the capacity to reserve. Thousands of pods may end on thousands of nodes in many domains,
so other work may run in between; the snapshot does not change meanwhile.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from muster.framework.contract import (
    Code,
    CycleState,
    Diagnosis,
    NodeView,
    Partition,
    PodInfo,
    PodSignature,
    PreemptionHandle,
    SnapshotReader,
    Unfinished,
    checkpoint,
)
from muster.framework.contract.columns import NONE, ResourceColumns
from muster.framework.model.requests import PODS

from .args import NAME
from .ends import ExpectedEnd
from .group_plan import Group, GroupPlan, PlacedGroup, plan_group
from .packing import Amounts, Asked, EventualCapacity, Need, Slices
from .placement_request import PlacementRequest, Rows
from .plan import CapacityTimeline, add_at
from .reserved_capacity import ReservedCapacity

_PODS_AT_ONCE = 256
_PIECES = 1024
"""The number of pieces into which capacity that may be free anywhere is divided; a node counts by whole pieces."""


@dataclass(frozen=True, slots=True)
class Assumptions:
    """The assumptions about the ends of pods.

    Attributes:
        soon: a start by this moment is better than any at an unknown time.
        horizon: a start by this moment is promised; a pod that declares a later end may end at any time.
        long_lived: returns whether a pod that may end at any time is long-lived; None if no pod is.
        chosen: rows that were chosen before and should be chosen again.
    """

    soon: float = inf
    horizon: float = inf
    long_lived: Callable[[PodInfo], bool] | None = None
    chosen: Rows = field(default_factory=lambda: np.zeros(0, np.intp))


class PlanningResult(NamedTuple):
    """The result of planning.

    Attributes:
        reserved: the capacity with which the request starts as early as possible; empty if none helps.
        hindered: whether something other than capacity and the nodes themselves excludes some nodes.
    """

    reserved: Sequence[ReservedCapacity]
    hindered: bool


def plan_for(
    wanted: PlacementRequest,
    endings: Iterable[ExpectedEnd],
    reserved: Iterable[ReservedCapacity],
    handle: PreemptionHandle,
    *,
    now: float,
    assumptions: Assumptions = Assumptions(),
    giving_way: Iterable[ReservedCapacity] = (),
) -> PlanningResult:
    """The capacity to reserve with which the request starts as early as possible.

    For a tree, the capacity of its parts comes in the order in which the parts are tried. The plan uses nothing that is
    `reserved` for others, except capacity of reservations that are `giving_way`. The result is empty if the request
    could start at once even beside the latter, because it does not lack capacity then.
    """
    snapshot = handle.snapshot
    rows = snapshot.live_rows()
    kinds: dict[PodSignature, Need] = {}
    hindered = False
    domains: dict[tuple[str, ...], _Domains] = {}
    for group in wanted.groups():
        for pod, state in zip(group.members, group.states, strict=True):
            if pod.signature not in kinds:
                amounts = np.array(_amounts(pod, snapshot.resources), np.int64)
                usable = _usable(pod, state, handle, rows)
                hindered = hindered or (_reads_more_than_nodes(state, handle) and not usable.all())
                kinds[pod.signature] = Need(amounts, 1, usable)
                checkpoint()
        for levels in filter(None, (group.levels, _slice_levels(group))):
            if levels not in domains:
                domains[levels] = _Domains(handle, levels, rows)
                checkpoint()
    besides = _besides(wanted, rows, snapshot.resources)
    if besides is None:
        return PlanningResult((), hindered)
    timeline = _timeline(rows, endings, reserved, handle, assumptions=assumptions)
    asked = _group(wanted, kinds, domains)
    asked = replace(asked, needs=[*asked.needs, *besides])
    within = None if wanted.within is None else np.flatnonzero(np.isin(rows, wanted.within))
    found = plan_group(timeline, asked, now, within)
    if found is None:
        return PlanningResult((), hindered)
    if found.start <= now:
        beside = plan_group(_beside(giving_way, timeline, rows, snapshot), asked, now, within)
        if beside is not None and beside.start <= now:  # it does not wait for lack of capacity
            return PlanningResult((), hindered)
    placed = {each.group.key: each for each in found.placed}
    planned = [
        _reserved_capacity(
            wanted, group, found, placed[group.key], handle=handle, rows=rows, horizon=assumptions.horizon
        )
        for group in wanted.groups()
        if group.members and group.key in placed
    ]
    return PlanningResult(planned, hindered)


def _group(
    wanted: PlacementRequest, kinds: Mapping[PodSignature, Need], domains: Mapping[tuple[str, ...], _Domains]
) -> Group:
    """The request as `plan_group` takes it."""
    needs: Sequence[Asked]
    if wanted.slice_size:
        needs = _slices(wanted, kinds, domains[_slice_levels(wanted)])
    else:
        needs = _needs(wanted.members, kinds)
    left = domains[wanted.levels].left_by(wanted.placed_members) if wanted.levels else None
    parts = [_group(part, kinds, domains) for part in wanted.parts]
    return Group(wanted.key, needs, left, parts, wanted.needed)


def _needs(members: Iterable[PodInfo], kinds: Mapping[PodSignature, Need]) -> list[Need]:
    counts = Counter(pod.signature for pod in members)
    return [replace(kinds[signature], count=count) for signature, count in counts.items()]


def _slice_levels(wanted: PlacementRequest) -> tuple[str, ...]:
    """The labels on which a slice has to agree; none without slices."""
    return (*wanted.levels, wanted.slice_level) if wanted.slice_size else ()


def _slices(wanted: PlacementRequest, kinds: Mapping[PodSignature, Need], parts: _Domains) -> list[Slices]:
    """Slices with running members come first, in their parts, the fullest first.

    Equal slices among the others are one `Slices`.
    """
    size, left, found = wanted.slice_size, wanted.members, list[Slices]()
    for part, count in sorted(parts.taken_by(wanted.placed_members), key=lambda each: -each[1] % size):
        lacking = -count % size
        if lacking and left:
            found.append(Slices(_needs(left[:lacking], kinds), 1, [part]))
            left = left[lacking:]
    times: Counter[frozenset[tuple[PodSignature, int]]] = Counter()
    examples: dict[frozenset[tuple[PodSignature, int]], Sequence[PodInfo]] = {}
    for start in range(0, len(left), size):
        members = left[start : start + size]
        alike = frozenset(Counter(pod.signature for pod in members).items())
        times[alike] += 1
        examples.setdefault(alike, members)
    return [*found, *(Slices(_needs(examples[alike], kinds), count, parts.rows) for alike, count in times.items())]


def _besides(wanted: PlacementRequest, rows: Rows, columns: ResourceColumns) -> Sequence[Need] | None:
    """The capacity that a group needs beyond its members, anywhere, in pieces; None if no node has the resource."""
    if wanted.in_all is None:
        return ()
    found, there, kinds = [], wanted.in_all.nodes[rows], Counter(pod.signature for pod in wanted.members)
    for name, amount in wanted.in_all.amounts.items():
        more = amount - sum(kind.requests.get(name, 0) * count for kind, count in kinds.items())
        if name == PODS or more <= 0:
            continue
        index = columns.index(name)
        if index is None:
            return None
        piece = max(1, more // _PIECES)
        for size, count in ((piece, more // piece), (more % piece, 1)):
            if size:
                amounts = np.zeros(len(columns.names) + 1, np.int64)
                amounts[index] = size
                found.append(Need(amounts, count, there))
    return found


class _Domains:
    """The domains of some levels; `rows` has for each domain the positions of its nodes among all planned rows."""

    def __init__(self, handle: PreemptionHandle, levels: Sequence[str], rows: Rows) -> None:
        self._snapshot = handle.snapshot
        partition = Partition(handle.snapshot, levels)
        self._numbers = partition.numbers
        place = np.zeros(handle.snapshot.height, np.intp)
        place[rows] = np.arange(len(rows))
        self.rows: Sequence[Rows] = [place[each] for each in partition.rows]

    def left_by(self, placed: Iterable[PodInfo]) -> Sequence[Rows]:
        """The domains that other members may use beside members with a node; none while one of the nodes is unknown."""
        taken = set()
        for pod in placed:
            if not pod.node_name:
                return ()
            row = self._snapshot.live_row_of(pod.node_name)
            if row is not None:
                taken.add(int(self._numbers[row]))
        if len(taken) > 1 or NONE in taken:
            return ()
        return [self.rows[number] for number in taken] if taken else self.rows

    def taken_by(self, placed: Iterable[PodInfo]) -> Sequence[tuple[Rows, int]]:
        """The domains of members with a node, and the number of these members in each."""
        rows = (self._snapshot.live_row_of(pod.node_name) for pod in placed)
        taken = Counter(int(self._numbers[row]) for row in rows if row is not None)
        return [(self.rows[number], count) for number, count in sorted(taken.items()) if number != NONE]


def _usable(pod: PodInfo, state: CycleState | None, handle: PreemptionHandle, rows: Rows) -> npt.NDArray[np.bool_]:
    """bool, shape (rows,): nodes that could run the pod if other pods ended; all nodes for a pod that was not tried.

    A diagnosis names only the first plugin that rejects a node. A plugin that rejects the node because of other pods
    may hide a later one that rejects it whichever pods end, so the later plugins are called too. The plan itself
    accounts for reservations.
    """
    if state is None:
        return np.ones(len(rows), np.bool_)
    usable = np.zeros(len(rows), np.bool_)
    parts = [(np.arange(len(rows)), frozenset({NAME}))]
    while parts:
        places, without = parts.pop()
        diagnosis = _ask(pod, state, handle, rows[places], without=without)
        usable[places[diagnosis.passes]] = True
        others = diagnosis.with_code(Code.UNSCHEDULABLE)
        for number in np.unique(diagnosis.rejector[others]).tolist():
            asked = diagnosis.plugins[: diagnosis.plugins.index(diagnosis.plugins[number - 1]) + 1]
            parts.append((places[others & (diagnosis.rejector == number)], without.union(asked)))
            checkpoint()
    return usable


def _reads_more_than_nodes(state: CycleState | None, handle: PreemptionHandle) -> bool:
    return state is not None and not handle.verdicts_are_kept(state, without=[NAME])


def _ask(
    pod: PodInfo, state: CycleState, handle: PreemptionHandle, rows: Rows, *, without: Collection[str]
) -> Diagnosis:
    view = NodeView(handle.snapshot, rows)
    try:
        return handle.run_filter_plugins_with_nominated_pods(state, pod, view, without=without)
    except Unfinished:
        handle.work_out(state, pod)
        return handle.run_filter_plugins_with_nominated_pods(state, pod, view, without=without)


def _amounts(pod: PodInfo, columns: ResourceColumns) -> list[int]:
    """The amounts by resource column, followed by the count of one pod."""
    requests = pod.signature.requests
    return [*(requests.get(name, 0) if name else 0 for name in columns.names), 1]


def _timeline(
    rows: Rows,
    endings: Iterable[ExpectedEnd],
    reserved: Iterable[ReservedCapacity],
    handle: PreemptionHandle,
    *,
    assumptions: Assumptions,
) -> CapacityTimeline:
    snapshot = handle.snapshot
    columns = snapshot.resources
    used = np.vstack([columns.requested[:, rows], columns.pod_count[rows]]).T
    offered = np.vstack([columns.allocatable[:, rows], columns.allowed_pods[rows]]).T
    place = np.full(snapshot.height, -1, np.intp)
    place[rows] = np.arange(len(rows))
    ends, nodes, given_back = _given_back(endings, handle)
    nodes = place[nodes]
    soon, late = np.searchsorted(ends, (assumptions.soon, assumptions.horizon), side="right").tolist()
    open_ended = used.copy()
    add_at(open_ended, nodes[:soon], -given_back[:soon])
    long_lived = _long_lived(rows, handle, assumptions)
    add_at(long_lived, nodes[soon:late], given_back[soon:late])
    later = EventualCapacity(
        np.maximum(open_ended, 0), np.minimum(long_lived, np.maximum(open_ended, 0)), np.isin(rows, assumptions.chosen)
    )
    timeline = CapacityTimeline(offered - used, ends, nodes, given_back, later, assumptions.soon)
    return _beside(reserved, timeline, rows, snapshot)


def _beside(
    reserved: Iterable[ReservedCapacity], timeline: CapacityTimeline, rows: Rows, snapshot: SnapshotReader
) -> CapacityTimeline:
    """The timeline that these reservations leave to others."""
    place = np.full(snapshot.height, -1, np.intp)
    place[rows] = np.arange(len(rows))
    free = timeline.free.copy()
    for capacity in reserved:
        there = place[capacity.rows] >= 0
        at = place[capacity.rows][there]
        free[at, -1] -= capacity.pods[there]
        for name, amounts in capacity.amounts.items():
            index = snapshot.resources.index(name)
            if index is not None:
                free[at, index] -= amounts[there]
        checkpoint()
    return replace(timeline, free=free)


def _long_lived(rows: Rows, handle: PreemptionHandle, assumptions: Assumptions) -> Amounts:
    """int64, shape (rows, resources): the capacity that long-lived pods use."""
    snapshot = handle.snapshot
    found = np.zeros((len(rows), len(snapshot.resources.names) + 1), np.int64)
    if assumptions.long_lived is None:
        return found
    seen = 0
    for place, row in enumerate(rows.tolist()):
        for pod in snapshot.pods[row].values():
            if assumptions.long_lived(pod):
                found[place] += _amounts(pod, snapshot.resources)
            seen += 1
            if not seen % _PODS_AT_ONCE:
                checkpoint()
    return found


def _given_back(
    endings: Iterable[ExpectedEnd], handle: PreemptionHandle
) -> tuple[npt.NDArray[np.float64], Rows, Amounts]:
    """The ends of pods, the earliest first: their times, rows, and the capacity that each pod frees."""
    snapshot = handle.snapshot
    ends, rows, kinds, claims = array("d"), array("q"), array("q"), array("q")
    numbers: dict[PodSignature, int] = {}
    for count, ending in enumerate(endings):
        row, signature = snapshot.live_row_of(ending.node_name), ending.pod.signature
        if row is not None and ending.pod.uid in snapshot.pods[row]:
            if signature not in numbers:
                numbers[signature] = len(numbers)
                claims.extend(_amounts(ending.pod, snapshot.resources))
            ends.append(ending.at)
            rows.append(row)
            kinds.append(numbers[signature])
        if not count % _PODS_AT_ONCE:
            checkpoint()
    order = np.argsort(np.array(ends, np.float64), kind="stable")
    checkpoint()
    by_kind = np.array(claims, np.int64).reshape(-1, len(snapshot.resources.names) + 1)
    given_back = by_kind[np.array(kinds, np.intp)[order]]
    checkpoint()
    return np.array(ends, np.float64)[order], np.array(rows, np.intp)[order], given_back


def _reserved_capacity(
    wanted: PlacementRequest,
    part: PlacementRequest,
    found: GroupPlan,
    placed: PlacedGroup,
    *,
    handle: PreemptionHandle,
    rows: Rows,
    horizon: float,
) -> ReservedCapacity:
    columns = handle.snapshot.resources
    total = np.zeros((len(rows), len(columns.names) + 1), np.int64)
    for need, nodes in placed.by_kind():
        np.add.at(total, np.array(nodes, np.intp), need.amounts)
    used = np.flatnonzero(total.any(axis=1))
    by_name = {
        name: total[used, index] for index, name in enumerate(columns.names) if name and total[used, index].any()
    }
    priority = max(pod.priority for pod in part.members)
    members = frozenset(pod.uid for pod in part.members)
    promised = found.start < inf and found.start <= horizon
    return ReservedCapacity(
        wanted.key, part.key, priority, members, found.start, rows[used], total[used, -1], by_name, found.cost, promised
    )
