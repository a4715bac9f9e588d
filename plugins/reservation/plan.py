"""The earliest time and place at which pods that have waited long fit, from free capacity and the ends of pods.

Pure. `group_plan` calls it for each group of pods. Pods whose end is known return their capacity then. If that is not
enough soon, the plan has no start: it names the nodes on which the least capacity still has to become free, and these
nodes are reserved until enough is free. If long-lived pods are in the way everywhere, a late start is better than none.
Other work may run after each moment and each kind of member.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
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
        later: the capacity of other pods, and of pods that end later than soon.
        soon: a start after this moment is late; an unknown one is better if no long-lived pod has to end for it.
    """

    free: Amounts
    ends: npt.NDArray[np.float64]
    nodes: npt.NDArray[np.intp]
    amounts: Amounts
    later: EventualCapacity
    soon: float = inf

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
            self.soon,
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of members.

    Attributes:
        start: the latest time at which all of them fit there; infinity if it is unknown.
        nodes: the node of each member.
        cost: without a start, the capacity that has to become free for it; with a late start, all members are blocked.
    """

    start: float
    nodes: Packed
    cost: Cost = FREE


def add_at(amounts: Amounts, nodes: npt.NDArray[np.intp], more: Amounts) -> None:
    """Add each row of `more` to the row of its node. Nodes may repeat; NumPy adds column by column."""
    for column, added in zip(amounts.T, more.T, strict=True):
        np.add.at(column, nodes, added)


def plan(timeline: CapacityTimeline, asked: Sequence[Asked], now: float, before: float = inf) -> Plan | None:
    """The best start, and nodes; None if members do not fit even on empty nodes, or not better than `before`.

    Best is the earliest start that comes soon, then one at an unknown time without long-lived pods, then a late one.
    """
    moments = np.unique(np.append(timeline.ends[(timeline.ends > now) & (timeline.ends < before)], now))
    late = moments[(moments > now) & (moments > timeline.soon)]
    checkpoint()
    found = _earliest(timeline, asked, moments[: len(moments) - len(late)])
    if found is not None or (before < inf and before <= timeline.soon):
        return found
    later = pack_later(timeline.at(timeline.soon), timeline.later, asked)
    unknown = None if later is None else Plan(inf, *later)
    if unknown is not None and not unknown.cost.blocked:
        return unknown
    found = _earliest(timeline, asked, late)
    return unknown if found is None else replace(found, cost=Cost(blocked=sum(each.count for each in asked)))


def _earliest(timeline: CapacityTimeline, asked: Sequence[Asked], moments: npt.NDArray[np.float64]) -> Plan | None:
    """The first of these moments at which all members fit, ascending; None if they do not fit at the last."""
    found = pack(timeline.at(moments[-1]), asked) if len(moments) else None
    if found is None:
        return None
    low, high = 0, len(moments) - 1
    while low < high:
        middle = (low + high) // 2
        earlier = pack(timeline.at(moments[middle]), asked)
        if earlier is None:
            low = middle + 1
        else:
            high, found = middle, earlier
    return Plan(float(moments[high]), found)
