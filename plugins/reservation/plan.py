"""When and where pods that have waited long fit at the earliest: what is free and when what ends in, a plan out.

Pure. `group_plan` asks it for each group of pods. Pods whose end is known give their room back then. Where that is
not enough, the plan has no start: it names the nodes on which least has to come free besides, and they are held until
enough has. Work is let in after each moment and each kind of member that is tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
import numpy.typing as npt

from muster.framework.contract import Steps

Amounts = npt.NDArray[np.int64]
"""int64, shape (resources,) or (nodes, resources)."""


@dataclass(frozen=True, slots=True)
class Need:
    """Members that are alike.

    Attributes:
        amounts: int64, shape (resources,): what each of them takes.
        count: how many there are.
        nodes: bool, shape (nodes,): which nodes could run them if enough were free.
    """

    amounts: Amounts
    count: int
    nodes: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Room:
    """What is free, and what will be.

    Attributes:
        free: int64, shape (nodes, resources): now; may be negative.
        ends: float64, shape (endings,): when pods with a known end end, ascending.
        nodes: intp, shape (endings,): on which nodes.
        amounts: int64, shape (endings, resources): what they give back.
        open_ended: int64, shape (nodes, resources): what pods without a known end have.
    """

    free: Amounts
    ends: npt.NDArray[np.float64]
    nodes: npt.NDArray[np.intp]
    amounts: Amounts
    open_ended: Amounts

    def at(self, moment: float) -> Amounts:
        """What is free when all has ended that ends by then."""
        over = int(np.searchsorted(self.ends, moment, side="right"))
        free = self.free.copy()
        add_at(free, self.nodes[:over], self.amounts[:over])
        return free

    def of(self, domain: npt.NDArray[np.intp]) -> Room:
        """The same of some nodes alone, which are numbered as they stand in `domain`."""
        place = np.full(len(self.free), -1, np.intp)
        place[domain] = np.arange(len(domain))
        there = place[self.nodes] >= 0
        return Room(
            self.free[domain],
            self.ends[there],
            place[self.nodes][there],
            self.amounts[there],
            self.open_ended[domain],
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """Where members are to go.

    Attributes:
        start: when all of them fit there at the latest; infinity when nobody can say.
        nodes: for each need, the node of each member.
    """

    start: float
    nodes: tuple[tuple[int, ...], ...]


def add_at(amounts: Amounts, nodes: npt.NDArray[np.intp], more: Amounts) -> None:
    """Add a row of `more` to the row of each of `nodes`, of which some come again: by columns NumPy does so at once."""
    for column, added in zip(amounts.T, more.T, strict=True):
        np.add.at(column, nodes, added)


def plan(room: Room, needs: Sequence[Need], now: float, before: float = inf) -> Steps[Plan | None]:
    """The earliest start, and nodes; None when members do not fit on the nodes even if they were empty.

    Where a start is known already, only one `before` it is of use: None when there is none.
    """
    moments = np.unique(np.append(room.ends[(room.ends > now) & (room.ends < before)], now))
    yield False
    low, high, found = 0, len(moments) - 1, (yield from pack(room.at(moments[-1]), needs))
    if found is None:
        return (yield from _without_start(room, needs)) if before == inf else None
    while low < high:
        middle = (low + high) // 2
        earlier = yield from pack(room.at(moments[middle]), needs)
        if earlier is None:
            low = middle + 1
        else:
            high, found = middle, earlier
    return Plan(float(moments[high]), found)


def pack(free: Amounts, needs: Sequence[Need]) -> Steps[tuple[tuple[int, ...], ...] | None]:
    """Nodes for all members, on as few nodes as come easily; None where they are not found."""
    left, found = free.copy(), []
    for need in needs:
        nodes = _take(left, need, need.count, _capacity(left, need))
        yield False
        if len(nodes) < need.count:
            return None
        found.append(nodes)
    return tuple(found)


def _without_start(room: Room, needs: Sequence[Need]) -> Steps[Plan | None]:
    """First what comes free at a known time, then the nodes where pods without an end have least."""
    known = room.at(inf)
    left, most = known.copy(), known + room.open_ended
    found = []
    for need in needs:
        nodes = _take(left, need, need.count, _capacity(left, need))
        np.subtract.at(most, np.array(nodes, np.intp), need.amounts)
        lacking = need.count - len(nodes)
        if lacking:
            in_use = (room.open_ended / np.maximum(most + room.open_ended, 1)).max(axis=1)
            more = _take(most, need, lacking, _capacity(most, need), np.argsort(in_use, kind="stable"))
            np.subtract.at(left, np.array(more, np.intp), need.amounts)
            nodes += more
        yield False
        if len(nodes) < need.count:
            return None
        found.append(nodes)
    return Plan(inf, tuple(found))


def _capacity(free: Amounts, need: Need) -> npt.NDArray[np.int64]:
    """int64, shape (nodes,): how many such members each node could take."""
    asked = need.amounts > 0
    fits = np.full(len(free), need.count, np.int64)
    if asked.any():
        fits = np.minimum(fits, (free[:, asked] // need.amounts[asked]).min(axis=1))
    return np.where(need.nodes, np.maximum(fits, 0), 0)


def _take(
    left: Amounts, need: Need, count: int, fits: npt.NDArray[np.int64], order: npt.NDArray[np.intp] | None = None
) -> tuple[int, ...]:
    """Put up to `count` members on nodes, those first that take most, or as `order` says; `left` is what is free."""
    order = np.argsort(-fits, kind="stable") if order is None else order
    before = np.cumsum(fits[order]) - fits[order]
    taken = np.clip(count - before, 0, fits[order])
    used = order[taken > 0]
    left[used] -= taken[taken > 0, None] * need.amounts
    return tuple(np.repeat(order, taken).tolist())
