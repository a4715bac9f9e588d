"""The resource plugins against the same arithmetic done one node at a time."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.framework.config.args import (
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    RequestedToCapacityRatioParam,
    ResourceSpec,
    ScoringStrategy,
    UtilizationShapePoint,
)
from muster.framework.contract import Code, CycleState
from muster.plugins.resources.balanced_allocation import NodeResourcesBalancedAllocation
from muster.plugins.resources.fit import NodeResourcesFit
from tests.builders import PodDict
from tests.plugins import oracle
from tests.plugins.cluster import Cluster, info
from tests.plugins.clusters import FPGA, GPU, clusters, pods

Weights = list[tuple[str, int]]

names = st.lists(st.sampled_from(("cpu", "memory", "ephemeral-storage", GPU, FPGA)), min_size=1, unique=True)
weighted = names.flatmap(
    lambda chosen: st.tuples(*(st.tuples(st.just(name), st.integers(1, 100)) for name in chosen)).map(list)
)
shapes = st.lists(
    st.tuples(st.integers(0, 100), st.integers(0, 10)), min_size=1, max_size=4, unique_by=lambda point: point[0]
).map(sorted)


def specs(resources: Weights) -> tuple[ResourceSpec, ...]:
    return tuple(ResourceSpec(name=name, weight=weight) for name, weight in resources)


def fit(cluster: Cluster, strategy: ScoringStrategy) -> NodeResourcesFit:
    return cluster.plugin(NodeResourcesFit, NodeResourcesFitArgs(scoring_strategy=strategy))


@given(cluster=clusters(), pod=pods("incoming"), ignored=st.lists(st.sampled_from((GPU, FPGA)), unique=True))
def test_the_filter_finds_every_shortage(cluster: Cluster, pod: PodDict, ignored: list[str]) -> None:
    plugin = cluster.plugin(NodeResourcesFit, NodeResourcesFitArgs(ignored_resources=tuple(ignored)))
    rejected = cluster.rejected(plugin, pod)
    for node in cluster.view():
        assert node.node is not None
        allowed = oracle.allowed_pods({key: str(value) for key, value in node.node.status.allocatable.items()})
        code, reasons = oracle.shortage(info(pod), node, allowed_pods=allowed, ignored=ignored)
        status = rejected.get(node.name)
        assert (status.code if status else Code.SUCCESS) is code
        assert set(status.reasons if status else ()) == reasons


@pytest.mark.parametrize(
    ("kind", "expected"), [("LeastAllocated", oracle.least_allocated), ("MostAllocated", oracle.most_allocated)]
)
@given(cluster=clusters(), pod=pods("incoming"), resources=weighted)
def test_allocation_scores_are_exact(
    kind: str,
    expected: Callable[[Sequence[oracle.Amounts], Sequence[int]], int],
    cluster: Cluster,
    pod: PodDict,
    resources: Weights,
) -> None:
    plugin = fit(cluster, ScoringStrategy(type=kind, resources=specs(resources)))
    weights = [weight for _, weight in resources]
    scores = cluster.scores(plugin, pod)
    for node in cluster.view():
        amounts = oracle.scored(info(pod), node, [name for name, _ in resources], defaulted=True)
        assert scores[node.name] == expected(amounts, weights)


@given(cluster=clusters(), pod=pods("incoming"), resources=weighted, shape=shapes)
def test_ratio_scores_are_exact(
    cluster: Cluster, pod: PodDict, resources: Weights, shape: Sequence[tuple[int, int]]
) -> None:
    points = tuple(UtilizationShapePoint(utilization=utilization, score=score) for utilization, score in shape)
    plugin = fit(
        cluster,
        ScoringStrategy(
            type="RequestedToCapacityRatio",
            resources=specs(resources),
            requested_to_capacity_ratio=RequestedToCapacityRatioParam(shape=points),
        ),
    )
    scores = cluster.scores(plugin, pod)
    for node in cluster.view():
        amounts = oracle.scored(info(pod), node, [name for name, _ in resources], defaulted=True)
        assert scores[node.name] == oracle.requested_to_capacity(amounts, [weight for _, weight in resources], shape)


@given(cluster=clusters(), pod=pods("incoming"), resources=names)
def test_balance_scores_are_exact(cluster: Cluster, pod: PodDict, resources: list[str]) -> None:
    args = NodeResourcesBalancedAllocationArgs(resources=specs([(name, 1) for name in resources]))
    plugin = cluster.plugin(NodeResourcesBalancedAllocation, args)
    asks = any(info(pod).signature.requests.get(name, 0) for name in resources)
    assert (plugin.pre_score(CycleState(), info(pod), cluster.view()) is None) is asks
    scores = cluster.scores(plugin, pod)
    for node in cluster.view():
        amounts = oracle.scored(info(pod), node, resources, defaulted=False)
        assert scores[node.name] == (oracle.balanced(amounts) if asks else 0)
