"""Rulings: what an eviction rule and its limit say about the pods of a node, all that a dry run there depends on.

Two preemptors with equal rulings about a node may evict the same pods there. So dry runs are reused by what rules
permit, whatever made plugins permit it: the preemptor's namespace, nominations, or the state of a group.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple
from weakref import WeakValueDictionary

from muster.framework.contract import DisruptionUnit, EvictionRule
from muster.framework.model.pod_info import PodInfo

from .units import Units, permits_whole

LatestUnits = WeakValueDictionary[str, DisruptionUnit]
"""The units of the latest decisions, by key."""

_NONE: frozenset[str] = frozenset()


class _Group(NamedTuple):
    """A group with pods on the node.

    Attributes:
        unit: its pods on all nodes.
        whole: whether it may be evicted as a whole.
        claimable: whether any of its pods may be claimed, against no budget.
    """

    unit: DisruptionUnit
    whole: bool
    claimable: bool


class Ruling(NamedTuple):
    """The ruling about one node.

    Attributes:
        permitted: the pods that may be evicted at some time.
        claimable: the UIDs of those that may be claimed, against no budget.
        protected: the UIDs of those that may be evicted later but not now.
        groups: the groups of those that belong to groups.
    """

    permitted: Sequence[PodInfo]
    claimable: frozenset[str]
    protected: frozenset[str]
    groups: Sequence[_Group]


class Rulings:
    """The rulings for one preemptor, during one decision.

    A unit that equals the one of an earlier decision is replaced by it. So units of thousands are compared once in a
    decision, not on each of their nodes.
    """

    def __init__(self, rule: EvictionRule, units: Units, latest: LatestUnits) -> None:
        self._rule = rule
        self._units = units
        self._latest = latest
        self._groups: dict[str, _Group] = {}

    def about(self, pods: Iterable[PodInfo]) -> Ruling:
        """The ruling about the node that has these pods."""
        permits = self._rule.permits
        permitted = [pod for pod in pods if permits(pod, pod.priority)]
        return Ruling(permitted, self._claimable(permitted), self._protected(permitted), self._groups_of(permitted))

    def _claimable(self, permitted: Iterable[PodInfo]) -> frozenset[str]:
        claimable = self._rule.claimable
        return frozenset([pod.uid for pod in permitted if pod.uid in claimable]) if claimable else _NONE

    def _protected(self, permitted: Iterable[PodInfo]) -> frozenset[str]:
        limit = self._rule.limit
        if limit is None:
            return _NONE
        return frozenset(pod.uid for pod in permitted if self._units.protected_until(pod, limit))

    def _groups_of(self, permitted: Iterable[PodInfo]) -> Sequence[_Group]:
        found = []
        for pod in permitted:
            unit = self._units.of(pod)
            if unit is not None:
                found.append(self._groups.get(unit.key) or self._learn(unit))
        return found

    def _learn(self, unit: DisruptionUnit) -> _Group:
        latest = self._latest.get(unit.key)
        if latest != unit:
            self._latest[unit.key] = latest = unit
        claimable = any(placed.pod.uid in self._rule.claimable for placed in unit.pods)
        found = self._groups[unit.key] = _Group(latest, permits_whole(self._rule, unit), claimable)
        return found
