"""Candidates: nodes that the pod would fit on after evictions, and which of them costs least."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from muster.framework.contract import Placed
from muster.framework.model.pod_info import PodInfo

LOWEST_PRIORITY = 1 << 31
"""Added to every priority in a sum, so that more victims of negative priority never look cheaper than fewer."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node with the pods to evict there.

    Attributes:
        node_name: the node.
        victims: pods with their nodes, most important first, those of a group on other nodes included.
        violations: how many of them no PodDisruptionBudget lets go.
    """

    node_name: str
    victims: tuple[Placed, ...]
    violations: int = 0


def pick_one_node(candidates: Sequence[Candidate], started: Callable[[PodInfo], float]) -> Candidate:
    """The candidate whose evictions cost least (upstream: `pickOneNodeForPreemption`).

    Fewest violated budgets; the lowest priority of the highest victim; the smallest sum of priorities; fewest victims;
    the latest start of the longest running among the highest victims; the first of equals.

    Args:
        candidates: at least one, each with victims.
        started: when a pod began to run, seconds since the epoch.
    """
    left = list(candidates)
    for cost in _COSTS:
        least = min(map(cost, left))
        left = [candidate for candidate in left if cost(candidate) == least]
        if len(left) == 1:
            return left[0]
    return max(left, key=lambda candidate: _earliest_start(candidate, started))


def _violations(candidate: Candidate) -> int:
    return candidate.violations


def _highest_priority(candidate: Candidate) -> int:
    return candidate.victims[0].pod.priority


def _sum_of_priorities(candidate: Candidate) -> int:
    return sum(victim.pod.priority + LOWEST_PRIORITY for victim in candidate.victims)


def _pods(candidate: Candidate) -> int:
    return len(candidate.victims)


_COSTS: tuple[Callable[[Candidate], int], ...] = (_violations, _highest_priority, _sum_of_priorities, _pods)


def _earliest_start(candidate: Candidate, started: Callable[[PodInfo], float]) -> float:
    pods = [victim.pod for victim in candidate.victims]
    highest = max(pod.priority for pod in pods)
    return min(started(pod) for pod in pods if pod.priority == highest)
