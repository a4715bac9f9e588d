"""A cache of dry runs: the result on a node, for as long as nothing on that node has changed.

Thousands of equal pods that wait for capacity need nearly the same dry runs, and few nodes change between two of them.
`VictimSearch` looks here first. A result is valid for the same node object, the same pods on the node, the same ruling
about them (`Ruling`), and the same nominated pods that count against the preemptor. The cache as a whole is keyed by
the preemptor's signature and priority, the filters that apply to it and their epoch, and the budgets.

Filters whose verdicts may not be kept are asked once before a search, about the nodes as they are. What is cached about
a node holds if they accept the pod there, whichever of the pods leave (`accepting_with_fewer_pods`): then they reject
it at no step of the dry run, so they can be left out of the key. Otherwise the node is tried anew.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence, Set
from itertools import compress
from typing import NamedTuple

import numpy as np

from muster.framework.contract import (
    CycleState,
    EvictionRule,
    Node,
    NodeView,
    PreemptionHandle,
    SnapshotReader,
    Status,
    checkpoint,
)
from muster.framework.model.latest_signatures import LatestSignatures
from muster.framework.model.pod_info import PodInfo

from .budgets import DisruptionBudgets, PodDisruptionBudget
from .candidates import Candidate
from .rulings import LatestUnits, Ruling, Rulings
from .units import Units

_KINDS = 32
"""The number of kinds of preemptors whose dry runs are cached."""

Outcome = Candidate | Status
"""The victims on the node, or why evictions there do not help."""


class _Seen(NamedTuple):
    node: Node | None
    pods: Mapping[str, PodInfo]
    nominated: Sequence[PodInfo]
    ruling: Ruling
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
        self._latest_units: LatestUnits = LatestUnits()

    def of(
        self,
        state: CycleState,
        pod: PodInfo,
        names: Sequence[str],
        budgets: DisruptionBudgets,
        *,
        units: Units,
        rule: EvictionRule,
    ) -> Recollection:
        """The cached results for preemptors like this one, as far as they hold for it on these nodes.

        `state` is the cycle state of the attempt that found no node; `units` are the pods that need one another; `rule`
        says which pods the preemptor may evict.
        """
        if self._budgets != budgets.all:
            self._budgets = budgets.all
            self._of_kinds.clear()
        asked = (rule.below, self._handle.filter_epoch(state))
        known = self._of_kinds.get(pod.signature)
        if known is None or known.asked != asked:
            known = self._of_kinds.put(pod.signature, _OfKind(asked, {}))
        nominated = dict(self._handle.nominator.in_the_way_of(pod))
        return Recollection(
            self._handle.snapshot,
            nominated,
            Rulings(rule, units, self._latest_units),
            seen=known.seen,
            open_to_all=self._open_to_all(state, pod, names, nominated),
        )

    def _open_to_all(
        self, state: CycleState, pod: PodInfo, names: Sequence[str], nominated: Mapping[str, Sequence[PodInfo]]
    ) -> Set[str]:
        """The nodes, of these, whose results hold for all preemptors of a kind.

        A dry run removes pods of the node, and adds pods nominated to it that are not there.
        """
        handle, snapshot = self._handle, self._handle.snapshot
        if handle.verdicts_are_kept(state):
            return {*names}
        state = state.clone()
        rows = {name: row for name in names if (row := snapshot.row_of(name)) is not None}
        with handle.trial() as trial:
            for name, row in rows.items():
                for added in nominated.get(name, ()):
                    if added.uid not in snapshot.pods[row]:
                        trial.add_pod(state, pod, added, name)
                checkpoint()
            view = NodeView(snapshot, np.array([*rows.values()], np.intp))
            return {*compress(rows, handle.accepting_with_fewer_pods(state, pod, view))}


class Recollection:
    """The outcomes of one kind of preemptor, by node name, as far as they still hold for `pod`."""

    def __init__(
        self,
        snapshot: SnapshotReader,
        nominated: Mapping[str, Sequence[PodInfo]],
        rulings: Rulings,
        *,
        seen: dict[str, _Seen],
        open_to_all: Set[str],
    ) -> None:
        self._snapshot = snapshot
        self._nominated = nominated
        self._rulings = rulings
        self._seen = seen
        self._open_to_all = open_to_all

    def get(self, node_name: str) -> Outcome | None:
        """The result for the node, if it still holds."""
        seen = self._seen.get(node_name)
        if seen is None or node_name not in self._open_to_all:
            return None
        row = self._snapshot.row_of(node_name)
        if (
            row is None
            or self._snapshot.nodes[row] is not seen.node
            or self._snapshot.pods[row] != seen.pods
            or self._nominated.get(node_name, ()) != seen.nominated
            or self._rulings.about(seen.pods.values()) != seen.ruling
        ):
            del self._seen[node_name]
            return None
        return seen.outcome

    def keep(self, node_name: str, outcome: Outcome) -> None:
        """Cache the outcome of the node in its current state."""
        row = self._snapshot.row_of(node_name)
        if row is not None and node_name in self._open_to_all:
            pods = dict(self._snapshot.pods[row])
            nominated = self._nominated.get(node_name, ())
            self._seen[node_name] = _Seen(
                self._snapshot.nodes[row], pods, nominated, self._rulings.about(pods.values()), outcome
            )
