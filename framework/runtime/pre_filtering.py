"""PreFilter: the plugins' answers about a pod before any node is looked at, merged into one.

`Algorithm` runs it once for each pod that is decided, and once for each member in the trial of a group.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..contract.group import GroupPlugin
from ..contract.plugin import PreFilterPlugin, PreFilterResult
from ..contract.status import Code, Status
from ..model.pod_info import PodInfo
from ..snapshot.view import NodeView
from .attempt_state import AttemptState
from .concerned import ConcernedPlugins
from .plugin_calls import PluginCalls
from .plugin_set import ProfilePlugins
from .points import PRE_FILTER
from .results import PreFiltered


class PreFiltering:
    """Runs the PreFilter plugins of one profile."""

    def __init__(self, plugins: ProfilePlugins, calls: PluginCalls, concerned: ConcernedPlugins) -> None:
        self._plugins = plugins
        self._calls = calls
        self._concerned = concerned

    def run(self, state: AttemptState, pod: PodInfo, nodes: NodeView, *, of_groups: bool = True) -> PreFiltered:
        """Ask the plugins in order, all or those without groups. The state records which have nothing to filter."""
        since = self._calls.now()
        plugins: Iterable[PreFilterPlugin] = self._plugins.pre_filter
        if not of_groups:
            plugins = [plugin for plugin in plugins if not isinstance(plugin, GroupPlugin)]
        asked: list[str] = []
        skipped: set[str] = set()
        found = self._ask(plugins, state, pod, nodes, asked=asked, skipped=skipped)
        state.skip_filter_plugins = frozenset(skipped)
        self._calls.evaluated(tuple(asked), PRE_FILTER)
        self._calls.point_ended(PRE_FILTER, found.status, since)
        return found

    def _ask(
        self,
        plugins: Iterable[PreFilterPlugin],
        state: AttemptState,
        pod: PodInfo,
        nodes: NodeView,
        *,
        asked: list[str],
        skipped: set[str],
    ) -> PreFiltered:
        """Adds to `asked` the plugins whose turn came, and to `skipped` those of them with nothing to do."""
        calls, others, unprepared = self._calls, self._concerned.others(pod), self._plugins.unprepared
        node_names: frozenset[str] | None = None
        narrowing: list[str] = []
        rejection: Status | None = None
        for plugin in plugins:
            name = plugin.name
            asked.append(name)
            if name in others:
                skipped.add(name)
                continue
            if name in unprepared:
                continue
            answer = calls.call(PRE_FILTER, plugin, pod, plugin.pre_filter, state, pod, nodes, sampled=state.sampled)
            if answer is None:
                continue
            if isinstance(answer, PreFilterResult):
                node_names = answer.node_names if node_names is None else node_names & answer.node_names
                narrowing.append(name)
                if not node_names:
                    return PreFiltered(
                        status=Status.unresolvable(_unsatisfied(narrowing, empty=True)),
                        rejectors=frozenset(narrowing),
                    )
            elif answer.code is Code.SKIP:
                skipped.add(name)
            elif answer.code is Code.UNSCHEDULABLE:
                rejection = answer
            elif answer.rejected:
                return PreFiltered(status=answer, rejectors=frozenset({name}))
            else:
                return PreFiltered(status=answer)
        if rejection is not None:
            return PreFiltered(status=rejection, rejectors=frozenset({rejection.plugin, *narrowing}))
        absent = Status.unresolvable(_unsatisfied(narrowing, empty=False)) if node_names is not None else None
        return PreFiltered(node_names=node_names, absent=absent, rejectors=frozenset(narrowing))


def _unsatisfied(plugins: Sequence[str], *, empty: bool) -> str:
    names = " ".join(sorted(plugins))
    if not empty:
        return f"node(s) didn't satisfy plugin(s) [{names}]"
    if len(plugins) == 1:
        return f"node(s) didn't satisfy plugin {names}"
    return f"node(s) didn't satisfy plugin(s) [{names}] simultaneously"
