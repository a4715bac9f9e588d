"""Which pods may be evicted for a preemptor, and from when on: by default those of lower priority, at once.

Preemption plugins ask for the rule through their handle, once for each decision, and then whether it permits each
possible victim. An `EvictionRulePlugin` (see `group`) gives a rule in place of priorities. `EvictionLimitPlugin`s limit
whichever rule applies: a pod is evicted only if the rule permits it and no limit protects it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Set
from dataclasses import dataclass
from typing import ClassVar

from ..model.pod_info import PodInfo

HIGHEST_USER_PRIORITY = 1_000_000_000
"""Priorities above it are the system's own; no quota and no time keeps its pods off a node."""

_NONE: frozenset[str] = frozenset()


def _unprotected(pod: PodInfo) -> float:
    return 0.0


@dataclass(frozen=True, slots=True)
class EvictionLimit:
    """The times before which pods may not be evicted for one preemptor, as of one decision.

    All times are in seconds since the epoch.

    Attributes:
        not_before: when the preemptor may begin to evict pods; 0.0 for now.
        reason: what it waits for until then, for users: "a preemption delay of 30s".
        protected_until: when the limit ceases to protect a pod on a node; 0.0 for a pod that it does not protect now,
            infinity for one that it always protects.
    """

    not_before: float = 0.0
    reason: str = ""
    protected_until: Callable[[PodInfo], float] = _unprotected


@dataclass(frozen=True, slots=True)
class EvictionWait:
    """A preemptor that waits only until it may evict pods. Kept in the pod's or group's state under `KEY`.

    The plugin that preempts writes it. The plugin whose limit it is retries the preemptor: no event would.

    Attributes:
        until: when to retry, in seconds since the epoch.
        shared: whether equal pods wait for the same time, because victims are protected.
    """

    KEY: ClassVar = "EvictionWait"

    until: float
    shared: bool


@dataclass(frozen=True, slots=True)
class EvictionRule:
    """The pods that may be evicted for one preemptor, as of one decision.

    What is known about other preemptors is reused as far as their rules permit the same, so a rule may depend on
    anything.

    Attributes:
        below: the priority below which pods may be evicted, unless their namespace is exempt.
        exempt: namespaces whose pods may not be evicted on account of their priority.
        claimable: UIDs of pods that may be evicted whatever their priority, but against no PodDisruptionBudget.
        reclaims: whether evicting these pods reclaims borrowed capacity, as their condition then says.
        limit: what plugins rule out for now, whatever the attributes above permit; None for nothing.
    """

    below: int
    exempt: Collection[str] = _NONE
    claimable: Set[str] = _NONE
    reclaims: bool = False
    limit: EvictionLimit | None = None

    @property
    def by_priority_alone(self) -> bool:
        """Whether the rule is that of priorities."""
        return not (self.exempt or self.claimable)

    def permits(self, pod: PodInfo, priority: int) -> bool:
        """Whether the pod may be evicted at some time, see `limit`.

        `priority` is the pod's own, or that of the pods that are evicted with it.
        """
        return (priority < self.below and pod.namespace not in self.exempt) or pod.uid in self.claimable

    def permits_any(self, priorities: Collection[int]) -> bool:
        """Whether any pod may be evicted, as far as the priorities of all running pods tell."""
        return bool(self.claimable) or any(priority < self.below for priority in priorities)


NO_EVICTIONS = EvictionRule(-(1 << 31))
"""The rule of a preemptor that may not evict any pod."""
