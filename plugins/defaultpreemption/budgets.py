"""PodDisruptionBudgets: which evictions would violate them.

The API's budgets are read, never written: a preemption may violate one if nothing else helps, as in kube-scheduler.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import groupby

import msgspec

from muster.framework.contract import EventResource, WatchedKind
from muster.framework.model.integers import Int32
from muster.framework.model.label_selector import LabelSelector, LabelSet, Selector, SelectorError, read_selector
from muster.framework.model.meta import ObjectMeta, Wire
from muster.framework.model.pod_info import PodInfo


class PodDisruptionBudgetSpec(Wire):
    """The pods that the budget protects; none without a selector, or with an empty one."""

    selector: LabelSelector | None = None


class PodDisruptionBudgetStatus(Wire):
    """The disruptions allowed now. `disrupted_pods` (by name) are terminating and already counted."""

    disruptions_allowed: Int32 = 0
    disrupted_pods: dict[str, str] = msgspec.field(default_factory=dict)


class PodDisruptionBudget(Wire):
    """`policy/v1 PodDisruptionBudget`."""

    metadata: ObjectMeta
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()


POD_DISRUPTION_BUDGETS = WatchedKind(
    EventResource.POD_DISRUPTION_BUDGET, "/apis/policy/v1/poddisruptionbudgets", PodDisruptionBudget
)


class DisruptionBudgets:
    """The budgets of a cluster during one decision. A budget with an unreadable selector protects no pod.

    Attributes:
        all: all budgets.
    """

    def __init__(self, budgets: Iterable[PodDisruptionBudget]) -> None:
        self._by_namespace: dict[str, list[tuple[PodDisruptionBudget, Selector]]] = {}
        self.all = [*budgets]
        self._picking: dict[LabelSet, Sequence[PodDisruptionBudget]] = {}
        self._known: dict[int, tuple[Sequence[PodInfo], Sequence[tuple[Sequence[PodDisruptionBudget], int]]]] = {}
        for budget in self.all:
            with suppress(SelectorError):
                selector = read_selector(budget.spec.selector)
                if not selector.empty:
                    self._by_namespace.setdefault(budget.metadata.namespace, []).append((budget, selector))

    def violations(self, units: Iterable[Sequence[PodInfo]]) -> list[int]:
        """For each unit of pods, evicted in this order, the number of its pods whose eviction would violate a budget.

        A group of thousands comes up with each of its nodes, so the budgets of its pods are looked up only once.
        """
        left: dict[str, int] = {}
        return [sum(_use_up(budgets, count, left) for budgets, count in self._runs(pods)) for pods in units]

    def forbidding(self, pods: Iterable[PodInfo]) -> dict[str, str]:
        """The budget (`namespace/name`) that forbids an eviction, by UID, for pods that are evicted in this order."""
        left: dict[str, int] = {}
        found = {pod.uid: self._violated(pod, left) for pod in pods}
        return {uid: budget for uid, budget in found.items() if budget}

    def protect(self, pod: PodInfo) -> bool:
        """Whether the eviction of the pod alone would violate a budget."""
        return bool(self._violated(pod, {}))

    def _violated(self, pod: PodInfo, left: dict[str, int]) -> str:
        """Use up one disruption of each budget of the pod, up to the first that has none left; returns that budget."""
        for budget in self._about(pod):
            if _use_up((budget,), 1, left):
                return budget.metadata.key
        return ""

    def _runs(self, pods: Sequence[PodInfo]) -> Sequence[tuple[Sequence[PodDisruptionBudget], int]]:
        """The budgets of successive pods with the same budgets, with the number of these pods."""
        known = self._known.get(id(pods))
        if known is None:
            runs = [
                (found[0], len(found)) for _, group in groupby(map(self._about, pods), key=_ids) if (found := [*group])
            ]
            known = self._known[id(pods)] = pods, runs  # while they are kept, no other object has their id
        return known[1]

    def _about(self, pod: PodInfo) -> Sequence[PodDisruptionBudget]:
        """The budgets that protect the pod."""
        picking = self._picking.get(pod.label_set)
        if picking is None:
            budgets = self._by_namespace.get(pod.namespace, ()) if pod.labels else ()
            picking = [budget for budget, selector in budgets if selector.picks(pod.labels)]
            self._picking[pod.label_set] = picking
        return [budget for budget in picking if pod.name not in budget.status.disrupted_pods]


def _use_up(budgets: Sequence[PodDisruptionBudget], pods: int, left: dict[str, int]) -> int:
    """Evict this many pods, each at the cost of these budgets up to the first that has no disruption left.

    Returns how many of the pods meet such a budget. `left` has the disruptions left of each budget by `namespace/name`.
    """
    going = pods
    for budget in budgets:
        key = budget.metadata.key
        before = left.get(key, budget.status.disruptions_allowed)
        left[key] = before - going
        going = min(going, max(0, before))
    return pods - going


def _ids(budgets: Sequence[PodDisruptionBudget]) -> list[int]:
    return [id(budget) for budget in budgets]
