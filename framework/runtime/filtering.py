"""Filter: which nodes can run a pod, and which plugin is the first to reject each of the others.

`Algorithm` runs it on all nodes, where most verdicts are cached, and on any set of nodes in a trial.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ..contract.plugin import CapacityPlugin, FilterPlugin
from ..contract.status import Status
from ..contract.verdicts import Codes, Diagnosis, Mask, NodeRejection, StatusTable, Verdicts
from ..model.pod_info import PodInfo
from ..snapshot.column_cache import ColumnCache
from ..snapshot.journal import DependsOn
from ..snapshot.snapshot import Snapshot
from ..snapshot.view import NodeView, Rows
from ..work import checkpoint
from .answers import Failed, error_in, failure, hashable, integers, is_long_work, verdicts
from .attempt_state import AttemptState
from .cached_results import SIGNATURES, FilterResults
from .nominated_cache import NominatedResults
from .nominator import PodNominator
from .plugin_calls import PluginCalls
from .plugin_set import ProfilePlugins
from .points import ADD_POD, CAPACITY, FILTER, FILTER_EPOCH, REMOVE_POD, Point
from .rejections import replace_rejections
from .results import Filtered, PreFiltered
from .subjects import ALL_NODES

_NOMINATED = 32
"""Signatures for which results with nominated pods are cached."""
_MOST_ON_A_NODE = 1 << 31
"""More pods fit on no node, whatever a plugin says: the sum over all nodes stays exact."""


class Filtering:
    """Runs the Filter plugins and the PreFilterExtensions of one profile."""

    def __init__(
        self,
        plugins: ProfilePlugins,
        calls: PluginCalls,
        snapshot: Snapshot,
        *,
        nominator: PodNominator,
    ) -> None:
        self._plugins = plugins
        self._calls = calls
        self._snapshot = snapshot
        self._nominator = nominator
        self._results: ColumnCache[FilterResults] = ColumnCache(SIGNATURES, self._results_without)
        self._nominated: ColumnCache[NominatedResults] = ColumnCache(_NOMINATED, lambda skipped: NominatedResults())
        self._epochal = [
            plugin for plugin in plugins.filter if type(plugin).filter_epoch is not FilterPlugin.filter_epoch
        ]

    def run_on_all(self, state: AttemptState, pod: PodInfo, pre_filtered: PreFiltered) -> Filtered:
        """Ask the Filter plugins about every node that PreFilter left in, nominated pods considered.

        Verdicts that depend on less than the cluster are remembered for pods of the same signature. They cover
        all nodes, even if the pod is restricted to one topology domain.
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
            answer = self._verdicts(plugin, state, pod, view)
            return answer.codes, answer.table

        snapshot, only = self._snapshot, pre_filtered.node_names
        results = self._results.of(pod.signature, state.skip_filter_plugins)
        self._calls.evaluated(results.names, FILTER)
        if only is None:
            results.refresh(snapshot, ask, self._epoch_of)
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
                    answer = self._verdicts(plugin, state, pod, NodeView.ascending(snapshot, rows))
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
        rejected = self._first_pass(state, pod, _mask_of(self._snapshot, alone.feasible))
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
            rejected = self._first_pass(state, pod, asked)
        except Failed as failed:
            return replace(found, error=found.error or failed.status)
        return replace(found, nominated={**found.nominated, **rejected}, error=found.error or _error_of(rejected))

    def finish_long_work(self, state: AttemptState, pod: PodInfo) -> None:
        """Do what a Filter plugin has left to do, so that it can be asked once more."""
        work = state.long_work
        while work.left is not None:
            (name, left), work.left = work.left, None
            checkpoint()
            self._calls.finish_long_work(self._plugins.plugins[name], state, pod, left)

    def run(self, state: AttemptState, pod: PodInfo, nodes: NodeView) -> Diagnosis:
        """Ask the Filter plugins about `nodes` as things are now. Nothing is remembered. Raises Failed."""
        rows = nodes.indices()
        rejector, codes = np.zeros(len(rows), np.int32), np.zeros(len(rows), np.int32)
        left = np.arange(len(rows))
        names: list[str] = []
        tables: list[StatusTable] = []
        for plugin in self._plugins.filter:
            if plugin.name in state.skip_filter_plugins or not len(left):
                continue
            view = nodes if len(left) == len(rows) else NodeView(self._snapshot, rows[left])
            found = self._verdicts(plugin, state, pod, view)
            names.append(plugin.name)
            tables.append(_worded(plugin, found.table))
            rejected = found.codes != 0
            if rejected.any():
                rows_rejected = left[rejected]
                rejector[rows_rejected], codes[rows_rejected] = len(names), found.codes[rejected]
                left = left[~rejected]
        return Diagnosis(nodes.names(), rejector, codes, names, tables)

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
            rejected = self._first_pass(state, pod, among)
            positions = [int((rows == row).argmax()) for row in rejected]
            replace_rejections(diagnosis, positions, rejected.values())
        return diagnosis

    def capacity(self, state: AttemptState, pod: PodInfo, nodes: NodeView) -> npt.NDArray[np.int64]:
        """How many pods like this one each node could take, by the plugins that count capacity.

        Raises Failed when one of them fails, which is logged: a group is tried all the same.
        """
        least = np.full(len(nodes), _MOST_ON_A_NODE, np.int64)
        for plugin in self._plugins.capacity:
            try:
                least = np.minimum(least, self._counted(plugin, state, pod, nodes))
            except Failed as failed:
                self._calls.log_failure(CAPACITY, plugin, pod, failed.status)
                raise
        return least

    def _counted(
        self, plugin: CapacityPlugin, state: AttemptState, pod: PodInfo, nodes: NodeView
    ) -> npt.NDArray[np.int64]:
        answer = self._calls.call(CAPACITY, plugin, pod, plugin.capacity, pod, nodes, sampled=state.sampled)
        found = integers(CAPACITY, plugin, answer, len(nodes))
        if len(found) and found.min() < 0:
            raise Failed(failure(CAPACITY, plugin, ValueError("it has a number below 0")))
        return found

    def _first_pass(self, state: AttemptState, pod: PodInfo, among: Mask) -> dict[int, NodeRejection]:
        """The rejections of the first pass, in which nominated pods count, by row of `among`.

        Rows are asked about together, unless a plugin's verdict about one depends on the nominated pods of another.
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
        if not self.depends_on_cluster(state):
            return self._first_pass_cached(state, pod, found)
        rejected: dict[int, NodeRejection] = {}
        for row, nominated in found.items():
            rejected |= self._run_first_pass(state, pod, {row: nominated})
        return rejected

    def _first_pass_cached(
        self, state: AttemptState, pod: PodInfo, nominated: Mapping[int, Sequence[PodInfo]]
    ) -> dict[int, NodeRejection]:
        """The result of `_run_first_pass`, cached for pods of one signature, but not in a trial."""
        if self._snapshot.tentative:
            return self._run_first_pass(state, pod, nominated)
        results = self._nominated.of(pod.signature, state.skip_filter_plugins)
        results.enter(self.epoch(state))
        rejected: dict[int, NodeRejection] = {}
        unknown: dict[int, Sequence[PodInfo]] = {}
        for row, pods in nominated.items():
            if not results.holds(self._snapshot, row, pods):
                unknown[row] = pods
            elif (known := results.rejection(row)) is not None:
                rejected[row] = known
        if unknown:
            found = self._run_first_pass(state, pod, unknown)
            for row, pods in unknown.items():
                rejection = found.get(row)
                if rejection is None or rejection.status.rejected:
                    results.keep(self._snapshot, row, pods, rejection)
            rejected |= found
        return rejected

    def _run_first_pass(
        self, state: AttemptState, pod: PodInfo, nominated: Mapping[int, Sequence[PodInfo]]
    ) -> dict[int, NodeRejection]:
        snapshot, notes = self._snapshot, state.clone()
        rejected: dict[int, NodeRejection] = {}
        with snapshot.trial():
            for row in sorted(nominated):
                failed = self._add_all(notes, pod, row, nominated[row])
                if failed is not None:
                    table = StatusTable((failed,))
                    rejected[row] = NodeRejection(failed.plugin, table, table.number(failed))
            rows = [row for row in sorted(nominated) if row not in rejected]
            diagnosis = self.run(notes, pod, NodeView(snapshot, np.array(rows, np.intp)))
        rejected.update({row: found for at, row in enumerate(rows) if (found := diagnosis.rejection(at)) is not None})
        return rejected

    def _add_all(self, state: AttemptState, pod: PodInfo, row: int, nominated: Sequence[PodInfo]) -> Status | None:
        """Count the nominated pods on the node in a trial. The first ERROR of AddPod, if any."""
        snapshot = self._snapshot
        for added in nominated:
            if added.uid not in snapshot.pods[row]:
                snapshot.add_pod(added, snapshot.names[row])
                failed = self.add_pod(state, pod, added, snapshot.names[row])
                if failed is not None:
                    return failed
        return None

    def depends_on_cluster(self, state: AttemptState) -> bool:
        """Whether a Filter plugin that has not skipped the pod looks beyond each node."""
        return any(
            plugin.filter_depends_on is DependsOn.CLUSTER and plugin.name not in state.skip_filter_plugins
            for plugin in self._plugins.filter
        )

    def epoch(self, state: AttemptState) -> Hashable:
        """A value that changes with all on which Filter plugins depend besides pod and node. Raises Failed."""
        return tuple(self._epoch_of(plugin) for plugin in self._epochal if plugin.name not in state.skip_filter_plugins)

    def _epoch_of(self, plugin: FilterPlugin) -> Hashable:
        return self._calls.ask(FILTER_EPOCH, plugin, ALL_NODES, plugin.filter_epoch, self._snapshot, sound=hashable)

    def _verdicts(self, plugin: FilterPlugin, state: AttemptState, pod: PodInfo, view: NodeView) -> Verdicts:
        left_before = state.long_work.left
        answer = self._calls.call(FILTER, plugin, pod, plugin.filter, state, pod, view, sampled=state.sampled)
        left = state.long_work.left
        if left is not None and left is not left_before and not is_long_work(left, plugin):
            state.long_work.left = None
            wrong = TypeError("what it left to be worked out is not its name and steps")
            raise Failed(failure(FILTER, plugin, wrong))
        return verdicts(FILTER, plugin, answer, len(view))

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

    def follows_trials(self, state: AttemptState) -> bool:
        """Whether any plugin has `add_pod` and `remove_pod`."""
        return any(plugin.name not in state.skip_filter_plugins for plugin in self._plugins.pre_filter_extensions)

    def add_pod(self, state: AttemptState, pod: PodInfo, added: PodInfo, node_name: str) -> Status | None:
        """Call PreFilterExtensions: `added` was added to the node in a trial for `pod`. The first ERROR, if any."""
        return self._call_in_trial(ADD_POD, state, pod, added, node_name=node_name)

    def remove_pod(self, state: AttemptState, pod: PodInfo, removed: PodInfo, node_name: str) -> Status | None:
        """Call PreFilterExtensions: `removed` was removed from the node in a trial for `pod`."""
        return self._call_in_trial(REMOVE_POD, state, pod, removed, node_name=node_name)

    def _call_in_trial(
        self, point: Point, state: AttemptState, pod: PodInfo, moved: PodInfo, *, node_name: str
    ) -> Status | None:
        for plugin in self._plugins.pre_filter_extensions:
            if plugin.name not in state.skip_filter_plugins:
                method = plugin.add_pod if point is ADD_POD else plugin.remove_pod
                failed: Status | None = self._calls.call(
                    point, plugin, pod, method, state, pod, moved, node_name, sampled=state.sampled
                )
                if failed is not None:
                    return failed
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


def _worded(plugin: FilterPlugin, table: StatusTable) -> StatusTable:
    """The table with the words that kube-scheduler's RunFilterPlugins puts before an ERROR."""
    if not table.errors:
        return table
    words = FILTER.words.format(plugin.name)
    statuses = [table[number] for number in range(1, len(table) + 1)]
    return StatusTable(status if status.rejected else error_in(words, status) for status in statuses)


def _first_error(plugin: FilterPlugin, codes: Codes, table: StatusTable | None, passing: Mask) -> Status | None:
    if table is None or not table.errors or not codes.any():
        return None
    struck = codes[passing & np.isin(codes, list(table.errors))]
    return error_in(FILTER.words.format(plugin.name), table[int(struck[0])].by(plugin.name)) if len(struck) else None


def _error_of(rejected: Mapping[int, NodeRejection]) -> Status | None:
    """The ERROR of the first of these nodes that has one, in the order of the rows."""
    statuses = (rejected[row].status for row in sorted(rejected))
    return next((status for status in statuses if not status.rejected), None)
