"""Every plugin says the same of a node, whether it is asked about that node, about some or about all."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.framework.config.args import NodeResourcesFitArgs
from muster.framework.config.args.resources import LEAST_ALLOCATED, MOST_ALLOCATED
from muster.framework.contract import (
    CycleState,
    FilterPlugin,
    Plugin,
    PreemptionPlugin,
    PreFilterPlugin,
    ScorePlugin,
    Status,
)
from muster.framework.model.pod_info import PodInfo
from muster.framework.snapshot.view import NodeView
from muster.plugins.catalog import IN_TREE
from muster.plugins.resources.balanced_allocation import NodeResourcesBalancedAllocation
from muster.plugins.resources.fit import NodeResourcesFit
from tests.builders import PodDict, make_node, make_pod
from tests.plugins.cluster import Cluster, info
from tests.plugins.clusters import clusters, pods

FILTERS = [
    plugin
    for plugin in IN_TREE.values()
    # Reservation asks other plugins, which a cluster does not have; tests/reservation has its verdicts.
    if issubclass(plugin, FilterPlugin) and not issubclass(plugin, PreemptionPlugin)
]
SCORES = [plugin for plugin in IN_TREE.values() if issubclass(plugin, ScorePlugin)]


def views(cluster: Cluster) -> st.SearchStrategy[list[int]]:
    """Some of the cluster's rows, in any order."""
    return st.lists(st.sampled_from(cluster.snapshot.live_rows().tolist()), unique=True)


def after_pre_filter(plugin: Plugin, pod: PodInfo, nodes: NodeView) -> CycleState | None:
    """The state in which the plugin is asked about nodes; None when PreFilter leaves that out."""
    state = CycleState()
    answer = plugin.pre_filter(state, pod, nodes) if isinstance(plugin, PreFilterPlugin) else None
    return None if isinstance(answer, Status) else state


def verdicts(plugin: FilterPlugin, pod: PodInfo, nodes: NodeView) -> list[Status | None]:
    state = after_pre_filter(plugin, pod, nodes)
    if state is None:
        return [None] * len(nodes)
    found = plugin.filter(state, pod, nodes)
    assert found.codes.dtype == np.int32
    assert found.codes.shape == (len(nodes),)
    return [found.table[code] if code else None for code in found.codes.tolist()]


def scores(plugin: ScorePlugin, pod: PodInfo, nodes: NodeView) -> list[int]:
    state = after_pre_filter(plugin, pod, nodes)
    if state is None:
        return [0] * len(nodes)
    found = plugin.score(state, pod, nodes)
    assert found.dtype == np.int64
    assert found.shape == (len(nodes),)
    return [int(score) for score in found]


@pytest.mark.parametrize("kind", FILTERS, ids=lambda plugin: plugin.name)
@settings(max_examples=40)
@given(cluster=clusters(), pod=pods("incoming"), data=st.data())
def test_verdicts_do_not_depend_on_who_else_is_asked_about(
    kind: type[Plugin], cluster: Cluster, pod: PodDict, data: st.DataObject
) -> None:
    plugin, incoming, snapshot = cluster.plugin(kind), info(pod), cluster.snapshot
    assert isinstance(plugin, FilterPlugin)
    everywhere = verdicts(plugin, incoming, NodeView(snapshot, None))
    some = data.draw(views(cluster))
    assert verdicts(plugin, incoming, NodeView(snapshot, np.array(some, np.intp))) == [everywhere[row] for row in some]
    for row in some:
        assert verdicts(plugin, incoming, NodeView(snapshot, np.array([row]))) == [everywhere[row]]


@pytest.mark.parametrize("kind", SCORES, ids=lambda plugin: plugin.name)
@settings(max_examples=40)
@given(cluster=clusters(), pod=pods("incoming"), data=st.data())
def test_scores_do_not_depend_on_who_else_is_asked_about(
    kind: type[Plugin], cluster: Cluster, pod: PodDict, data: st.DataObject
) -> None:
    plugin, incoming, snapshot = cluster.plugin(kind), info(pod), cluster.snapshot
    assert isinstance(plugin, ScorePlugin)
    everywhere = scores(plugin, incoming, NodeView(snapshot, None))
    some = data.draw(views(cluster))
    assert scores(plugin, incoming, NodeView(snapshot, np.array(some, np.intp))) == [everywhere[row] for row in some]
    for row in some:
        assert scores(plugin, incoming, NodeView(snapshot, np.array([row]))) == [everywhere[row]]


AMOUNTS = st.sampled_from(("0", "1m", "999m", "3", "1Ki", "500Mi", "100Gi", "92233720368547758", "9223372036854775807"))


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(AMOUNTS, AMOUNTS), min_size=2, max_size=4),
    st.lists(st.tuples(AMOUNTS, AMOUNTS), max_size=4),
    st.tuples(AMOUNTS, AMOUNTS),
    st.sampled_from((LEAST_ALLOCATED, MOST_ALLOCATED)),
)
def test_amounts_of_any_size_count_on_one_node_as_on_many(
    offers: list[tuple[str, str]], running: list[tuple[str, str]], asked: tuple[str, str], strategy: str
) -> None:
    with np.errstate(all="ignore"):  # what overflows does as in kube-scheduler
        cluster = Cluster(*(make_node(f"n{at}", cpu=cpu, memory=size) for at, (cpu, size) in enumerate(offers)))
        for at, (cpu, size) in enumerate(running):
            cluster.place(f"n{at % 2}", make_pod(f"p{at}").requests(cpu=cpu, memory=size))
        pod = info(make_pod("asked").requests(cpu=asked[0], memory=asked[1]))
        args = NodeResourcesFitArgs.model_validate({"scoringStrategy": {"type": strategy}})
        fit, balanced = cluster.plugin(NodeResourcesFit, args), cluster.plugin(NodeResourcesBalancedAllocation)
        single = [NodeView(cluster.snapshot, np.array([row])) for row in cluster.snapshot.live_rows().tolist()]
        assert [verdicts(fit, pod, view)[0] for view in single] == verdicts(fit, pod, cluster.view())
        for plugin in (fit, balanced):
            assert [scores(plugin, pod, view)[0] for view in single] == scores(plugin, pod, cluster.view())
