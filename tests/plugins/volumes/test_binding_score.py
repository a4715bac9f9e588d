"""VolumeBinding's scores: how much of a node's storage the pod's claims would use."""

from collections.abc import Mapping, Sequence

import pytest

from muster.framework.config.args import UtilizationShapePoint, VolumeBindingArgs
from muster.framework.contract import Status
from muster.plugins.volumes.binding import VolumeBinding
from tests.builders import ObjectDict, make_node, make_pod
from tests.plugins.cluster import Cluster, info
from tests.storage import HOSTNAME, make_capacity, make_claim, make_class, make_csi_driver, make_volume

MORE_USED_IS_BETTER = VolumeBindingArgs(
    shape=(UtilizationShapePoint(utilization=0, score=0), UtilizationShapePoint(utilization=100, score=10))
)
DEFAULT = VolumeBindingArgs()


def scores(objects: Sequence[ObjectDict], *claims: str, args: VolumeBindingArgs = DEFAULT) -> Mapping[str, int]:
    """Of those of the nodes a, b and c that pass, as asked right after filtering and by itself."""
    cluster, pod = Cluster(*(make_node(name) for name in "abc")), make_pod("web")
    cluster.keep(*objects)
    for claim in claims:
        pod.claim(claim)
    plugin, nodes, incoming = cluster.plugin(VolumeBinding, args), cluster.view(), info(pod)
    state, _ = cluster.prefiltered(plugin, pod, nodes)
    codes = plugin.filter(state, incoming, nodes).codes.tolist()
    passing = cluster.view([name for name, code in zip(nodes.names(), codes, strict=True) if not code])
    found = plugin.score(state, incoming, passing).tolist()
    fresh, _ = cluster.prefiltered(plugin, pod, nodes)
    assert plugin.score(fresh, incoming, passing).tolist() == found
    return dict(zip(passing.names(), found, strict=True))


def local(node: str, size: str, name: str = "") -> ObjectDict:
    return make_volume(name or f"{node}-{size}", storage_class="local", size=size).on(node)


LOCAL = make_class("local", provisioner="kubernetes.io/no-provisioner")
LATE = [make_class("late"), make_csi_driver("csi.example.com", storageCapacity=True)]


@pytest.mark.parametrize(
    ("args", "expected"),
    [(DEFAULT, {"a": 50, "b": 90, "c": 0}), (MORE_USED_IS_BETTER, {"a": 50, "b": 10, "c": 100})],
)
def test_volumes_that_are_there_score_by_how_much_of_them_is_asked_for(
    args: VolumeBindingArgs, expected: Mapping[str, int]
) -> None:
    objects = [LOCAL, make_claim("data", storage_class="local", size="5Gi")]
    volumes = [local("a", "10Gi"), local("a", "70Gi"), local("b", "50Gi"), local("c", "5Gi")]
    assert scores([*objects, *volumes], "data", args=args) == expected


def test_claims_of_a_class_are_added_up_and_classes_count_alike() -> None:
    other = make_class("other", provisioner="kubernetes.io/no-provisioner")
    claims = [make_claim(name, storage_class="local", size="5Gi") for name in ("first", "second")]
    sizes = {"a-1": "10Gi", "a-2": "15Gi", "b-1": "5Gi", "b-2": "5Gi"}
    volumes = [local(name[0], size, name) for name, size in sizes.items()]
    objects = [LOCAL, other, *claims, make_claim("third", storage_class="other", size="1Gi"), *volumes]
    objects += [make_volume(f"other-{node}", storage_class="other", size="8Gi").on(node) for node in "ab"]
    # On a 10 of 25 Gi and 1 of 8 Gi are asked for, on b 10 of 10 and 1 of 8.
    assert scores(objects, "first", "second") == {"a": 60, "b": 0}
    assert scores(objects, "first", "second", "third") == {"a": 74, "b": 44}


def capacities(storage_class: str, **sizes: str) -> list[ObjectDict]:
    """What is left of a class on each node."""
    return [
        make_capacity(f"{storage_class}-{node}", storage_class, {HOSTNAME: node}, size) for node, size in sizes.items()
    ]


def test_volumes_to_be_made_score_by_the_capacity_that_they_come_from() -> None:
    claims = [make_claim(name, storage_class="late", size=size) for name, size in (("data", "5Gi"), ("more", "4Gi"))]
    objects = [*LATE, *capacities("late", a="10Gi", b="100Gi"), *claims]
    assert scores(objects, "data") == {"a": 50, "b": 95}
    assert scores(objects, "data", "more") == {"a": 10, "b": 91}


def test_untracked_capacity_does_not_count() -> None:
    assert scores([make_class("late"), make_claim("data", storage_class="late")], "data") == dict.fromkeys("abc", 0)


def test_on_nodes_with_an_existing_volume_volumes_to_be_created_do_not_count() -> None:
    claims = [make_claim("any", storage_class="any", size="2Gi"), make_claim("made", storage_class="late", size="8Gi")]
    left = [*capacities("any", b="10Gi"), *capacities("late", a="10Gi", b="10Gi")]
    there = make_volume("there", storage_class="any", size="10Gi").on("a")
    assert scores([*LATE, make_class("any"), *left, *claims, there], "any", "made") == {"a": 80, "b": 50}


def test_pods_without_a_choice_of_storage_are_not_scored() -> None:
    cluster = Cluster(make_node("a"))
    cluster.keep(make_claim("bound", volume="v"), make_volume("v"))
    plugin = cluster.plugin(VolumeBinding)
    for pod in (make_pod("web"), make_pod("web").claim("bound")):
        state, _ = cluster.prefiltered(plugin, pod, cluster.view())
        assert plugin.pre_score(state, info(pod), cluster.view()) == Status.skip()
