"""ImageLocality: images that need not be pulled."""

import pytest

from muster.plugins.images.image_locality import ImageLocality, normalized_image_name
from tests.builders import PodDict, make_node, make_pod
from tests.plugins.cluster import Cluster

MIB = 1024 * 1024


@pytest.mark.parametrize(
    ("name", "normalized"),
    [
        ("nginx", "nginx:latest"),
        ("nginx:1.27", "nginx:1.27"),
        ("registry.example:5000/nginx", "registry.example:5000/nginx:latest"),
        ("registry.example:5000/nginx:1.27", "registry.example:5000/nginx:1.27"),
        ("nginx@sha256:0123", "nginx@sha256:0123"),
    ],
)
def test_a_name_without_tag_or_digest_means_latest(name: str, normalized: str) -> None:
    assert normalized_image_name(name) == normalized


def holding(size: int, *, others: int = 1) -> Cluster:
    """A node that has image `app:1`, and others that do not."""
    return Cluster(make_node("holder").image("app:1", size=size), *(make_node(f"n{index}") for index in range(others)))


def score(cluster: Cluster, pod: PodDict, node: str = "holder") -> int:
    return cluster.scores(cluster.plugin(ImageLocality), pod)[node]


@pytest.mark.parametrize(
    ("size", "expected"),
    [(0, 0), (23 * MIB, 0), (32 * MIB, 0), (33 * MIB, 1), (511 * MIB, 49), (1000 * MIB, 100), (5000 * MIB, 100)],
)
def test_the_score_rises_from_23_to_1000_mebibytes(size: int, expected: int) -> None:
    assert score(holding(size, others=0), make_pod("web", image="app:1")) == expected


def test_an_image_that_few_nodes_have_counts_for_less() -> None:
    pod = make_pod("web", image="app:1")
    assert score(holding(1000 * MIB, others=1), pod) == 48
    assert score(holding(1000 * MIB, others=3), pod) == 23


def test_nodes_without_the_image_score_nothing() -> None:
    assert score(holding(1000 * MIB), make_pod("web", image="app:1"), "n0") == 0
    assert score(holding(1000 * MIB), make_pod("web", image="other:1")) == 0


def test_the_bar_rises_with_every_container_and_init_container() -> None:
    cluster = holding(1000 * MIB, others=0)
    pod = make_pod("web", image="app:1").container("log", image="log:1").init_container("setup")
    assert score(cluster, pod) == 100 * (1000 - 23) // (3000 - 23)


def test_two_containers_of_one_image_count_it_twice() -> None:
    assert score(holding(500 * MIB, others=0), make_pod("web", image="app:1").container("b", image="app:1")) == 49


def test_an_image_volume_counts_as_an_image() -> None:
    pod = make_pod("web", image="tiny:1")
    pod["spec"]["volumes"] = [{"name": "data", "image": {"reference": "app:1"}}, {"name": "tmp", "emptyDir": {}}]
    assert score(holding(2000 * MIB, others=0), pod) == 100
    assert score(holding(1000 * MIB, others=0), pod) == 49


def test_scores_are_dated_when_images_or_nodes_come_and_go() -> None:
    cluster = holding(MIB)
    plugin = cluster.plugin(ImageLocality)
    first = plugin.score_epoch(cluster.snapshot)
    cluster.add(make_node("more"))
    second = plugin.score_epoch(cluster.snapshot)
    cluster.add(make_node("more").image("app:1", size=MIB))
    third = plugin.score_epoch(cluster.snapshot)
    cluster.add(make_node("more").image("app:1", size=MIB).labels(disk="ssd"))
    assert len({first, second, third}) == 3
    assert plugin.score_epoch(cluster.snapshot) == third
