"""The scoring strategies of NodeResourcesFit, with numbers that can be followed by hand."""

import pytest

from muster.framework.config.args import (
    NodeResourcesFitArgs,
    RequestedToCapacityRatioParam,
    ResourceSpec,
    ScoringStrategy,
    UtilizationShapePoint,
)
from muster.plugins.resources.fit import NodeResourcesFit
from tests.builders import make_node, make_pod
from tests.plugins.cluster import Cluster

GPU = "example.com/gpu"
POD = make_pod("web").requests(cpu="1", memory="1Gi")


@pytest.fixture
def cluster() -> Cluster:
    """An empty node, a half full one, and one with a GPU."""
    cluster = Cluster(
        make_node("empty", cpu="4", memory="8Gi"),
        make_node("half", cpu="4", memory="8Gi"),
        make_node("gpu", cpu="4", memory="8Gi").resources({GPU: "4"}),
    )
    cluster.place("half", make_pod("there").requests(cpu="2", memory="4Gi"))
    return cluster


def strategy(kind: str, *shape: tuple[int, int], **weights: int) -> NodeResourcesFitArgs:
    """Arguments for a strategy; resources are those weighted, cpu and memory by default."""
    ratio = RequestedToCapacityRatioParam(
        shape=tuple(UtilizationShapePoint(utilization=utilization, score=score) for utilization, score in shape)
    )
    resources = tuple(
        ResourceSpec(name=GPU if name == "gpu" else name, weight=weight) for name, weight in weights.items()
    )
    return NodeResourcesFitArgs(
        scoring_strategy=ScoringStrategy(
            type=kind,
            resources=resources or ScoringStrategy().resources,
            requested_to_capacity_ratio=ratio if shape else None,
        )
    )


def scores(cluster: Cluster, args: NodeResourcesFitArgs | None = None) -> dict[str, int]:
    return cluster.scores(cluster.plugin(NodeResourcesFit, args), POD)


def test_emptier_nodes_are_better_by_default(cluster: Cluster) -> None:
    assert scores(cluster) == {"empty": (75 + 87) // 2, "half": (25 + 37) // 2, "gpu": 81}


def test_fuller_nodes_are_better_with_most_allocated(cluster: Cluster) -> None:
    assert scores(cluster, strategy("MostAllocated")) == {"empty": (25 + 12) // 2, "half": (75 + 62) // 2, "gpu": 18}


def test_weights_count(cluster: Cluster) -> None:
    assert scores(cluster, strategy("LeastAllocated", cpu=3, memory=1))["half"] == (3 * 25 + 37) // 4


def test_a_scalar_resource_counts_only_for_pods_that_ask_for_it(cluster: Cluster) -> None:
    plugin = cluster.plugin(NodeResourcesFit, strategy("LeastAllocated", gpu=2, cpu=1))
    assert cluster.scores(plugin, POD)["gpu"] == 75
    greedy = make_pod("greedy").requests({"cpu": "1", GPU: "3"})
    assert cluster.scores(plugin, greedy) == {"empty": 75, "half": 25, "gpu": (75 + 2 * 25) // 3}


def test_only_a_scalar_resource_can_leave_nothing_to_score_by(cluster: Cluster) -> None:
    assert set(scores(cluster, strategy("LeastAllocated", gpu=2)).values()) == {0}


def test_a_container_without_requests_counts_as_asking_for_a_little(cluster: Cluster) -> None:
    plugin = cluster.plugin(NodeResourcesFit)
    before = cluster.scores(plugin, make_pod("light"))
    assert before["empty"] == ((4000 - 100) * 100 // 4000 + (8192 - 200) * 100 // 8192) // 2
    for index in range(10):
        cluster.place("empty", make_pod(f"light-{index}"))
    after = cluster.scores(plugin, make_pod("light"))
    assert after["empty"] == ((4000 - 1100) * 100 // 4000 + (8192 - 2200) * 100 // 8192) // 2


def test_a_node_that_is_more_than_full_scores_nothing_or_everything(cluster: Cluster) -> None:
    cluster.place("half", make_pod("bound by hand").requests(cpu="9", memory="90Gi"))
    assert scores(cluster, strategy("LeastAllocated"))["half"] == 0
    assert scores(cluster, strategy("MostAllocated"))["half"] == 100


def test_amounts_near_the_end_of_int64_overflow_as_they_do_in_kube_scheduler() -> None:
    cluster = Cluster(make_node("n", cpu="9223372036854775807m", memory="10Ei"))
    assert cluster.scores(cluster.plugin(NodeResourcesFit), make_pod("light"))["n"] == 0


def test_a_resource_that_the_node_does_not_offer_is_left_out() -> None:
    cluster = Cluster(make_node("n", cpu="4", memory="0"), make_node("nothing", cpu="0", memory="0"))
    assert scores(cluster) == {"n": 75, "nothing": 0}


def test_the_ratio_follows_a_rising_line(cluster: Cluster) -> None:
    args = strategy("RequestedToCapacityRatio", (0, 0), (100, 10))
    assert scores(cluster, args) == {"empty": 19, "half": 69, "gpu": 19}


def test_a_falling_line_truncates_towards_zero(cluster: Cluster) -> None:
    args = strategy("RequestedToCapacityRatio", (0, 10), (70, 1), cpu=1)
    assert scores(cluster, args)["empty"] == 100 - 90 * 25 // 70


def test_beyond_the_ends_of_the_line_the_score_stays(cluster: Cluster) -> None:
    args = strategy("RequestedToCapacityRatio", (30, 2), (60, 8), cpu=1)
    assert scores(cluster, args) == {"empty": 20, "half": 80, "gpu": 20}


def test_resources_that_score_nothing_do_not_count_in_the_ratio(cluster: Cluster) -> None:
    args = strategy("RequestedToCapacityRatio", (20, 0), (40, 10))
    assert scores(cluster, args)["empty"] == 25
    assert scores(cluster, strategy("RequestedToCapacityRatio", (90, 0), (100, 10))) == dict.fromkeys(
        ("empty", "half", "gpu"), 0
    )


def test_the_mean_of_the_ratio_is_rounded_half_up(cluster: Cluster) -> None:
    args = strategy("RequestedToCapacityRatio", (0, 1), (100, 2), cpu=1, memory=1)
    assert scores(cluster, args)["empty"] == round((12 + 11) / 2 + 0.01)
