"""The first pass of Filter: which nodes reject a pod together with the pods that are nominated to them.

`Filtering` asks here about nodes that pass without nominated pods, and about all others where every rejection is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..contract.plugin import FilterPlugin
from ..contract.status import Status
from ..contract.verdicts import Mask, NodeRejection, StatusTable
from ..model.pod_info import PodInfo
from ..snapshot.column_cache import ColumnCache
from ..snapshot.snapshot import Snapshot
from ..snapshot.view import NodeView
from ..work import checkpoint
from .attempt_state import AttemptState
from .filter_calls import FilterCalls
from .nominated_cache import NominatedResults
from .nominator import PodNominator

_SIGNATURES = 32
"""Signatures for which results are cached."""


class NominatedPass:
    """The first pass of one profile's filters."""

    def __init__(self, calls: FilterCalls, snapshot: Snapshot, nominator: PodNominator) -> None:
        self._calls = calls
        self._snapshot = snapshot
        self._nominator = nominator
        self._results: ColumnCache[NominatedResults] = ColumnCache(_SIGNATURES, lambda skipped: NominatedResults())

    def rejections(self, state: AttemptState, pod: PodInfo, among: Mask) -> dict[int, NodeRejection]:
        """The rejections of the first pass, in which nominated pods count, by row of `among`.

        Rows are asked about together, unless a plugin's verdict about one depends on the nominated pods of another. A
        row that a plugin rejects which comes before any such plugin is not asked about alone.
        """
        found: dict[int, Sequence[PodInfo]] = {}
        few = int(among.sum()) < len(self._nominator)
        names = self._snapshot.names_of(np.flatnonzero(among)) if few else None
        for node_name, nominated in self._nominator.in_the_way_of(pod, names):
            row = self._snapshot.live_row_of(node_name)
            if row is not None and among[row]:
                found[row] = nominated
        if not found:
            return {}
        if not self._calls.depends_on_cluster(state):
            ask = self._cached if self._calls.verdicts_are_kept(state) else self._run
            return ask(state, pod, found)
        rejected: dict[int, NodeRejection] = {}
        if len(found) > 1:
            rejected = self._run(state, pod, found, self._calls.leading(state))
        for row, nominated in found.items():
            if row not in rejected:
                rejected |= self._run(state, pod, {row: nominated})
        return rejected

    def _cached(
        self, state: AttemptState, pod: PodInfo, nominated: Mapping[int, Sequence[PodInfo]]
    ) -> dict[int, NodeRejection]:
        """The result of `_run`, cached for pods of one signature, but not in a trial."""
        if self._snapshot.tentative:
            return self._run(state, pod, nominated)
        results = self._results.of(pod.signature, state.skip_filter_plugins)
        results.enter(self._calls.epoch(state))
        rejected: dict[int, NodeRejection] = {}
        unknown: dict[int, Sequence[PodInfo]] = {}
        for row, pods in nominated.items():
            if not results.holds(self._snapshot, row, pods):
                unknown[row] = pods
            elif (known := results.rejection(row)) is not None:
                rejected[row] = known
        if unknown:
            found = self._run(state, pod, unknown)
            for row, pods in unknown.items():
                rejection = found.get(row)
                if rejection is None or rejection.status.rejected:
                    results.keep(self._snapshot, row, pods, rejection)
            rejected |= found
        return rejected

    def _run(
        self,
        state: AttemptState,
        pod: PodInfo,
        nominated: Mapping[int, Sequence[PodInfo]],
        plugins: Sequence[FilterPlugin] | None = None,
    ) -> dict[int, NodeRejection]:
        snapshot, notes = self._snapshot, state.clone()
        rejected: dict[int, NodeRejection] = {}
        with snapshot.trial():
            for row in sorted(nominated):
                failed = self._add_all(notes, pod, row, nominated[row])
                if failed is not None:
                    table = StatusTable((failed,))
                    rejected[row] = NodeRejection(failed.plugin, table, table.number(failed))
                checkpoint()
            rows = [row for row in sorted(nominated) if row not in rejected]
            diagnosis = self._calls.run(notes, pod, NodeView(snapshot, np.array(rows, np.intp)), plugins)
        rejected.update({row: found for at, row in enumerate(rows) if (found := diagnosis.rejection(at)) is not None})
        return rejected

    def _add_all(self, state: AttemptState, pod: PodInfo, row: int, nominated: Sequence[PodInfo]) -> Status | None:
        """Count the nominated pods on the node in a trial. The first ERROR of AddPod, if any."""
        snapshot = self._snapshot
        for added in nominated:
            if added.uid not in snapshot.pods[row]:
                snapshot.add_pod(added, snapshot.names[row])
                failed = self._calls.add_pod(state, pod, added, snapshot.names[row])
                if failed is not None:
                    return failed
        return None
