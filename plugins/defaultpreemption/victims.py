"""Victims: pods that may be evicted together, how important they are, and which budgets forbid it.

The dry run asks who comes first; the plugin reads off the result what is told and evicted. Everything here is pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import NamedTuple

from muster.framework.model.pod_info import PodInfo

from .budgets import Budgets


class Placed(NamedTuple):
    """A pod and the node that it is counted on, which one that is only assumed does not name itself."""

    pod: PodInfo
    node_name: str


@dataclass(frozen=True, slots=True)
class Victim:
    """Pods that are evicted together or not at all: one pod, or all members of a group that cannot run without them.

    Attributes:
        pods: the pods with their nodes.
        priority: what the preemptor's has to exceed: the highest of a group's members.
        group: whether it stands for a group; a group is more important than a pod of its priority.
        started: when the earliest of them began to run, seconds since the epoch.
    """

    pods: tuple[Placed, ...]
    priority: int
    group: bool
    started: float

    @property
    def importance(self) -> tuple[int, bool, int, float]:
        """Sorts the most important first (upstream: `MoreImportantVictim`).

        By priority, then groups before pods, then by size, then by how long they have run.
        """
        return (-self.priority, not self.group, -len(self.pods), self.started)


def start_time(pod: PodInfo, now: float) -> float:
    """When the pod began to run, seconds since the epoch; `now` for one that has not yet."""
    started = pod.pod.status.start_time
    return now if started is None else datetime.fromisoformat(started).timestamp()


def single(pod: PodInfo, node_name: str, now: float) -> Victim:
    """The pod by itself."""
    return Victim((Placed(pod, node_name),), pod.priority, False, start_time(pod, now))


@dataclass(frozen=True, slots=True)
class Reprieve:
    """The order in which victims get a chance to stay: those whose eviction violates a budget first.

    Attributes:
        order: every victim.
        violations: for each of `order`, how many of its pods no budget lets go; 0 from the first that is let go on.
    """

    order: tuple[Victim, ...]
    violations: tuple[int, ...]

    @property
    def mixed(self) -> bool:
        """Whether some violate budgets and some do not, so that `order` is not by importance throughout."""
        return bool(self.violations) and bool(self.violations[0]) and not self.violations[-1]


def reprieve_order(victims: Iterable[Victim], budgets: Budgets) -> Reprieve:
    """Most important first among those that violate budgets, then among the others.

    Budgets are used up in the order of importance (upstream: `FilterVictimsWithPDBViolation`).
    """
    ranked = by_importance(victims)
    violations = budgets.violations([[placed.pod for placed in victim.pods] for victim in ranked])
    counted = list(zip(ranked, violations, strict=True))
    order = [each for each in counted if each[1]] + [each for each in counted if not each[1]]
    return Reprieve(tuple(victim for victim, _ in order), tuple(count for _, count in order))


def by_importance(victims: Iterable[Victim]) -> list[Victim]:
    """Most important first; equals stay in their order."""
    return sorted(victims, key=attrgetter("importance"))
