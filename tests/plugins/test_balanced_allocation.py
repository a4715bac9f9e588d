"""NodeResourcesBalancedAllocation, with numbers that can be followed by hand."""

import pytest

from muster.framework.config.args import NodeResourcesBalancedAllocationArgs, ResourceSpec
from muster.framework.contract import CycleState, Status
from muster.plugins.resources.balanced_allocation import NodeResourcesBalancedAllocation
from tests.builders import PodDict, make_node, make_pod
from tests.plugins.cluster import Cluster, info

GPU = "example.com/gpu"


def score(cluster: Cluster, pod: PodDict, *resources: str) -> int:
    args = NodeResourcesBalancedAllocationArgs(resources=tuple(ResourceSpec(name=name) for name in resources))
    return cluster.scores(cluster.plugin(NodeResourcesBalancedAllocation, args), pod)["n"]


@pytest.fixture
def cluster() -> Cluster:
    """An empty node of 4 cores, 4Gi and 4 GPUs."""
    return Cluster(make_node("n", cpu="4", memory="4Gi").resources({GPU: "4"}))


def test_a_pod_that_keeps_the_balance_scores_75(cluster: Cluster) -> None:
    assert score(cluster, make_pod("web").requests(cpu="1", memory="1Gi")) == 75


def test_a_pod_that_spoils_the_balance_scores_less(cluster: Cluster) -> None:
    assert score(cluster, make_pod("web").requests(cpu="4")) == 50
    assert score(cluster, make_pod("web").requests(cpu="2", memory="1Gi")) == 50 + (50 + 87 - 100) // 2


def test_a_pod_that_restores_the_balance_scores_more(cluster: Cluster) -> None:
    cluster.place("n", make_pod("there").requests(cpu="4"))
    assert score(cluster, make_pod("web").requests(memory="4Gi")) == 100
    assert score(cluster, make_pod("web").requests(memory="2Gi")) == 50 + (50 + 75 - 50) // 2


def test_use_beyond_what_is_offered_counts_as_full(cluster: Cluster) -> None:
    cluster.place("n", make_pod("bound by hand").requests(cpu="40", memory="4Gi"))
    assert score(cluster, make_pod("web").requests(cpu="1")) == 75


def test_requests_are_taken_as_they_are_without_defaults(cluster: Cluster) -> None:
    cluster.place("n", *(make_pod(f"light-{index}") for index in range(20)))
    assert score(cluster, make_pod("web").requests(cpu="1", memory="1Gi")) == 75


def test_of_three_resources_the_standard_deviation_is_taken(cluster: Cluster) -> None:
    pod = make_pod("web").requests({"cpu": "4", GPU: "2"})
    deviation = ((0.25 + 0.0 + 0.25) / 3) ** 0.5
    assert score(cluster, pod, "cpu", "memory", GPU) == 50 + (50 + int((1 - deviation) * 100) - 100) // 2


def test_a_scalar_resource_that_is_not_asked_for_is_left_out(cluster: Cluster) -> None:
    cluster.place("n", make_pod("there").requests({GPU: "4"}))
    assert score(cluster, make_pod("web").requests(cpu="1", memory="1Gi"), "cpu", "memory", GPU) == 75


def test_with_fewer_than_two_resources_there_is_nothing_to_balance() -> None:
    cluster = Cluster(make_node("n", cpu="4", memory="0"))
    pod = make_pod("web").requests(cpu="4")
    assert score(cluster, pod) == 75
    assert score(cluster, pod, "cpu") == 75
    assert score(cluster, pod, "cpu", "memory", GPU) == 75


def test_of_three_resources_two_may_be_left_to_balance() -> None:
    cluster = Cluster(make_node("n", cpu="4", memory="0", pods="9").resources({"ephemeral-storage": "8"}))
    pod = make_pod("web").requests({"cpu": "4", "ephemeral-storage": "2"})
    assert score(cluster, pod, "cpu", "memory", "ephemeral-storage") == 50 + (50 + 62 - 100) // 2


def test_scoring_is_left_out_for_a_pod_that_asks_for_none_of_the_resources(cluster: Cluster) -> None:
    plugin = cluster.plugin(NodeResourcesBalancedAllocation)
    assert plugin.pre_score(CycleState(), info(make_pod("web").requests({GPU: "1"})), cluster.view()) == Status.skip()
    assert plugin.pre_score(CycleState(), info(make_pod("web").requests(memory="1")), cluster.view()) is None


def test_without_pre_score_such_a_pod_scores_nothing(cluster: Cluster) -> None:
    assert score(cluster, make_pod("web").requests({GPU: "1"}), "cpu", "memory") == 0
