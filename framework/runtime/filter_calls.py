"""The calls of Filter plugins about nodes as they are, and of PreFilterExtensions in a trial. Nothing is remembered.

`Filtering`, which remembers verdicts, is one; `NominatedPass` asks it about nodes with nominated pods on them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from functools import partial
from itertools import takewhile

import numpy as np
import numpy.typing as npt

from ..contract.plugin import CapacityPlugin, FilterPlugin
from ..contract.status import Status
from ..contract.verdicts import Diagnosis, Mask, StatusTable, Verdicts
from ..model.pod_info import PodInfo
from ..snapshot.journal import DependsOn
from ..snapshot.snapshot import Snapshot
from ..snapshot.view import NodeView
from ..work import checkpoint
from .answers import Failed, error_in, failure, hashable, integers, is_long_work, mask, verdicts
from .attempt_state import AttemptState
from .plugin_calls import PluginCalls
from .plugin_set import ProfilePlugins
from .points import ACCEPTS_WITH_FEWER_PODS, ADD_POD, CAPACITY, FILTER, FILTER_EPOCH, REMOVE_POD, Point
from .subjects import ALL_NODES

_MOST_ON_A_NODE = 1 << 31
"""More pods fit on no node, whatever a plugin says: the sum over all nodes stays exact."""


class FilterCalls:
    """Calls the Filter plugins and the PreFilterExtensions of one profile."""

    def __init__(self, plugins: ProfilePlugins, calls: PluginCalls, snapshot: Snapshot) -> None:
        self._plugins = plugins
        self._calls = calls
        self._snapshot = snapshot
        self._epochal = [
            plugin for plugin in plugins.filter if type(plugin).filter_epoch is not FilterPlugin.filter_epoch
        ]

    def run(
        self, state: AttemptState, pod: PodInfo, nodes: NodeView, plugins: Sequence[FilterPlugin] | None = None
    ) -> Diagnosis:
        """Ask the Filter plugins, or these of them, about `nodes` as things are now. Raises Failed."""
        rows = nodes.indices()
        rejector, codes = np.zeros(len(rows), np.int32), np.zeros(len(rows), np.int32)
        left = np.arange(len(rows))
        names: list[str] = []
        tables: list[StatusTable] = []
        for plugin in self._plugins.filter if plugins is None else plugins:
            if plugin.name in state.skip_filter_plugins or not len(left):
                continue
            view = nodes if len(left) == len(rows) else NodeView(self._snapshot, rows[left])
            found = self.verdicts(plugin, state, pod, view)
            names.append(plugin.name)
            tables.append(_worded(plugin, found.table))
            rejected = found.codes != 0
            if rejected.any():
                rows_rejected = left[rejected]
                rejector[rows_rejected], codes[rows_rejected] = len(names), found.codes[rejected]
                left = left[~rejected]
        return Diagnosis(nodes.names(), rejector, codes, names, tables)

    def passes_on_node(self, state: AttemptState, pod: PodInfo, node: NodeView) -> bool:
        """Whether the pod passes the filters that depend on no more than one node and its pods. Raises Failed."""
        for plugin in self._applying(state):
            if plugin.filter_depends_on is DependsOn.PODS_ON_NODE:
                found = self.verdicts(plugin, state, pod, node)
                [code] = found.codes.tolist()
                if code in found.table.errors:
                    raise Failed(_worded(plugin, found.table)[code].by(plugin.name))
                if code:
                    return False
        return True

    def verdicts(self, plugin: FilterPlugin, state: AttemptState, pod: PodInfo, view: NodeView) -> Verdicts:
        """The plugin's verdicts about these nodes. Raises Failed."""
        left_before = state.long_work.left
        answer = self._calls.call(FILTER, plugin, pod, plugin.filter, state, pod, view, sampled=state.sampled)
        left = state.long_work.left
        if left is not None and left is not left_before and not is_long_work(left, plugin):
            state.long_work.left = None
            wrong = TypeError("what it left to be worked out is not its name and steps")
            raise Failed(failure(FILTER, plugin, wrong))
        return verdicts(FILTER, plugin, answer, len(view))

    def finish_long_work(self, state: AttemptState, pod: PodInfo) -> None:
        """Do what a Filter plugin has left to do, so that it can be asked once more."""
        work = state.long_work
        while work.left is not None:
            (name, left), work.left = work.left, None
            checkpoint()
            self._calls.finish_long_work(self._plugins.plugins[name], state, pod, left)

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

    def capacity_epoch(self) -> Hashable:
        """A value that changes with all on which capacity depends besides pod and node. Raises Failed."""
        return tuple(self.epoch_of(plugin) for plugin in self._plugins.capacity)

    def _counted(
        self, plugin: CapacityPlugin, state: AttemptState, pod: PodInfo, nodes: NodeView
    ) -> npt.NDArray[np.int64]:
        answer = self._calls.call(CAPACITY, plugin, pod, plugin.capacity, pod, nodes, sampled=state.sampled)
        found = integers(CAPACITY, plugin, answer, len(nodes))
        if len(found) and found.min() < 0:
            raise Failed(failure(CAPACITY, plugin, ValueError("it has a number below 0")))
        return found

    def depends_on_cluster(self, state: AttemptState) -> bool:
        """Whether a Filter plugin that has not skipped the pod reads pods beyond each node."""
        return any(plugin.filter_depends_on is DependsOn.CLUSTER for plugin in self._applying(state))

    def capacity_is_exact(self, state: AttemptState) -> bool:
        """Whether no Filter plugin that has not skipped the pod reads pods, except those that count capacity."""
        counting = self._plugins.capacity
        return all(plugin.filter_depends_on is DependsOn.NODE or plugin in counting for plugin in self._applying(state))

    def verdicts_are_kept(self, state: AttemptState) -> bool:
        """Whether the verdicts of all Filter plugins that have not skipped the pod may be kept."""
        return all(plugin.filter_depends_on.kept for plugin in self._applying(state))

    def _applying(self, state: AttemptState) -> Iterator[FilterPlugin]:
        """The plugins that have not skipped the pod."""
        skipped = state.skip_filter_plugins
        return (plugin for plugin in self._plugins.filter if plugin.name not in skipped)

    def leading(self, state: AttemptState) -> Sequence[FilterPlugin]:
        """The plugins that come before any that reads pods beyond each node."""
        skipped = state.skip_filter_plugins
        return [
            *takewhile(
                lambda plugin: plugin.filter_depends_on is not DependsOn.CLUSTER or plugin.name in skipped,
                self._plugins.filter,
            )
        ]

    def kept(self, state: AttemptState) -> Sequence[str]:
        """The names of the plugins that have not skipped the pod and whose verdicts may be kept."""
        return [plugin.name for plugin in self._applying(state) if plugin.filter_depends_on.kept]

    def accepting_with_fewer_pods(self, state: AttemptState, pod: PodInfo, nodes: NodeView) -> Mask:
        """Which nodes are accepted, also without any pods on them, by all plugins whose verdicts may not be kept.

        Raises Failed.
        """
        accepting: Mask = np.ones(len(nodes), np.bool_)
        sound = partial(mask, nodes=len(nodes))
        for plugin in self._applying(state):
            if not plugin.filter_depends_on.kept:
                accepting &= self._calls.ask(
                    ACCEPTS_WITH_FEWER_PODS,
                    plugin,
                    pod,
                    plugin.accepts_with_fewer_pods,
                    state,
                    pod,
                    nodes,
                    sound=sound,
                )
        return accepting

    def epoch(self, state: AttemptState) -> Hashable:
        """A value that changes with all on which Filter plugins depend besides pod and node. Raises Failed."""
        return tuple(self.epoch_of(plugin) for plugin in self._epochal if plugin.name not in state.skip_filter_plugins)

    def epoch_of(self, plugin: FilterPlugin) -> Hashable:
        """A value that changes with all on which the plugin depends besides pod and node. Raises Failed."""
        return self._calls.ask(FILTER_EPOCH, plugin, ALL_NODES, plugin.filter_epoch, self._snapshot, sound=hashable)

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


def _worded(plugin: FilterPlugin, table: StatusTable) -> StatusTable:
    """The table with the words that kube-scheduler's RunFilterPlugins puts before an ERROR."""
    if not table.errors:
        return table
    words = FILTER.words.format(plugin.name)
    statuses = [table[number] for number in range(1, len(table) + 1)]
    return StatusTable(status if status.rejected else error_in(words, status) for status in statuses)
