"""What the plan goes by, read off the snapshot: what is free, what ends when, and what pods need.

Thousands of pods may end, on thousands of nodes of many domains, so other work is let in now and then; the snapshot
stands still meanwhile.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from muster.framework.contract import (
    Code,
    CycleState,
    GroupDecision,
    Handle,
    NodeView,
    Part,
    Partition,
    PodDecision,
    PodInfo,
    PodSignature,
    Steps,
    Unfinished,
)
from muster.framework.snapshot.partitions import NONE
from muster.framework.snapshot.resources import ResourceColumns

from .args import NAME
from .ends import Ending
from .group_plan import Group, Placed, plan_group
from .holds import Hold
from .plan import Amounts, Need, Room, add_at

Rows = npt.NDArray[np.intp]

_ENDINGS_AT_ONCE = 256
_OF_ROOM = frozenset({"NodeResourcesFit", NAME})


@dataclass(frozen=True, slots=True)
class Wanted:
    """A pod or a group that is to be placed at once.

    Attributes:
        key: a group as `plugin/id`, a pod as `namespace/name`.
        members: the pods, as many as are needed; of a tree none of its own.
        states: the notes of the attempt of each of them; None where none of its kind was tried.
        levels: labels of nodes on which all in it have to agree, if they have to.
        holding: where they have to, who in it has a node.
        parts: of a tree, the groups that it consists of.
        needed: of a tree, how many of them.
    """

    key: str
    members: Sequence[PodInfo] = ()
    states: Sequence[CycleState | None] = ()
    levels: tuple[str, ...] = ()
    holding: Sequence[PodInfo] = ()
    parts: Sequence[Wanted] = ()
    needed: int = 0

    def groups(self) -> Iterator[Wanted]:
        """Itself and all groups in it, each before its parts."""
        yield self
        for part in self.parts:
            yield from part.groups()

    @property
    def pods(self) -> Sequence[PodInfo]:
        """All pods in it."""
        return [pod for group in self.groups() for pod in group.members]


def lacks_room(decision: PodDecision) -> bool:
    """Whether it is for want of room that no node took the pod."""
    if decision.status is None or not decision.status.rejected:
        return False
    return not _OF_ROOM.isdisjoint(decision.unschedulable_plugins)


def wanted_by_pod(decision: PodDecision) -> Wanted | None:
    """What a pod by itself lacks; None where that is not room."""
    return Wanted(decision.pod.key, [decision.pod], [decision.state]) if lacks_room(decision) else None


def wanted_by_group(decision: GroupDecision) -> Wanted | None:
    """What a group lacks; None where that is not room, or its pods are not there.

    Of a tree that runs with all that it needs, while others in it wait, it is the next of those.
    """
    lacking = decision.status is not None and any(lacks_room(each) for each in decision.members)
    if decision.asked is None or not lacking:
        return None
    states = {each.pod.signature: each.state for each in (*decision.untried, *decision.members)}
    return _wanted(decision.asked, decision, states, one_more=not decision.asked.least)


def _wanted(
    part: Part, decision: GroupDecision, states: Mapping[PodSignature, CycleState], *, one_more: bool
) -> Wanted | None:
    key, topology = f"{decision.plugin}/{part.key}", part.topology
    levels = () if topology is None else topology.levels[: topology.required]
    if part.parts is None:
        count = 1 if one_more else max(0, part.needed)
        pods = decision.waiting_in.get(part.key, ())[:count]
        if len(pods) < count:
            return None
        return Wanted(key, pods, [states.get(pod.signature) for pod in pods], levels, part.holding)
    all_parts = (_wanted(each, decision, states, one_more=one_more and not each.least) for each in part.parts)
    parts = [each for each in all_parts if each is not None]
    needed = 1 if one_more else part.needed
    return Wanted(key, (), (), levels, part.holding, parts, needed) if len(parts) >= needed else None


def plan_for(
    wanted: Wanted, endings: Iterable[Ending], holds: Iterable[Hold], handle: Handle, now: float
) -> Steps[Sequence[Hold]]:
    """What is to be held so that it starts as early as possible; nothing when no room will help.

    Of a tree, the room of one part after another, in the order that they are tried in.
    """
    snapshot = handle.snapshot
    rows = snapshot.live_rows()
    kinds: dict[PodSignature, Need] = {}
    domains: dict[tuple[str, ...], _Domains] = {}
    for group in wanted.groups():
        for pod, state in zip(group.members, group.states, strict=True):
            if pod.signature not in kinds:
                amounts = np.array(_amounts(pod, snapshot.resources), np.int64)
                kinds[pod.signature] = Need(amounts, 1, (yield from _usable(pod, state, handle, rows)))
                yield False
        if group.levels and group.levels not in domains:
            domains[group.levels] = _Domains(handle, group.levels, rows)
            yield False
    room = yield from _room(rows, endings, holds, handle)
    found = yield from plan_group(room, _group(wanted, kinds, domains), now)
    if found is None or found.start <= now:  # it is not for want of room that they wait
        return ()
    placed = {each.group.key: each for each in found.placed}
    return [
        _hold(wanted, group, found.start, placed[group.key], handle, rows)
        for group in wanted.groups()
        if group.members and group.key in placed
    ]


def _group(wanted: Wanted, kinds: Mapping[PodSignature, Need], domains: Mapping[tuple[str, ...], _Domains]) -> Group:
    """The same for the plan."""
    counts = Counter(pod.signature for pod in wanted.members)
    needs = [replace(kinds[signature], count=count) for signature, count in counts.items()]
    left = domains[wanted.levels].left_by(wanted.holding) if wanted.levels else None
    parts = [_group(part, kinds, domains) for part in wanted.parts]
    return Group(wanted.key, needs, left, parts, wanted.needed)


class _Domains:
    """The domains of some levels, as positions in `rows`."""

    def __init__(self, handle: Handle, levels: Sequence[str], rows: Rows) -> None:
        self._snapshot = handle.snapshot
        partition = Partition(handle.snapshot, levels)
        self._numbers = partition.numbers
        place = np.zeros(handle.snapshot.height, np.intp)
        place[rows] = np.arange(len(rows))
        self._positions = [place[each] for each in partition.rows]

    def left_by(self, holding: Iterable[PodInfo]) -> Sequence[Rows]:
        """Those that members with a node leave to others; none while not all of their nodes are known."""
        taken = set()
        for pod in holding:
            if not pod.node_name:
                return ()
            row = self._snapshot.live_row_of(pod.node_name)
            if row is not None:
                taken.add(int(self._numbers[row]))
        if len(taken) > 1 or NONE in taken:
            return ()
        return [self._positions[number] for number in taken] if taken else self._positions


def _usable(pod: PodInfo, state: CycleState | None, handle: Handle, rows: Rows) -> Steps[npt.NDArray[np.bool_]]:
    """bool, shape (rows,): nodes that could run the pod if others ended. All of them where it was not tried."""
    if state is None:
        return np.ones(len(rows), np.bool_)
    view = NodeView(handle.snapshot, rows)
    try:
        diagnosis = handle.run_filter_plugins_with_nominated_pods(state, pod, view)
    except Unfinished:
        yield from handle.work_out(state, pod)
        diagnosis = handle.run_filter_plugins_with_nominated_pods(state, pod, view)
    return ~diagnosis.with_code(Code.UNSCHEDULABLE_AND_UNRESOLVABLE)


def _amounts(pod: PodInfo, columns: ResourceColumns) -> list[int]:
    """By resource column, then the one pod that it is."""
    requests = pod.signature.requests
    return [*(requests.get(name, 0) if name else 0 for name in columns.names), 1]


def _room(rows: Rows, endings: Iterable[Ending], holds: Iterable[Hold], handle: Handle) -> Steps[Room]:
    snapshot = handle.snapshot
    columns = snapshot.resources
    used = np.vstack([columns.requested[:, rows], columns.pod_count[rows]]).T
    offered = np.vstack([columns.allocatable[:, rows], columns.allowed_pods[rows]]).T
    place = np.full(snapshot.height, -1, np.intp)
    place[rows] = np.arange(len(rows))
    free = offered - used
    for hold in holds:
        there = place[hold.rows] >= 0
        at = place[hold.rows][there]
        free[at, -1] -= hold.pods[there]
        for name, amounts in hold.amounts.items():
            index = columns.index(name)
            if index is not None:
                free[at, index] -= amounts[there]
        yield False
    ends, nodes, given_back = yield from _given_back(endings, handle)
    nodes = place[nodes]
    open_ended = used.copy()
    add_at(open_ended, nodes, -given_back)
    return Room(free, ends, nodes, given_back, np.maximum(open_ended, 0))


def _given_back(endings: Iterable[Ending], handle: Handle) -> Steps[tuple[npt.NDArray[np.float64], Rows, Amounts]]:
    """When pods end, the first first, in which rows, and what each of them gives back."""
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
        if not count % _ENDINGS_AT_ONCE:
            yield False
    order = np.argsort(np.array(ends, np.float64), kind="stable")
    yield False
    by_kind = np.array(claims, np.int64).reshape(-1, len(snapshot.resources.names) + 1)
    given_back = by_kind[np.array(kinds, np.intp)[order]]
    yield False
    return np.array(ends, np.float64)[order], np.array(rows, np.intp)[order], given_back


def _hold(wanted: Wanted, part: Wanted, start: float, placed: Placed, handle: Handle, rows: Rows) -> Hold:
    columns = handle.snapshot.resources
    held = np.zeros((len(rows), len(columns.names) + 1), np.int64)
    for need, nodes in zip(placed.group.needs, placed.nodes, strict=True):
        np.add.at(held, np.array(nodes, np.intp), need.amounts)
    used = np.flatnonzero(held[:, -1])
    by_name = {name: held[used, index] for index, name in enumerate(columns.names) if name and held[used, index].any()}
    priority = max(pod.priority for pod in part.members)
    members = frozenset(pod.uid for pod in part.members)
    return Hold(wanted.key, part.key, priority, members, start, rows[used], held[used, -1], by_name)
