"""A cache of dry runs: the result on a node, for as long as nothing on that node has changed.

Thousands of equal pods that wait for capacity need nearly the same dry runs, and few nodes change between two of them.
`VictimSearch` looks here first. A result is valid for the same node object, the same pods on the node, of which the
same ones are protected for a time, and the same nominated pods that count against the preemptor. The cache as a whole
is keyed by the preemptor's signature and priority, the filters that it skips and their epoch, and the budgets. What a
group says about a possible victim counts, too. Nothing is cached about a node with a possible victim that others need,
because then other nodes matter. The cache must not be used if the filters' verdicts may not be kept.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

from muster.framework.contract import CycleState, DisruptionUnit, EvictionRule, Node, PreemptionHandle, Status
from muster.framework.model.latest_signatures import LatestSignatures
from muster.framework.model.pod_info import PodInfo

from .budgets import DisruptionBudgets, PodDisruptionBudget
from .candidates import Candidate
from .units import UnitOf

_KINDS = 32
"""The number of kinds of preemptors whose dry runs are cached."""

_NONE: frozenset[str] = frozenset()

Outcome = Candidate | Status
"""The victims on the node, or why evictions there do not help."""


class _Seen(NamedTuple):
    node: Node | None
    pods: Mapping[str, PodInfo]
    nominated: Sequence[PodInfo]
    protected: frozenset[str]
    in_groups: Sequence[DisruptionUnit]
    outcome: Outcome


class _OfKind(NamedTuple):
    asked: Hashable
    seen: dict[str, _Seen]


class DryRunMemory:
    """The cached dry runs of one profile, for the latest kinds of preemptors. Kinds without pods are dropped."""

    def __init__(self, handle: PreemptionHandle) -> None:
        self._handle = handle
        self._budgets: Sequence[PodDisruptionBudget] = ()
        self._of_kinds: LatestSignatures[_OfKind] = LatestSignatures(_KINDS)

    def of(
        self, state: CycleState, pod: PodInfo, budgets: DisruptionBudgets, unit_of: UnitOf, *, rule: EvictionRule
    ) -> Recollection:
        """The cached results for preemptors like this one.

        `state` is the cycle state of the attempt that found no node; `unit_of` returns the pods that need one another;
        `rule` says which pods the preemptor may evict.
        """
        if self._budgets != budgets.all:
            self._budgets = budgets.all
            self._of_kinds.clear()
        asked = (rule.below, rule.epoch, self._handle.filter_epoch(state))
        known = self._of_kinds.get(pod.signature)
        if known is None or known.asked != asked:
            known = self._of_kinds.put(pod.signature, _OfKind(asked, {}))
        return Recollection(self._handle, unit_of, pod, rule, seen=known.seen)


class Recollection:
    """The outcomes of one kind of preemptor, by node name, as far as they still hold for `pod`."""

    def __init__(
        self, handle: PreemptionHandle, unit_of: UnitOf, pod: PodInfo, rule: EvictionRule, *, seen: dict[str, _Seen]
    ) -> None:
        self._snapshot = handle.snapshot
        self._nominated = dict(handle.nominator.in_the_way_of(pod))
        self._unit_of = unit_of
        self._rule = rule
        self._seen = seen

    def get(self, node_name: str) -> Outcome | None:
        """The result for the node, if it still holds."""
        seen = self._seen.get(node_name)
        if seen is None:
            return None
        row = self._snapshot.row_of(node_name)
        if (
            row is None
            or self._snapshot.nodes[row] is not seen.node
            or self._snapshot.pods[row] != seen.pods
            or self._nominated.get(node_name, ()) != seen.nominated
            or self._protected(row) != seen.protected
            or self._in_groups(row) != seen.in_groups
        ):
            del self._seen[node_name]
            return None
        return seen.outcome

    def keep(self, node_name: str, outcome: Outcome) -> None:
        """Cache the outcome of the node in its current state."""
        row = self._snapshot.row_of(node_name)
        in_groups = None if row is None else self._in_groups(row)
        if row is not None and in_groups is not None:
            pods = dict(self._snapshot.pods[row])
            nominated = self._nominated.get(node_name, ())
            self._seen[node_name] = _Seen(
                self._snapshot.nodes[row], pods, nominated, self._protected(row), in_groups, outcome
            )

    def _protected(self, row: int) -> frozenset[str]:
        """UIDs of the pods on this node that may be evicted later but not now."""
        limit = self._rule.limit
        if limit is None:
            return _NONE
        pods = self._snapshot.pods[row].values()
        return frozenset(pod.uid for pod in pods if not pod.terminating and limit.protected_until(pod))

    def _in_groups(self, row: int) -> Sequence[DisruptionUnit] | None:
        """The units of the pods on this node that may be evicted and belong to groups; None if one needs other pods."""
        permits = self._rule.permits
        found = []
        for pod in self._snapshot.pods[row].values():
            unit = self._unit_of(pod) if permits(pod, pod.priority) else None
            if unit is not None:
                if len(unit.pods) > 1:
                    return None
                found.append(unit)
        return found
