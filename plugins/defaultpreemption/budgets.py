"""PodDisruptionBudgets: which evictions they would not allow.

The API's budgets are read, never written: a preemption may violate one where nothing else helps, as in kube-scheduler.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress

import msgspec

from muster.framework.contract import EventResource, WatchedKind
from muster.framework.model.label_selector import LabelSelector, Selector, SelectorError, read_selector
from muster.framework.model.meta import ObjectMeta, Wire
from muster.framework.model.pod_info import PodInfo


class PodDisruptionBudgetSpec(Wire):
    """Which pods the budget is about. One without a selector, or with an empty one, is about none."""

    selector: LabelSelector | None = None


class PodDisruptionBudgetStatus(Wire):
    """What the disruption controller allows now. `disrupted_pods` (by name) are on their way out and counted."""

    disruptions_allowed: int = 0
    disrupted_pods: dict[str, str] = msgspec.field(default_factory=dict)


class PodDisruptionBudget(Wire):
    """`policy/v1 PodDisruptionBudget`."""

    metadata: ObjectMeta
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()


POD_DISRUPTION_BUDGETS = WatchedKind(
    EventResource.POD_DISRUPTION_BUDGET, "/apis/policy/v1/poddisruptionbudgets", PodDisruptionBudget
)


class Budgets:
    """The budgets of a cluster as of one decision. One whose selector cannot be read is about no pod.

    Attributes:
        all: each of them.
    """

    def __init__(self, budgets: Iterable[PodDisruptionBudget]) -> None:
        self._by_namespace: dict[str, list[tuple[PodDisruptionBudget, Selector]]] = {}
        self.all = [*budgets]
        for budget in self.all:
            with suppress(SelectorError):
                selector = read_selector(budget.spec.selector)
                if not selector.empty:
                    self._by_namespace.setdefault(budget.metadata.namespace, []).append((budget, selector))

    def violations(self, units: Sequence[Sequence[PodInfo]]) -> list[int]:
        """For each unit of pods, evicted in this order, how many of its pods would violate a budget."""
        left: dict[str, int] = {}
        return [sum(bool(self._violated(pod, left)) for pod in pods) for pods in units]

    def forbidding(self, pods: Iterable[PodInfo]) -> dict[str, str]:
        """Of pods that are evicted in this order, by UID, the budget (`namespace/name`) that forbids it."""
        left: dict[str, int] = {}
        found = {pod.uid: self._violated(pod, left) for pod in pods}
        return {uid: budget for uid, budget in found.items() if budget}

    def protect(self, pod: PodInfo) -> bool:
        """Whether its eviction alone would violate a budget."""
        return bool(self._violated(pod, {}))

    def _violated(self, pod: PodInfo, left: dict[str, int]) -> str:
        """Uses up one disruption of each budget that is about the pod, up to the first that has none left: that one."""
        if not pod.labels:
            return ""
        for budget, selector in self._by_namespace.get(pod.namespace, ()):
            if not selector.picks(pod.labels) or pod.name in budget.status.disrupted_pods:
                continue
            key = f"{pod.namespace}/{budget.metadata.name}"
            left[key] = left.get(key, budget.status.disruptions_allowed) - 1
            if left[key] < 0:
                return key
        return ""
