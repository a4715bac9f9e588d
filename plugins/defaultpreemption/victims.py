"""Victims: pods that may be evicted together, their importance, and the budgets that protect them.

The dry run takes victims in their order; the plugin reads from the result what to report and which pods to evict.
Everything here is pure. A group of thousands is one victim on all of its nodes, so its properties are computed once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from math import inf
from operator import attrgetter
from typing import TypeVar

from muster.framework.contract import DisruptionUnit, EvictionRule, Placed
from muster.framework.model.pod_info import PodInfo
from muster.framework.model.times import parse_time

from .budgets import DisruptionBudgets

T = TypeVar("T")

_IN_A_PART = 64


@dataclass(frozen=True, eq=False)
class Victim:
    """Pods that are evicted together or not at all: one pod, or all members of a group that cannot run without them.

    Attributes:
        pods: the pods with their nodes.
        priority: the priority that the preemptor has to exceed; for a group, the highest of its members.
        group: whether it is a group or a part of one; a group is more important than a pod of its priority.
        started: when the earliest of them started, seconds since the epoch.
        spare: for a whole group, the number of pods that could be evicted without the others.
        composite: whether it is a group of groups, which is more important than a group of its priority.
    """

    pods: tuple[Placed, ...]
    priority: int
    group: bool
    started: float
    spare: int = 0
    composite: bool = False

    @property
    def importance(self) -> tuple[int, bool, bool, int, float]:
        """The sort key, which puts the most important first (upstream: `MoreImportantVictim`).

        It compares priority, then groups of groups before groups before pods, then size, then the run time.
        """
        return (-self.priority, not self.composite, not self.group, -len(self.pods), self.started)

    @cached_property
    def members(self) -> tuple[PodInfo, ...]:
        """The pods alone."""
        return tuple(placed.pod for placed in self.pods)

    @cached_property
    def on(self) -> Mapping[str, Sequence[Placed]]:
        """The pods by node."""
        found: dict[str, list[Placed]] = {}
        for placed in self.pods:
            found.setdefault(placed.node_name, []).append(placed)
        return found

    @cached_property
    def sum_of_priorities(self) -> int:
        """The sum of the pods' own priorities."""
        return sum(pod.priority for pod in self.members)

    @cached_property
    def highest(self) -> tuple[int, float, bool]:
        """The highest priority of a pod, the earliest start of these pods, and whether one of them has not started."""
        top = max(pod.priority for pod in self.members)
        starts = [start_time(pod, inf) for pod in self.members if pod.priority == top]
        return top, min(starts), inf in starts

    @cached_property
    def _singles(self) -> Sequence[Victim]:
        """The pods of a whole group as single victims, most important first."""
        return by_importance(
            Victim((placed,), self.priority, True, start_time(placed.pod, self.started)) for placed in self.pods
        )

    @cached_property
    def _singles_on(self) -> Mapping[str, Sequence[Victim]]:
        found: dict[str, list[Victim]] = {}
        for each in self._singles:
            found.setdefault(each.pods[0].node_name, []).append(each)
        return found

    def spared(self, nodes: Collection[str]) -> list[Victim]:
        """The pods that a whole group can spare: the least important ones, on `nodes` before other nodes."""
        here = by_importance(each for node in nodes for each in self._singles_on.get(node, ()))
        going = here[max(0, len(here) - self.spare) :]
        others = (each for each in reversed(self._singles) if each.pods[0].node_name not in nodes)
        return by_importance([*going, *islice(others, self.spare - len(going))])


def start_time(pod: PodInfo, now: float) -> float:
    """When the pod started, seconds since the epoch; `now` if it has not."""
    started = pod.pod.status.start_time
    return now if started is None else parse_time(started)


def single(pod: PodInfo, node_name: str, now: float) -> Victim:
    """The victim that is a single pod."""
    return Victim((Placed(pod, node_name),), pod.priority, False, start_time(pod, now))


def member(placed: Placed, unit: DisruptionUnit, now: float) -> Victim:
    """The victim that is one pod of a group which can spare it."""
    return Victim((placed,), unit.priority, True, start_time(placed.pod, now))


def whole(unit: DisruptionUnit, now: float) -> Victim:
    """The victim that is a whole group: all its pods on nodes."""
    started = min(start_time(placed.pod, now) for placed in unit.pods)
    return Victim(tuple(unit.pods), unit.priority, True, started, unit.spare, unit.composite)


@dataclass(frozen=True, slots=True)
class Reprieve:
    """The order in which victims get a chance to stay: those whose eviction violates a budget first.

    Attributes:
        order: all victims.
        violations: for each victim, the number of its pods whose eviction violates a budget; the zeros come last.
    """

    order: tuple[Victim, ...]
    violations: tuple[int, ...]

    @property
    def mixed(self) -> bool:
        """Whether some violate budgets and some do not, so that `order` as a whole is not by importance."""
        return bool(self.violations) and bool(self.violations[0]) and not self.violations[-1]


def reprieve_order(victims: Iterable[Victim], budgets: DisruptionBudgets) -> Reprieve:
    """Victims whose eviction violates budgets, then the others, each part with the most important first.

    Budgets are used up in the order of importance (upstream: `FilterVictimsWithPDBViolation`).
    """
    ranked = by_importance(victims)
    if not budgets.all:
        return Reprieve(tuple(ranked), (0,) * len(ranked))
    violations = budgets.violations([victim.members for victim in ranked])
    counted = list(zip(ranked, violations, strict=True))
    order = [each for each in counted if each[1]] + [each for each in counted if not each[1]]
    return Reprieve(tuple(victim for victim, _ in order), tuple(count for _, count in order))


def without_violations(victims: Sequence[Victim], rule: EvictionRule, budgets: DisruptionBudgets) -> Sequence[Victim]:
    """The victims without those that may only be claimed and whose eviction would violate a budget."""
    if not rule.claimable:
        return victims
    ranked = by_importance(victims)
    violations = budgets.violations([victim.members for victim in ranked])
    kept_back = {
        id(victim)
        for victim, count in zip(ranked, violations, strict=True)
        if count and any(pod.uid in rule.claimable for pod in victim.members)
    }
    return [victim for victim in victims if id(victim) not in kept_back]


def in_parts(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """The items in parts that are small enough for one step of work if each item takes little time."""
    return (items[at : at + _IN_A_PART] for at in range(0, len(items), _IN_A_PART))


def by_importance(victims: Iterable[Victim]) -> list[Victim]:
    """The victims, the most important first; equals keep their order."""
    return sorted(victims, key=attrgetter("importance"))
