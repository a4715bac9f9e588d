"""Units: which pods are evicted together, and whether they may be, cached during one decision, while nothing changes.

The searches for victims need the unit of each pod that they may evict. A group of thousands is the unit of each of its
pods, so the facts about it are computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

from muster.framework.contract import DisruptionUnit, EvictionLimit, EvictionRule, Placed, SnapshotReader, checkpoint
from muster.framework.model.pod_info import PodInfo

from .victims import Victim, member, single, whole

UnitOf = Callable[[PodInfo], DisruptionUnit | None]


class Units:
    """Units by pod. `unit_of` returns the pods that need one another; those in `leaving` (UIDs) are left out.

    Pods that have not started count as started `now`, in seconds since the epoch.
    """

    def __init__(self, unit_of: UnitOf, leaving: Collection[str], now: float) -> None:
        self._unit_of = unit_of
        self._leaving = leaving
        self._now = now
        self._known: dict[str, DisruptionUnit | None] = {}
        self._whole: dict[str, Victim] = {}
        self._protected_until: dict[str, float] = {}

    def of(self, pod: PodInfo) -> DisruptionUnit | None:
        """The unit of the pod, without pods that are leaving: the group can spare fewer others then."""
        if pod.uid not in self._known:
            self._learn(pod)
        return self._known[pod.uid]

    def victims_among(self, pods: Iterable[Placed], rule: EvictionRule) -> list[Victim]:
        """The victims if all of these pods are evicted that the rule permits and its limit does not protect.

        Single pods keep their order. If more pods of a group are evicted than it can spare, the whole group is a
        victim, unless the rule protects one of them.
        """
        victims: list[Victim] = []
        in_groups: dict[str, tuple[DisruptionUnit, list[Placed]]] = {}
        for placed in pods:
            if not rule.permits(placed.pod, placed.pod.priority):
                continue
            checkpoint()
            if rule.limit is not None and self.protected_until(placed.pod, rule.limit):
                continue
            unit = self.of(placed.pod)
            if unit is None:
                victims.append(single(placed.pod, placed.node_name, self._now))
            elif rule.permits(placed.pod, unit.priority):
                in_groups.setdefault(unit.key, (unit, []))[1].append(placed)
        for unit, mine in in_groups.values():
            checkpoint()
            if len(mine) <= unit.spare:
                victims += [member(placed, unit, self._now) for placed in mine]
            elif permits_whole(rule, unit):
                victims.append(self._all_of(unit))
        return victims

    def permits_any(self, rule: EvictionRule, snapshot: SnapshotReader) -> bool:
        """Whether the rule permits to evict any pod with what it is evicted with, now or later."""
        if not rule.permits_any(snapshot.priorities):
            return False
        for row in snapshot.live_rows().tolist():
            for pod in snapshot.pods[row].values():
                if rule.permits(pod, pod.priority):
                    unit = self.of(pod)
                    if unit is None or rule.permits(pod, unit.priority):
                        return True
            checkpoint()
        return False

    def protected_until(self, pod: PodInfo, limit: EvictionLimit) -> float:
        """When the limit ceases to protect the pod and all that it is evicted with; 0.0 if it protects none of them.

        A pod that is terminating is not protected: evicting it costs nothing more.
        """
        unit = self.of(pod)
        if unit is None:
            return 0.0 if pod.terminating else limit.protected_until(pod)
        if unit.key not in self._protected_until:
            staying = (placed.pod for placed in unit.pods if not placed.pod.terminating)
            self._protected_until[unit.key] = max(map(limit.protected_until, staying), default=0.0)
        return self._protected_until[unit.key]

    def _learn(self, pod: PodInfo) -> None:
        unit = self._known[pod.uid] = self._unit_of(pod)
        if unit is None:
            return
        staying = [placed for placed in unit.pods if placed.pod.uid not in self._leaving]
        if len(staying) == len(unit.pods):
            self._known.update((placed.pod.uid, unit) for placed in unit.pods)
            return
        left = replace(unit, pods=staying, spare=max(0, unit.spare - len(unit.pods) + len(staying)))
        for uid in (pod.uid, *(placed.pod.uid for placed in unit.pods)):
            self._known[uid] = None if uid in self._leaving else left

    def _all_of(self, unit: DisruptionUnit) -> Victim:
        if unit.key not in self._whole:
            self._whole[unit.key] = whole(unit, self._now)
        return self._whole[unit.key]


def permits_whole(rule: EvictionRule, unit: DisruptionUnit) -> bool:
    """Whether the rule permits to evict all pods of the unit, if it permits one of them."""
    return rule.by_priority_alone or all(rule.permits(placed.pod, unit.priority) for placed in unit.pods)
