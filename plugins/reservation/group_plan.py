"""The earliest time and place at which a group fits: its domain and, for a tree, which of its parts start.

Pure. The plugin calls it through `planning`; `plan` computes where the pods of a group go. The parts of a tree are
planned one after another, each beside the previous ones, and all start when the last of them can. All of them fit then;
other parts, or other domains, might fit earlier. Other work may run in between.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from muster.framework.contract import checkpoint

from .packing import FREE, Asked, Cost, Need, Nodes, kinds
from .plan import CapacityTimeline, plan


@dataclass(frozen=True, slots=True)
class Group:
    """A group that is to start.

    Attributes:
        key: tells it from others.
        needs: of a group of pods, what is to be placed; none where all that it needs runs.
        domains: the nodes of each domain, ascending, in one of which all of it has to be; None for anywhere.
        parts: of a tree, the groups that it consists of.
        needed: of a tree, how many of them have to start.
    """

    key: str
    needs: Sequence[Asked] = ()
    domains: Sequence[Nodes] | None = None
    parts: Sequence[Group] = ()
    needed: int = 0

    @property
    def size(self) -> int:
        """The fewest pods that it can start with."""
        if self.parts:
            return sum(sorted(part.size for part in self.parts)[: self.needed])
        return sum(need.count for need in self.needs)


@dataclass(frozen=True, slots=True)
class PlacedGroup:
    """A group of pods, and for each of the `kinds` that it needs the node of each member."""

    group: Group
    nodes: Sequence[Sequence[int]]

    def by_kind(self) -> Iterator[tuple[Need, Sequence[int]]]:
        """The need of each kind of member, with its nodes."""
        return zip(kinds(self.group.needs), self.nodes, strict=True)


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """The plan of a group.

    Attributes:
        start: the latest time at which all of it fits there; infinity if it is unknown.
        placed: the groups of pods in it that start.
        cost: without a start, the capacity that has to become free for it.
    """

    start: float
    placed: Sequence[PlacedGroup]
    cost: Cost = FREE

    def better_than(self, other: GroupPlan | None) -> bool:
        """Whether it starts earlier; if both starts are unknown, whether less has to come free."""
        return other is None or (self.start, self.cost) < (other.start, other.cost)


def plan_group(timeline: CapacityTimeline, group: Group, now: float, within: Nodes | None = None) -> GroupPlan | None:
    """The earliest start that is found; None when the group is not found to fit on the nodes even if they were empty.

    All of it goes to nodes `within` these, if any are named.
    """
    best: GroupPlan | None = None
    for domain in _inside(group.domains, within):
        checkpoint()
        if domain is not None and not len(domain):
            continue
        if group.parts:
            found = _plan_parts(timeline, group, now, domain)
        else:
            found = _plan_pods(timeline, group, now, domain, before=inf if best is None else best.start)
        if found is not None and found.better_than(best):
            best = found
        if best is not None and best.start <= now:
            break
    return best


def _inside(domains: Sequence[Nodes] | None, within: Nodes | None) -> Iterator[Nodes | None]:
    if domains is None:
        return iter([within])
    if within is None:
        return iter(domains)
    return (np.intersect1d(domain, within, assume_unique=True) for domain in domains)


def _plan_pods(
    timeline: CapacityTimeline, group: Group, now: float, domain: Nodes | None, *, before: float
) -> GroupPlan | None:
    if domain is None:
        found = plan(timeline, group.needs, now)
        return None if found is None else GroupPlan(found.start, [PlacedGroup(group, found.nodes)], found.cost)
    found = plan(timeline.of(domain), [each.of(domain) for each in group.needs], now, before)
    if found is None:
        return None
    nodes = [domain[np.array(each, np.intp)].tolist() for each in found.nodes]
    return GroupPlan(found.start, [PlacedGroup(group, nodes)], found.cost)


def _plan_parts(timeline: CapacityTimeline, group: Group, now: float, within: Nodes | None) -> GroupPlan | None:
    chosen: list[GroupPlan] = []
    for part in _in_order(timeline, group, now, within):
        if len(chosen) == group.needed:
            break
        found = plan_group(timeline, part, now, within)
        if found is not None:
            chosen.append(found)
            timeline = _beside(timeline, found)
    if len(chosen) < group.needed:
        return None
    start, cost = max((each.start for each in chosen), default=now), FREE
    for each in chosen:
        cost = cost.plus(each.cost)
    return GroupPlan(start, [each for some in chosen for each in some.placed], cost)


def _in_order(timeline: CapacityTimeline, group: Group, now: float, within: Nodes | None) -> Sequence[Group]:
    """The parts in the order to plan them: those first that would start first, were each alone, as many as are needed.

    Among those the ones come first that are harder to place: in one domain, and large.
    """
    parts = [*group.parts]
    if group.needed < len(parts):
        alone = []
        for place, part in enumerate(parts):
            found = plan_group(timeline, part, now, within)
            if found is not None:
                alone.append((found.start, found.cost, part.size, place))
        parts = [parts[place] for *_, place in sorted(alone)]
    first = sorted(parts[: group.needed], key=lambda part: (part.domains is None, -part.size))
    return [*first, *parts[group.needed :]]


def _beside(timeline: CapacityTimeline, planned: GroupPlan) -> CapacityTimeline:
    """The timeline that is left beside a group that has its nodes."""
    free = timeline.free.copy()
    for each in planned.placed:
        for need, nodes in each.by_kind():
            np.subtract.at(free, np.array(nodes, np.intp), need.amounts)
    return replace(timeline, free=free)
