"""Candidates: nodes on which the pod would fit after evictions, and the one with the least cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from muster.framework.contract import Placed, checkpoint

from .victims import Victim, in_parts

LOWEST_PRIORITY = 1 << 31
"""Added to every priority in a sum, so that more victims of negative priority never look cheaper than fewer."""


@dataclass(frozen=True)
class Candidate:
    """A node with the pods to evict there.

    Attributes:
        node_name: the node.
        lost: the victims, most important first.
        violations: the number of pods whose eviction violates a PodDisruptionBudget.
        disruptions: the number of groups that are evicted as a whole, and of pods of other groups.
    """

    node_name: str
    lost: tuple[Victim, ...]
    violations: int = 0
    disruptions: int = 0

    @cached_property
    def victims(self) -> tuple[Placed, ...]:
        """The pods to evict with their nodes, including a group's pods on other nodes."""
        return tuple(placed for victim in self.lost for placed in victim.pods)

    @cached_property
    def cost(self) -> tuple[int, int, int, int]:
        """The violations, the priority of the first victim, the sum of priorities, and the number of pods."""
        count, total = sum(len(each.pods) for each in self.lost), sum(each.sum_of_priorities for each in self.lost)
        return self.violations, self.lost[0].members[0].priority, total + LOWEST_PRIORITY * count, count

    @cached_property
    def _highest(self) -> tuple[float, bool]:
        """The earliest start of the pods with the highest priority, and whether one of them has not started."""
        top = max(each.highest[0] for each in self.lost)
        highest = [each.highest for each in self.lost if each.highest[0] == top]
        return min(began for _, began, _ in highest), any(waits for _, _, waits in highest)

    def earliest_start(self, now: float) -> float:
        """The earliest start of the pods with the highest priority; `now` for a pod that has not started."""
        began, waits = self._highest
        return min(began, now) if waits else began


def pick_one_node(candidates: Sequence[Candidate], now: float) -> Candidate:
    """The candidate whose evictions cost least (upstream: `pickOneNodeForPreemption`).

    Fewest violated budgets; the lowest priority of the highest victim; the smallest sum of priorities; fewest victims;
    the latest start of the longest running among the highest victims; the first of equals.

    Args:
        candidates: at least one, each with victims.
        now: seconds since the epoch.
    """
    best, least, latest = candidates[0], candidates[0].cost, candidates[0].earliest_start(now)
    for part in in_parts(candidates):
        checkpoint()
        for candidate in part:
            if candidate.cost > least:
                continue
            started = candidate.earliest_start(now)
            if candidate.cost < least or started > latest:
                best, least, latest = candidate, candidate.cost, started
    return best
