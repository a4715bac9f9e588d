"""Which pods may be evicted for a preemptor: by default those of lower priority; a plugin may say otherwise.

Preemption plugins ask for the rule through their handle, once for each decision, and then whether it permits each
possible victim. `EvictionRulePlugin` (see `group`) gives the rules.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Set
from dataclasses import dataclass

from ..model.pod_info import PodInfo

_NONE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class EvictionRule:
    """The pods that may be evicted for one preemptor, as of one decision.

    Attributes:
        below: the priority below which pods may be evicted, unless their namespace is exempt.
        exempt: namespaces whose pods may not be evicted on account of their priority.
        claimable: UIDs of pods that may be evicted whatever their priority, but against no PodDisruptionBudget.
        reclaims: whether evicting these pods reclaims borrowed capacity, as their condition then says.
        epoch: a value that changes with the others, for equal preemptors; None for priorities alone.
    """

    below: int
    exempt: Collection[str] = _NONE
    claimable: Set[str] = _NONE
    reclaims: bool = False
    epoch: Hashable = None

    @property
    def by_priority_alone(self) -> bool:
        """Whether the rule is that of priorities."""
        return self.epoch is None

    def permits(self, pod: PodInfo, priority: int) -> bool:
        """Whether the pod may be evicted; `priority` is its own, or that of the pods that are evicted with it."""
        return (priority < self.below and pod.namespace not in self.exempt) or pod.uid in self.claimable

    def permits_any(self, priorities: Collection[int]) -> bool:
        """Whether any pod may be evicted, as far as the priorities of all running pods tell."""
        return bool(self.claimable) or any(priority < self.below for priority in priorities)
