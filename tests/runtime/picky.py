"""Plugins made for the tests of the phases: one of each kind that the phases treat in a way of its own."""

import numpy as np

from muster.framework.authoring import normalize_to_highest
from muster.framework.contract import (
    CycleState,
    DependsOn,
    FilterPlugin,
    NodeView,
    PreFilterPlugin,
    PreScorePlugin,
    ScorePlugin,
    Status,
    StatusTable,
    Verdicts,
)
from muster.framework.contract.plugin import PreFilterResult, Scores
from muster.framework.model.pod_info import PodInfo


class Crowded(FilterPlugin):
    """Judges a node by itself, and breaks on nodes with three pods or more."""

    name = "Crowded"
    filter_depends_on = DependsOn.PODS_ON_NODE

    _table = StatusTable([Status.failure("too crowded to look at")])

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Verdicts:
        return Verdicts.where(nodes.of(nodes.snapshot.resources.pod_count) < 3, self._table)


class Choosy(PreFilterPlugin, FilterPlugin, ScorePlugin):
    """Goes by the name of the pod, so nothing of it can be kept: by its last letter it names the only nodes that may
    pass, skips, or turns away and likes less whatever nodes have a row of the other parity."""

    name = "Choosy"

    _table = StatusTable([Status.unschedulable("wrong parity")])

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> PreFilterResult | Status | None:
        match pod.name[-1]:
            case "n":
                return PreFilterResult(frozenset(nodes.names()[::2]))
            case "s":
                return Status.skip()
            case _:
                return None

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Verdicts:
        return Verdicts.where(nodes.indices() % 3 != len(pod.name) % 3, self._table)

    def score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Scores:
        scores: Scores = 50 + 50 * (nodes.indices() % 2 == len(pod.name) % 2)
        return scores


class Late(FilterPlugin):
    """Judges a node by itself, but comes after a plugin that does not."""

    name = "Late"
    filter_depends_on = DependsOn.PODS_ON_NODE

    _table = StatusTable([Status.unschedulable("even number of pods")])

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Verdicts:
        return Verdicts.where(nodes.of(nodes.snapshot.resources.pod_count) != 2, self._table)


class Relative(ScorePlugin):
    """Scores by the pods on a node, compared with the other feasible nodes."""

    name = "Relative"
    score_depends_on = DependsOn.PODS_ON_NODE

    def score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Scores:
        return nodes.of(nodes.snapshot.resources.pod_count).astype(np.int64)

    def normalize_score(self, state: CycleState, pod: PodInfo, scores: Scores) -> Scores:
        return normalize_to_highest(scores, reverse=True)


class Moody(PreScorePlugin, ScorePlugin):
    """Scores a node by itself, but takes part for some pods only, whatever their signature."""

    name = "Moody"
    score_depends_on = DependsOn.PODS_ON_NODE

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status | None:
        return Status.skip() if len(pod.name) % 2 else None

    def score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Scores:
        return np.minimum(nodes.of(nodes.snapshot.resources.pod_count), 10).astype(np.int64)


class Overflowing(ScorePlugin):
    """Scores 60 for each pod on the node, which is too much for a second one."""

    name = "Overflowing"
    score_depends_on = DependsOn.PODS_ON_NODE

    def score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Scores:
        return 60 * nodes.of(nodes.snapshot.resources.pod_count).astype(np.int64)
