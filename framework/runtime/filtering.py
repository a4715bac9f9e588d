"""Filter: which nodes can run a pod, and which plugin is the first to reject each of the others.

`Algorithm` runs it on all nodes, where most verdicts are cached, and on any set of nodes in a trial.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..contract.plugin import FilterPlugin
from ..contract.status import Status
from ..contract.verdicts import Codes, Diagnosis, Mask, NodeRejection, StatusTable
from ..model.pod_info import PodInfo
from ..snapshot.column_cache import ColumnCache
from ..snapshot.snapshot import Snapshot
from ..snapshot.view import NodeView, Rows
from .answers import Failed, error_in
from .attempt_state import AttemptState
from .cached_results import SIGNATURES, FilterResults
from .filter_calls import FilterCalls
from .nominated_pass import NominatedPass
from .nominator import PodNominator
from .plugin_calls import PluginCalls
from .plugin_set import ProfilePlugins
from .points import FILTER
from .rejections import replace_rejections
from .results import Filtered, PreFiltered


class Filtering(FilterCalls):
    """The Filter plugins of one profile, with verdicts remembered, and with nominated pods considered."""

    def __init__(
        self,
        plugins: ProfilePlugins,
        calls: PluginCalls,
        snapshot: Snapshot,
        *,
        nominator: PodNominator,
    ) -> None:
        super().__init__(plugins, calls, snapshot)
        self._nominator = nominator
        self._first_pass = NominatedPass(self, snapshot, nominator)
        self._results: ColumnCache[FilterResults] = ColumnCache(SIGNATURES, self._results_without)

    def run_on_all(self, state: AttemptState, pod: PodInfo, pre_filtered: PreFiltered) -> Filtered:
        """Ask the Filter plugins about every node that PreFilter left in, nominated pods considered.

        Verdicts of plugins that are NODE or PODS_ON_NODE are remembered for pods of the same signature. They cover all
        nodes, even if the pod is restricted to one topology domain.
        """
        since = self._calls.now()
        listed = self._snapshot.live_rows() if state.within is None else state.within
        try:
            found = self._run_on_all(state, pod, pre_filtered, listed)
        except Failed as failed:
            found = Filtered(listed, np.zeros(0, np.intp), error=failed.status)
        self._calls.point_ended(FILTER, found.error, since)
        return found

    def _run_on_all(self, state: AttemptState, pod: PodInfo, pre_filtered: PreFiltered, listed: Rows) -> Filtered:
        def ask(plugin: FilterPlugin, view: NodeView) -> tuple[Codes, StatusTable]:
            answer = self.verdicts(plugin, state, pod, view)
            return answer.codes, answer.table

        snapshot, only = self._snapshot, pre_filtered.node_names
        results = self._results.of(pod.signature, state.skip_filter_plugins)
        self._calls.evaluated(results.names, FILTER)
        if only is None:
            results.refresh(snapshot, ask, self.epoch_of)
            passing, rows, leading = results.mask, results.rows, results.leading
        else:
            passing, leading = _mask(snapshot, only), 0
            rows = np.flatnonzero(passing)
        if state.within is not None:
            rows = listed[passing[listed]]
            passing = _mask_of(snapshot, rows)
        tables = dict(results.tables)
        codes = [results.codes[name] for name in results.names[:leading]]
        for plugin in results.plugins[leading:]:
            if only is None and plugin.name in results.codes:
                found = results.codes[plugin.name]
            else:
                found = np.zeros(snapshot.height, np.int32)
                if len(rows):
                    answer = self.verdicts(plugin, state, pod, NodeView.ascending(snapshot, rows))
                    found[rows], tables[plugin.name] = answer.codes, answer.table
            codes.append(found)
            if found.any():  # else the rows stay the same array, by which scores are remembered
                passing = passing & (found == 0)
                rows = np.flatnonzero(passing)
        filtered = Filtered(listed, rows, results.names, tables, codes, pre_filtered.absent)
        if len(self._nominator):
            filtered = self._in_two_passes(state, pod, pre_filtered, filtered)
        error = filtered.error or self._error_among(results.plugins, filtered)
        return filtered if error is None else replace(filtered, error=error)

    def _results_without(self, skipped: frozenset[str]) -> FilterResults:
        return FilterResults([each for each in self._plugins.filter if each.name not in skipped])

    def _in_two_passes(self, state: AttemptState, pod: PodInfo, pre_filtered: PreFiltered, alone: Filtered) -> Filtered:
        """The result of Filter with nominated pods, which `alone` leaves out.

        A node that is rejected anyway is not asked again while other nodes are feasible: nothing reads its verdict.
        """
        rejected = self._first_pass.rejections(state, pod, _mask_of(self._snapshot, alone.feasible))
        rows = alone.feasible
        if rejected:
            rows = rows[~np.isin(rows, list(rejected))]
        found = replace(alone, feasible=rows, nominated=rejected, error=_error_of(rejected))
        if found.error is None and (not len(rows) or any(table.errors for table in alone.tables.values())):
            found = self.with_all_rejections(state, pod, pre_filtered, found)
        return found

    def with_all_rejections(
        self, state: AttemptState, pod: PodInfo, pre_filtered: PreFiltered, found: Filtered
    ) -> Filtered:
        """`found` with the rejection of every node as it counts: that of the first pass, if the node fails in it.

        It counts also where the node fails without the nominated pods as well (`RunFilterPluginsWithNominatedPods`). To
        be called before the snapshot changes, by those who read rejections although some nodes are feasible.
        """
        if not len(self._nominator):
            return found
        asked = _mask_of(self._snapshot, found.listed)
        if pre_filtered.node_names is not None:
            asked &= _mask(self._snapshot, pre_filtered.node_names)
        asked[found.feasible] = False
        asked[[*found.nominated]] = False
        try:
            rejected = self._first_pass.rejections(state, pod, asked)
        except Failed as failed:
            return replace(found, error=found.error or failed.status)
        return replace(found, nominated={**found.nominated, **rejected}, error=found.error or _error_of(rejected))

    def run_with_nominated_pods(self, state: AttemptState, pod: PodInfo, nodes: NodeView) -> Diagnosis:
        """Ask about each node twice: with the nominated pods that `pod` has to yield to, and then without them.

        A node passes only if it does both times: filters like resources reject it with them, filters like affinity
        without. The rejection of the first pass counts, whatever the result of the second is. Raises Failed.
        """
        diagnosis = self.run(state, pod, nodes)
        if len(self._nominator):
            among = np.zeros(self._snapshot.height, np.bool_)
            rows = nodes.indices()
            among[rows] = True
            rejected = self._first_pass.rejections(state, pod, among)
            positions = [int((rows == row).argmax()) for row in rejected]
            replace_rejections(diagnosis, positions, rejected.values())
        return diagnosis

    def _error_among(self, plugins: Sequence[FilterPlugin], found: Filtered) -> Status | None:
        """The first ERROR of a plugin on a listed node that passed the plugins before it, and the first pass."""
        for table in found.tables.values():
            if table.errors:
                break
        else:
            return None
        passing = _mask_of(self._snapshot, found.listed)
        passing[[*found.nominated]] = False
        for plugin, codes in zip(plugins, found.codes, strict=False):
            if (error := _first_error(plugin, codes, found.tables.get(plugin.name), passing)) is not None:
                return error
            passing &= codes == 0
        return None


def _mask_of(snapshot: Snapshot, rows: Rows) -> Mask:
    mask = np.zeros(snapshot.height, np.bool_)
    mask[rows] = True
    return mask


def _mask(snapshot: Snapshot, node_names: Iterable[str]) -> Mask:
    passing = np.zeros(snapshot.height, np.bool_)
    for name in node_names:
        row = snapshot.live_row_of(name)
        if row is not None:
            passing[row] = True
    return passing


def _first_error(plugin: FilterPlugin, codes: Codes, table: StatusTable | None, passing: Mask) -> Status | None:
    if table is None or not table.errors or not codes.any():
        return None
    struck = codes[passing & np.isin(codes, list(table.errors))]
    return error_in(FILTER.words.format(plugin.name), table[int(struck[0])].by(plugin.name)) if len(struck) else None


def _error_of(rejected: Mapping[int, NodeRejection]) -> Status | None:
    """The ERROR of the first of these nodes that has one, in the order of the rows."""
    statuses = (rejected[row].status for row in sorted(rejected))
    return next((status for status in statuses if not status.rejected), None)
