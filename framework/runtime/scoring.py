"""The Score phase: how good each feasible node is, normalised, weighted and added up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from ..contract.cycle_state import CycleState
from ..contract.plugin import MAX_NODE_SCORE, ScorePlugin, Scores
from ..contract.status import Code, Status
from ..model.pod_info import PodInfo
from ..snapshot.journal import DependsOn
from ..snapshot.snapshot import Snapshot
from ..snapshot.view import NodeView, Rows
from .errors import error_in
from .memo import Memo, SignatureMemo, kept
from .profile import Profile
from .ranking import Ranking
from .timing import Timing

_WHOLE_WHEN_OVER = 16
"""More changed scores than this are not weighed one by one."""


@dataclass(frozen=True, slots=True)
class Scored:
    """Scores of the feasible nodes, to be read before the snapshot changes, and not to be written to.

    Attributes:
        by_plugin: plugin name to int64 of shape (nodes,), normalised and times the plugin's weight.
        totals: int64, shape (nodes,): their sum.
    """

    by_plugin: Mapping[str, Scores]
    totals: Scores


class ScorePhase:
    """Runs the PreScore and Score plugins of one profile."""

    def __init__(self, profile: Profile, snapshot: Snapshot, memo: Memo, timing: Timing) -> None:
        self._profile = profile
        self._snapshot = snapshot
        self._memo = memo
        self._timing = timing
        self._as_they_are = {
            plugin.name for plugin in profile.score if type(plugin).normalize_score is ScorePlugin.normalize_score
        }

    def run(self, state: CycleState, pod: PodInfo, feasible: Rows) -> Scored | Status:
        """Score the rows `feasible`; a Status (ERROR) when a plugin failed."""
        view = NodeView(self._snapshot, feasible)
        skipped = self._pre_score(state, pod, view)
        if isinstance(skipped, Status):
            return skipped
        since = self._timing.now()
        memo = self._memo.of(pod.signature)
        ranking = memo.ranking
        if ranking is None or ranking.feasible is not feasible or ranking.skipped != skipped:
            ranking = memo.ranking = Ranking(feasible, skipped)
        by_plugin: dict[str, Scores] = {}
        others: list[Scores] = []
        for plugin in self._profile.score:
            if plugin.name in skipped:
                continue
            sampled = self._timing.sample(state)
            if plugin.score_depends_on is DependsOn.CLUSTER:
                weighted = self._weighted(plugin, state, pod, plugin.score(state, pod, view))
            else:
                weighted = self._kept(plugin, state, pod, memo, ranking)
            self._timing.plugin(plugin.name, "Score", None, sampled)
            self._timing.evaluated(plugin.name, "Score")
            if isinstance(weighted, Status):
                self._timing.point("Score", weighted, since)
                return weighted
            by_plugin[plugin.name] = weighted
            if plugin.score_depends_on is DependsOn.CLUSTER:
                others.append(weighted)
        totals = sum(others, start=ranking.totals)
        self._timing.point("Score", None, since)
        return Scored(by_plugin, totals)

    def _pre_score(self, state: CycleState, pod: PodInfo, view: NodeView) -> frozenset[str] | Status:
        """The plugins to leave out. Where none scores, none is asked to prepare."""
        since = self._timing.now()
        skipped: set[str] = set()
        for plugin in self._profile.pre_score if self._profile.score else ():
            sampled = self._timing.sample(state)
            status = plugin.pre_score(state, pod, view)
            self._timing.plugin(plugin.name, "PreScore", status, sampled)
            self._timing.evaluated(plugin.name, "PreScore")
            if status is None or status.code is Code.SUCCESS:
                continue
            if status.code is not Code.SKIP:
                self._timing.point("PreScore", status, since)
                return error_in(f'running PreScore plugin "{plugin.name}"', status.by(plugin.name))
            skipped.add(plugin.name)
        self._timing.point("PreScore", None, since)
        return frozenset(skipped)

    def _kept(
        self, plugin: ScorePlugin, state: CycleState, pod: PodInfo, memo: SignatureMemo, ranking: Ranking
    ) -> Scores | Status:
        """The plugin's weighted scores in `ranking`, brought up to date."""
        name = plugin.name
        column = kept(memo.scores, name, np.int64)
        raw = column.refresh(
            self._snapshot,
            self._memo.journal(plugin.score_depends_on),
            partial(plugin.score, state, pod),
            plugin.score_epoch(self._snapshot),
        )
        known, changed = ranking.version(name), column.changed
        if known == column.version:
            return ranking.weighted(name)
        follows = known == column.version - 1 and changed is not None and len(changed) <= _WHOLE_WHEN_OVER
        if changed is None or not follows or name not in self._as_they_are:
            everywhere = len(ranking.feasible) == len(raw)
            weighted = self._weighted(plugin, state, pod, raw if everywhere else raw[ranking.feasible])
            if isinstance(weighted, Status):
                return weighted
            ranking.replace(name, weighted, column.version)
            return weighted
        scores = [(position, int(raw[row])) for position, row in ranking.positions(changed)]
        for _, score in scores:
            if not 0 <= score <= MAX_NODE_SCORE:
                return _invalid(plugin, score)
        weight = self._profile.weights[name]
        ranking.change(name, ((position, score * weight) for position, score in scores), column.version)
        return ranking.weighted(name)

    def _weighted(self, plugin: ScorePlugin, state: CycleState, pod: PodInfo, raw: Scores) -> Scores | Status:
        scores = np.asarray(plugin.normalize_score(state, pod, raw), np.int64)
        if scores.view(np.uint64).max() > MAX_NODE_SCORE:  # without its sign a negative score is a huge one
            lowest = int(scores.min())
            return _invalid(plugin, lowest if lowest < 0 else int(scores.max()))
        weighted: Scores = scores * self._profile.weights[plugin.name]
        return weighted


def _invalid(plugin: ScorePlugin, score: int) -> Status:
    wrong = f"returns an invalid score {score}, it should in the range of [0, 100] after normalizing"
    status = Status.failure(f'plugin "{plugin.name}" {wrong}').by(plugin.name)
    return error_in("applying score defaultWeights on Score plugins", status)
