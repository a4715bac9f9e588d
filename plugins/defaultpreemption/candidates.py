"""Candidates: nodes that the pod would fit on after evictions, and which of them costs least."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from muster.framework.contract import Placed
from muster.framework.model.pod_info import PodInfo

LOWEST_PRIORITY = 1 << 31
"""Added to every priority in a sum, so that more victims of negative priority never look cheaper than fewer."""


@dataclass(frozen=True)
class Candidate:
    """A node with the pods to evict there.

    Attributes:
        node_name: the node.
        victims: pods with their nodes, most important first, those of a group on other nodes included.
        violations: how many of them no PodDisruptionBudget lets go.
        disruptions: how many groups go as a whole, and pods of others.
    """

    node_name: str
    victims: tuple[Placed, ...]
    violations: int = 0
    disruptions: int = 0

    @cached_property
    def cost(self) -> tuple[int, int, int, int]:
        """Budgets violated; the priority of the highest victim; the sum of priorities; how many victims."""
        priorities = [victim.pod.priority for victim in self.victims]
        return self.violations, priorities[0], sum(priorities) + LOWEST_PRIORITY * len(priorities), len(priorities)


def pick_one_node(candidates: Sequence[Candidate], started: Callable[[PodInfo], float]) -> Candidate:
    """The candidate whose evictions cost least (upstream: `pickOneNodeForPreemption`).

    Fewest violated budgets; the lowest priority of the highest victim; the smallest sum of priorities; fewest victims;
    the latest start of the longest running among the highest victims; the first of equals.

    Args:
        candidates: at least one, each with victims.
        started: when a pod began to run, seconds since the epoch.
    """
    least = min(candidate.cost for candidate in candidates)
    left = [candidate for candidate in candidates if candidate.cost == least]
    return max(left, key=lambda candidate: _earliest_start(candidate, started)) if len(left) > 1 else left[0]


def _earliest_start(candidate: Candidate, started: Callable[[PodInfo], float]) -> float:
    pods = [victim.pod for victim in candidate.victims]
    highest = max(pod.priority for pod in pods)
    return min(started(pod) for pod in pods if pod.priority == highest)
