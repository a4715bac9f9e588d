"""Decisions of a plugin that reads other nodes' pods: PreFilter and Filter, and PreScore, Score and normalising."""

from collections.abc import Iterable
from typing import Protocol

import numpy as np

from muster.framework.contract import CycleState, NodeView, PodInfo, Scores, Status, Verdicts
from tests.builders import PodDict
from tests.plugins.cluster import Cluster, info


class Judge(Protocol):
    """A plugin that filters and scores."""

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status | None: ...

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Verdicts: ...

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status | None: ...

    def score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Scores: ...

    def normalize_score(self, state: CycleState, pod: PodInfo, scores: Scores) -> Scores: ...


def turned_away(cluster: Cluster, plugin: Judge, pod: PodDict) -> dict[str, Status]:
    """The nodes that the pod may not go to, and why; nothing where PreFilter skips.

    Each node is asked about along with the others and by itself, which must be the same.
    """
    state, incoming, nodes = CycleState(), info(pod), cluster.view()
    status = plugin.pre_filter(state, incoming, nodes)
    if status is not None:
        assert status == Status.skip(), status
        return {}
    found = plugin.filter(state, incoming, nodes)
    single = [plugin.filter(state, incoming, NodeView(cluster.snapshot, np.array([row]))) for row in nodes.indices()]
    assert [int(verdicts.codes[0]) for verdicts in single] == found.codes.tolist()
    return {name: found.table[code] for name, code in zip(nodes.names(), found.codes.tolist(), strict=True) if code}


def refused(cluster: Cluster, plugin: Judge, pod: PodDict) -> Status | None:
    """What PreFilter says."""
    return plugin.pre_filter(CycleState(), info(pod), cluster.view())


def raw_scores(
    cluster: Cluster, plugin: Judge, pod: PodDict, feasible: Iterable[str] | None = None
) -> dict[str, int] | None:
    """Scores of the feasible nodes before they are normalised; None where PreScore skips."""
    state, incoming, nodes = CycleState(), info(pod), cluster.view(feasible)
    if plugin.pre_score(state, incoming, nodes) == Status.skip():
        return None
    return dict(zip(nodes.names(), plugin.score(state, incoming, nodes).tolist(), strict=True))


def scores(
    cluster: Cluster, plugin: Judge, pod: PodDict, feasible: Iterable[str] | None = None
) -> dict[str, int] | None:
    """Normalised scores of the feasible nodes; None where PreScore skips."""
    state, incoming, nodes = CycleState(), info(pod), cluster.view(feasible)
    if plugin.pre_score(state, incoming, nodes) == Status.skip():
        return None
    found = plugin.normalize_score(state, incoming, plugin.score(state, incoming, nodes))
    return dict(zip(nodes.names(), found.tolist(), strict=True))
