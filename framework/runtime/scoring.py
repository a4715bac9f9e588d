"""PreScore and Score: how good each feasible node is, normalized, weighted and summed. `Algorithm` runs them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial

import numpy as np

from ..contract.plugin import MAX_NODE_SCORE, ScorePlugin, Scores
from ..contract.status import Code, Status
from ..model.pod_info import PodInfo
from ..snapshot.column_cache import ColumnCache
from ..snapshot.partitions import Partition
from ..snapshot.snapshot import Snapshot
from ..snapshot.view import NodeView, Rows
from .answers import Failed, error_in, failure, hashable, integers
from .attempt_state import AttemptState
from .cached_results import SIGNATURES, ScoreResults
from .concerned import ConcernedPlugins
from .plugin_calls import PluginCalls
from .plugin_set import ProfilePlugins
from .points import NORMALIZE, PLACEMENT_SCORE, PRE_SCORE, SCORE, SCORE_EPOCH
from .results import ByPlugin, Scored
from .subjects import ALL_NODES


class Scoring:
    """Runs the PreScore and Score plugins of one profile."""

    def __init__(
        self,
        plugins: ProfilePlugins,
        calls: PluginCalls,
        snapshot: Snapshot,
        *,
        concerned: ConcernedPlugins,
    ) -> None:
        self._plugins = plugins
        self._calls = calls
        self._snapshot = snapshot
        self._concerned = concerned
        self._results: ColumnCache[ScoreResults] = ColumnCache(SIGNATURES, self._results_without)

    def prepare(self, state: AttemptState, pod: PodInfo, nodes: NodeView) -> Status | None:
        """Let the plugins prepare scoring. Where none scores, none is asked. None, or the ERROR of one."""
        since = self._calls.now()
        others = self._concerned.others(pod)
        asked: list[str] = []
        skipped: set[str] = set()
        status: Status | None = None
        for plugin in self._plugins.pre_score if self._plugins.score else ():
            asked.append(plugin.name)
            if plugin.name in others:
                skipped.add(plugin.name)
                continue
            if plugin.name in self._plugins.unprepared_scores:
                continue
            answer: Status | None = self._calls.call(
                PRE_SCORE, plugin, pod, plugin.pre_score, state, pod, nodes, sampled=state.sampled
            )
            if answer is None:
                continue
            if answer.code is not Code.SKIP:
                status = answer
                break
            skipped.add(plugin.name)
        state.skip_score_plugins = frozenset(skipped)
        self._calls.evaluated(tuple(asked), PRE_SCORE)
        self._calls.point_ended(PRE_SCORE, status, since)
        return status

    def run(self, state: AttemptState, pod: PodInfo, feasible: Rows) -> Scored | Status:
        """Score the rows `feasible`; an ERROR status when a plugin failed.

        Scores of plugins that are NODE or PODS_ON_NODE are remembered for pods of the same signature.
        """
        since = self._calls.now()
        try:
            scored = self._score(state, pod, feasible)
        except Failed as failed:
            self._calls.point_ended(SCORE, failed.status, since)
            return failed.status
        self._calls.point_ended(SCORE, None, since)
        return scored

    def placements(self, pods: Sequence[PodInfo], domains: Partition) -> Scores:
        """The weighted sum of what the PlacementScore plugins say of each domain with `pods` in it. Raises Failed."""
        totals = np.zeros(len(domains), np.int64)
        for plugin in self._plugins.placement_score:
            answer = self._calls.call(
                PLACEMENT_SCORE, plugin, pods[0], plugin.score_placements, pods, domains, self._snapshot
            )
            scores = integers(PLACEMENT_SCORE, plugin, answer, len(domains))
            if (wrong := _invalid_score(scores)) is not None:
                raise Failed(failure(PLACEMENT_SCORE, plugin, ValueError(wrong)))
            totals += scores * self._plugins.placement_weights[plugin.name]
        return totals

    def _score(self, state: AttemptState, pod: PodInfo, feasible: Rows) -> Scored:
        def ask(plugin: ScorePlugin, view: NodeView) -> tuple[Scores, None]:
            return self._scores(plugin, state, pod, view), None

        def weigh(plugin: ScorePlugin, raw: Scores) -> Scores:
            return self._weighted(plugin, state, pod, raw)

        others = self._concerned.others(pod)
        results = self._results.of(pod.signature, state.skip_score_plugins | others)
        results.refresh(self._snapshot, feasible, ask, weigh, epoch_of=self._epoch_of)
        by_plugin: dict[str, Scores | Callable[[], Scores]] = {}
        totals = results.totals
        for plugin in self._plugins.score:
            if plugin.name in state.skip_score_plugins:
                continue
            if plugin.name in others:
                by_plugin[plugin.name] = partial(_zeros, len(feasible))
            elif not plugin.score_depends_on.kept:
                weighted = weigh(plugin, self._scores(plugin, state, pod, NodeView.ascending(self._snapshot, feasible)))
                by_plugin[plugin.name] = weighted
                totals = totals + weighted
            else:
                by_plugin[plugin.name] = partial(results.weighted, plugin)
        self._calls.evaluated(tuple(by_plugin), SCORE)
        return Scored(ByPlugin(by_plugin), totals)

    def _results_without(self, skipped: frozenset[str]) -> ScoreResults:
        return ScoreResults([each for each in self._plugins.score if each.name not in skipped], self._plugins.weights)

    def _epoch_of(self, plugin: ScorePlugin) -> Hashable:
        return self._calls.ask(SCORE_EPOCH, plugin, ALL_NODES, plugin.score_epoch, self._snapshot, sound=hashable)

    def _scores(self, plugin: ScorePlugin, state: AttemptState, pod: PodInfo, view: NodeView) -> Scores:
        answer = self._calls.call(SCORE, plugin, pod, plugin.score, state, pod, view, sampled=state.sampled)
        return integers(SCORE, plugin, answer, len(view))

    def _weighted(self, plugin: ScorePlugin, state: AttemptState, pod: PodInfo, raw: Scores) -> Scores:
        scores = raw
        if type(plugin).normalize_score is not ScorePlugin.normalize_score:
            given = raw.view()  # what is remembered must not change
            given.flags.writeable = False
            answer = self._calls.call(NORMALIZE, plugin, pod, plugin.normalize_score, state, pod, given)
            scores = integers(NORMALIZE, plugin, answer, len(raw))
        if (wrong := _invalid_score(scores)) is not None:
            raise Failed(_out_of_range(plugin, wrong))
        weighted: Scores = scores * self._plugins.weights[plugin.name]
        return weighted


def _zeros(nodes: int) -> Scores:
    return np.zeros(nodes, np.int64)


def _invalid_score(scores: Scores) -> str | None:
    """The error for scores of which one is out of range."""
    if not len(scores) or scores.view(np.uint64).max() <= MAX_NODE_SCORE:  # a negative one is huge without its sign
        return None
    lowest = int(scores.min())
    found = lowest if lowest < 0 else int(scores.max())
    return f"returns an invalid score {found}, it should in the range of [0, {MAX_NODE_SCORE}]"


def _out_of_range(plugin: ScorePlugin, wrong: str) -> Status:
    status = Status.failure(f'plugin "{plugin.name}" {wrong} after normalizing').by(plugin.name)
    return error_in("applying score defaultWeights on Score plugins", status)
