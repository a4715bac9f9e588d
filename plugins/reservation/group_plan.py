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
        key: its identity.
        needs: for a group of pods, the members to place; none if all that it needs run.
        domains: the nodes of each domain, ascending; the whole group has to be in one of them. None for anywhere.
        parts: for a tree, the groups that it consists of.
        needed: for a tree, the number of parts that have to start.
    """

    key: str
    needs: Sequence[Asked] = ()
    domains: Sequence[Nodes] | None = None
    parts: Sequence[Group] = ()
    needed: int = 0

    @property
    def size(self) -> int:
        """The least number of pods with which it can start."""
        if self.parts:
            return sum(sorted(part.size for part in self.parts)[: self.needed])
        return sum(need.count for need in self.needs)


@dataclass(frozen=True, slots=True)
class PlacedGroup:
    """A group of pods with the node of each member, by the `kinds` of its needs."""

    group: Group
    nodes: Sequence[Sequence[int]]

    def by_kind(self) -> Iterator[tuple[Need, Sequence[int]]]:
        """The need of each kind of member, with its nodes."""
        return zip(kinds(self.group.needs), self.nodes, strict=True)


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """The plan of a group.

    Attributes:
        start: the latest time at which the whole group fits there; infinity if it is unknown.
        placed: the groups of pods in it that start.
        cost: as in a `Plan`.
    """

    start: float
    placed: Sequence[PlacedGroup]
    cost: Cost = FREE

    @property
    def rank(self) -> tuple[bool, float, Cost]:
        """The place among other plans, the best first: without long-lived pods, then by start, then by cost."""
        return self.cost.blocked > 0, self.start, self.cost


def plan_group(timeline: CapacityTimeline, group: Group, now: float, within: Nodes | None = None) -> GroupPlan | None:
    """The best start that is found; None if the group does not fit even on empty nodes, as far as is found.

    With `within`, the group may use only these nodes.
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
        if found is not None and (best is None or found.rank < best.rank):
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
    """The parts in the order of planning: first as many as are needed, the ones that would start earliest if alone.

    Among these, parts that are harder to place come first: those that need one domain, then large ones.
    """
    parts = [*group.parts]
    if group.needed < len(parts):
        alone = []
        for place, part in enumerate(parts):
            found = plan_group(timeline, part, now, within)
            if found is not None:
                alone.append((found.rank, part.size, place))
        parts = [parts[place] for *_, place in sorted(alone)]
    first = sorted(parts[: group.needed], key=lambda part: (part.domains is None, -part.size))
    return [*first, *parts[group.needed :]]


def _beside(timeline: CapacityTimeline, planned: GroupPlan) -> CapacityTimeline:
    """The timeline that a placed group leaves to others."""
    free = timeline.free.copy()
    for each in planned.placed:
        for need, nodes in each.by_kind():
            np.subtract.at(free, np.array(nodes, np.intp), need.amounts)
    return replace(timeline, free=free)
