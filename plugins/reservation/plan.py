"""The earliest time and place at which pods that have waited long fit, from free capacity and the ends of pods.

Pure. `group_plan` calls it for each group of pods. Pods whose end is known return their capacity then. If that is not
enough, the plan has no start: it names the nodes on which the least capacity still has to become free, without
long-lived pods where possible, and these nodes are reserved until enough is free. Other work may run after each moment
and each kind of member.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
import numpy.typing as npt

from muster.framework.contract import checkpoint

from .packing import FREE, Amounts, Asked, Cost, EventualCapacity, Nodes, Packed, pack, pack_later


@dataclass(frozen=True, slots=True)
class CapacityTimeline:
    """The free capacity of nodes, now and as pods end.

    Attributes:
        free: int64, shape (nodes, resources): now; may be negative.
        ends: float64, shape (endings,): the times at which pods with a known end do end, ascending.
        nodes: intp, shape (endings,): the nodes of these pods.
        amounts: int64, shape (endings, resources): the capacity that each of them frees.
        later: the capacity of other pods, and of pods that end after the horizon.
        horizon: pods that end after this moment end too late, unless all the needed capacity has a known end.
    """

    free: Amounts
    ends: npt.NDArray[np.float64]
    nodes: npt.NDArray[np.intp]
    amounts: Amounts
    later: EventualCapacity
    horizon: float = inf

    def at(self, moment: float) -> Amounts:
        """The free capacity when all pods that end by this moment have ended."""
        over = int(np.searchsorted(self.ends, moment, side="right"))
        free = self.free.copy()
        add_at(free, self.nodes[:over], self.amounts[:over])
        return free

    def of(self, domain: Nodes) -> CapacityTimeline:
        """The capacity of the nodes of `domain` alone, numbered by their positions there."""
        place = np.full(len(self.free), -1, np.intp)
        place[domain] = np.arange(len(domain))
        there = place[self.nodes] >= 0
        return CapacityTimeline(
            self.free[domain],
            self.ends[there],
            place[self.nodes][there],
            self.amounts[there],
            self.later.of(domain),
            self.horizon,
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of members.

    Attributes:
        start: the latest time at which all of them fit there; infinity if it is unknown.
        nodes: the node of each member.
        cost: without a start, the capacity that has to become free for it.
    """

    start: float
    nodes: Packed
    cost: Cost = FREE


def add_at(amounts: Amounts, nodes: npt.NDArray[np.intp], more: Amounts) -> None:
    """Add each row of `more` to the row of its node. Nodes may repeat; NumPy adds column by column."""
    for column, added in zip(amounts.T, more.T, strict=True):
        np.add.at(column, nodes, added)


def plan(timeline: CapacityTimeline, asked: Sequence[Asked], now: float, before: float = inf) -> Plan | None:
    """The earliest start, and nodes; None if members do not fit even on empty nodes, or only at `before` or later."""
    moments = np.unique(np.append(timeline.ends[(timeline.ends > now) & (timeline.ends < before)], now))
    checkpoint()
    low, high, found = 0, len(moments) - 1, pack(timeline.at(moments[-1]), asked)
    if found is None:
        if before < inf:
            return None
        later = pack_later(timeline.at(timeline.horizon), timeline.later, asked)
        return None if later is None else Plan(inf, *later)
    while low < high:
        middle = (low + high) // 2
        earlier = pack(timeline.at(moments[middle]), asked)
        if earlier is None:
            low = middle + 1
        else:
            high, found = middle, earlier
    return Plan(float(moments[high]), found)
