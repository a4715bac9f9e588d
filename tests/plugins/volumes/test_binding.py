"""VolumeBinding's choice of nodes: where the pod's volumes can be used, are, or can be made."""

from collections.abc import Mapping, Sequence

import pytest

from muster.framework.contract import CycleState, Status
from muster.framework.metrics import SchedulerMetrics
from muster.operator.metrics import blocks, registry_of
from muster.plugins.volumes.binding import UNBOUND, VolumeBinding
from muster.plugins.volumes.finding import BIND_CONFLICT, NODE_CONFLICT, NOT_ENOUGH_SPACE, VOLUME_MISSING
from tests.builders import NodeDict, ObjectDict, PodDict, make_node, make_pod, require
from tests.plugins.cluster import Cluster, info
from tests.serving.scraping import scrape
from tests.storage import (
    ZONE,
    make_capacity,
    make_claim,
    make_class,
    make_csi_driver,
    make_csi_node,
    make_volume,
)

LATE, LOCAL = make_class("late"), make_class("local", provisioner="kubernetes.io/no-provisioner")
DRIVER = "csi.example.com"


def pod_with(*claims: str) -> PodDict:
    pod = make_pod("web")
    for claim in claims:
        pod.claim(claim)
    return pod


def nodes(*names: str) -> Sequence[NodeDict]:
    return [make_node(name).zone(f"zone-{name}") for name in names]


def reasons(cluster: Cluster, pod: PodDict) -> Mapping[str, list[str]]:
    """What is in the way on each node."""
    found = cluster.rejected(cluster.plugin(VolumeBinding), pod)
    assert all(status == Status.unresolvable(*status.reasons) for status in found.values())
    return {name: list(status.reasons) for name, status in found.items()}


assert Status.unresolvable("pod has unbound immediate PersistentVolumeClaims") == UNBOUND
EPHEMERAL = make_pod("web").volume("x", ephemeral={})


@pytest.mark.parametrize(
    ("pod", "objects", "answer"),
    [
        (make_pod("web"), [], Status.skip()),
        (make_pod("web").volume("v", csi={"driver": DRIVER}), [], Status.skip()),
        (pod_with("data"), [], Status.unresolvable('persistentvolumeclaim "data" not found')),
        (
            EPHEMERAL,
            [],
            Status.unresolvable('waiting for ephemeral volume controller to create the persistentvolumeclaim "web-x"'),
        ),
        (
            EPHEMERAL,
            [make_claim("web-x").owned_by(make_pod("other"))],
            Status.unresolvable("PVC default/web-x was not created for pod default/web (pod is not owner)"),
        ),
        (EPHEMERAL, [make_claim("web-x", volume="v").owned_by(make_pod("web"))], None),
        (
            pod_with("data"),
            [make_claim("data", volume="v").phase("Lost")],
            Status.unresolvable('persistentvolumeclaim "data" bound to non-existent persistentvolume "v"'),
        ),
        (
            pod_with("data"),
            [make_claim("data", volume="v").deleted()],
            Status.unresolvable('persistentvolumeclaim "data" is being deleted'),
        ),
        *(
            (
                pod_with("data"),
                [claim, *classes],
                Status.unresolvable("pod has unbound immediate PersistentVolumeClaims"),
            )
            for claim, classes in (
                (make_claim("data"), []),
                (make_claim("data", storage_class="gone"), []),
                (make_claim("data", storage_class="now"), [make_class("now", waits=False)]),
                (make_claim("data", storage_class="late", volumeName="kept"), [LATE]),
            )
        ),
        (
            pod_with("data"),
            [make_claim("data", storage_class="odd"), ObjectDict(make_class("odd"), volumeBindingMode=None)],
            Status.failure('VolumeBindingMode not set for StorageClass "odd"'),
        ),
        (pod_with("data"), [make_claim("data", storage_class="late"), LATE], None),
    ],
)
def test_claims_are_checked_before_nodes(pod: PodDict, objects: Sequence[ObjectDict], answer: Status | None) -> None:
    cluster = Cluster(make_node("one"))
    cluster.keep(*objects)
    plugin = cluster.plugin(VolumeBinding)
    assert plugin.pre_filter(CycleState(), info(pod), cluster.view()) == answer


@pytest.mark.parametrize(
    ("terms", "passing"),
    [
        ([], ["a", "b", "c"]),
        ([[require(ZONE, "In", "zone-a", "zone-b")]], ["a", "b"]),
        ([[require(ZONE, "NotIn", "zone-a")]], ["b", "c"]),
        ([[require(ZONE, "In", "zone-a")], [require(ZONE, "In", "zone-c")]], ["a", "c"]),
        ([[require(ZONE, "Exists"), require("disk", "Exists")]], []),
        ([[require(ZONE, "Odd")], [require(ZONE, "In", "zone-b")]], ["b"]),
    ],
)
def test_bound_volumes_have_to_be_usable(terms: Sequence[Sequence[dict[str, object]]], passing: list[str]) -> None:
    cluster, volume = Cluster(*nodes("a", "b", "c")), make_volume("v")
    for term in terms:
        volume.at(*term)
    cluster.keep(make_claim("data", volume="v"), volume)
    assert reasons(cluster, pod_with("data")) == {
        name: [NODE_CONFLICT] for name in ("a", "b", "c") if name not in passing
    }


def test_a_volume_asks_for_well_formed_fields_but_goes_by_labels_alone() -> None:
    cluster, volume = Cluster(*nodes("a", "b")), make_volume("v").at(require(ZONE, "In", "zone-a"))
    term = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"][0]
    term["matchFields"] = [require("metadata.name", "In", "elsewhere")]
    cluster.keep(make_claim("data", volume="v"), volume)
    assert reasons(cluster, pod_with("data")) == {"b": [NODE_CONFLICT]}
    term["matchFields"] = [require("metadata.name", "Odd")]
    cluster.keep(volume)
    assert reasons(cluster, pod_with("data")) == {"a": [NODE_CONFLICT], "b": [NODE_CONFLICT]}


def test_of_several_bound_volumes_the_first_conflict_is_reported() -> None:
    cluster = Cluster(*nodes("a", "b"))
    cluster.keep(make_claim("zonal", volume="v"), make_volume("v").at(require(ZONE, "In", "zone-a")))
    cluster.keep(make_claim("lost", volume="gone"))
    assert reasons(cluster, pod_with("zonal", "lost")) == {"a": [VOLUME_MISSING], "b": [NODE_CONFLICT]}
    assert reasons(cluster, pod_with("lost", "zonal")) == {"a": [VOLUME_MISSING], "b": [VOLUME_MISSING]}


def test_in_tree_volumes_are_used_where_their_driver_says_on_nodes_that_it_took_over() -> None:
    key = "topology.ebs.csi.aws.com/zone"
    cluster = Cluster(
        make_node("known by labels").zone("a"),
        make_node("driver elsewhere").zone("a").labels({key: "b"}),
        make_node("driver here").zone("b").labels({key: "a"}),
    )
    for name in ("driver elsewhere", "driver here"):
        cluster.keep(make_csi_node(name, migrated=["kubernetes.io/gce-pd", "kubernetes.io/aws-ebs"]))
    cluster.keep(make_csi_node("known by labels", migrated=["kubernetes.io/gce-pd"]))
    disk = {"awsElasticBlockStore": {"volumeID": "vol-1"}}
    cluster.keep(make_claim("data", volume="v"), make_volume("v", source=disk).at(require(ZONE, "In", "a")))
    assert reasons(cluster, pod_with("data")) == {"driver elsewhere": [NODE_CONFLICT]}

    cluster.keep(make_volume("v", source={"awsElasticBlockStore": {"volumeID": "aws://a/odd"}}))
    text = "could not translate pv: failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume"
    odd = Status.failure(f"{text} (aws://a/odd)")
    metrics = SchedulerMetrics()
    found = cluster.rejected(cluster.plugin(VolumeBinding, metrics=metrics), pod_with("data"))
    assert found == {"driver elsewhere": odd, "driver here": odd}
    counted = scrape(blocks(registry_of(metrics)))
    assert counted.value("scheduler_volume_scheduling_stage_error_total", operation="predicate") == 2


CLAIM = make_claim("data", storage_class="local", size="5Gi")


@pytest.mark.parametrize(
    ("volume", "fits"),
    [
        (make_volume("v", storage_class="local", size="5Gi"), True),
        (make_volume("v", storage_class="local", size="4Gi"), False),
        (make_volume("v", storage_class="other"), False),
        (make_volume("v", storage_class="local", modes=["ReadOnlyMany"]), False),
        (make_volume("v", storage_class="local", modes=["ReadOnlyMany", "ReadWriteOnce"]), True),
        (make_volume("v", storage_class="local", volumeMode="Block"), False),
        (make_volume("v", storage_class="local", volumeMode="Filesystem"), True),
        (make_volume("v", storage_class="local", volumeAttributesClassName="gold"), False),
        (make_volume("v", storage_class="local").phase("Released"), False),
        (make_volume("v", storage_class="local").deleted(), False),
        (make_volume("v", storage_class="local").on("b"), False),
        (make_volume("v", storage_class="local").on("a"), True),
        (make_volume("v").annotations({"volume.beta.kubernetes.io/storage-class": "local"}), True),
        (make_volume("v", storage_class="local").kept_for(make_claim("other")), False),
        (make_volume("v", storage_class="local").kept_for(make_claim("data", namespace="other")), False),
        (make_volume("v", storage_class="local").kept_for(CLAIM), True),
        (make_volume("v", storage_class="local").kept_for(CLAIM, uid=False), True),
        (make_volume("v", storage_class="local", modes=["ReadOnlyMany"]).kept_for(CLAIM).phase("Bound"), True),
        (make_volume("v", storage_class="local", size="4Gi").kept_for(CLAIM), False),
        (make_volume("v", storage_class="local").kept_for(CLAIM).deleted(), False),
        (make_volume("v", storage_class="other").kept_for(CLAIM), False),
    ],
)
def test_a_claim_finds_a_volume_that_is_there(volume: ObjectDict, fits: bool) -> None:
    cluster = Cluster(*nodes("a"))
    cluster.keep(LOCAL, CLAIM, volume)
    assert reasons(cluster, pod_with("data")) == ({} if fits else {"a": [BIND_CONFLICT]})


def test_a_claim_may_choose_volumes_by_their_labels() -> None:
    cluster = Cluster(*nodes("a", "b", "c"))
    chooses = {"matchLabels": {"disk": "ssd"}, "matchExpressions": [require("old", "DoesNotExist")]}
    cluster.keep(LOCAL, make_claim("data", storage_class="local", selector=chooses))
    cluster.keep(make_volume("a", storage_class="local").on("a").labels(disk="ssd"))
    cluster.keep(make_volume("b", storage_class="local").on("b").labels(disk="ssd", old="yes"))
    cluster.keep(make_volume("c", storage_class="local").on("c"))
    assert reasons(cluster, pod_with("data")) == {"b": [BIND_CONFLICT], "c": [BIND_CONFLICT]}


def test_a_volume_that_is_kept_for_the_claim_elsewhere_leaves_no_other() -> None:
    cluster = Cluster(*nodes("a", "b"))
    cluster.keep(LOCAL, CLAIM, make_volume("free", storage_class="local"))
    cluster.keep(make_volume("kept", storage_class="local").on("b").kept_for(CLAIM))
    assert reasons(cluster, pod_with("data")) == {"a": [BIND_CONFLICT]}


def test_claims_of_one_pod_need_a_volume_each_and_the_smaller_claim_chooses_first() -> None:
    cluster = Cluster(*nodes("a", "b", "c"))
    cluster.keep(LOCAL, *(make_claim(size, storage_class="local", size=size) for size in ("9Gi", "2Gi")))
    for node, sizes in {"a": ("3Gi", "9Gi"), "b": ("9Gi",), "c": ("9Gi", "9Gi")}.items():
        for number, size in enumerate(sizes):
            cluster.keep(make_volume(f"{node}-{number}", storage_class="local", size=size).on(node))
    assert reasons(cluster, pod_with("9Gi", "2Gi")) == {"b": [BIND_CONFLICT]}


@pytest.mark.parametrize(
    ("storage_class", "passing"),
    [
        (LATE, ["a", "b", "c"]),
        (make_class("late", provisioner="kubernetes.io/no-provisioner"), []),
        (make_class("late", provisioner=""), []),
        (make_class("late", topologies=[{ZONE: ["zone-a", "zone-b"]}]), ["a", "b"]),
        (make_class("late", topologies=[{ZONE: ["zone-a"]}, {ZONE: ["zone-c"]}]), ["a", "c"]),
        (make_class("late", topologies=[{ZONE: ["zone-a"], "disk": ["ssd"]}]), []),
        (make_class("late", topologies=[{}]), []),
    ],
)
def test_a_volume_can_be_made_where_the_class_allows_it(storage_class: ObjectDict, passing: list[str]) -> None:
    cluster = Cluster(*nodes("a", "b", "c"))
    cluster.keep(storage_class, make_claim("data", storage_class="late"))
    assert reasons(cluster, pod_with("data")) == {
        name: [BIND_CONFLICT] for name in ("a", "b", "c") if name not in passing
    }


def test_volumes_that_are_there_are_taken_before_others_are_made() -> None:
    cluster = Cluster(*nodes("a", "b"))
    cluster.keep(make_class("late", topologies=[{ZONE: ["zone-b"]}]), make_claim("data", storage_class="late"))
    cluster.keep(make_volume("here", storage_class="late").on("a"))
    assert reasons(cluster, pod_with("data")) == {}


CAPACITIES = {
    "enough": (make_capacity("c", "late", {ZONE: "zone-a"}, "5Gi"), True),
    "too little": (make_capacity("c", "late", {ZONE: "zone-a"}, "4Gi"), False),
    "for another class": (make_capacity("c", "other", {ZONE: "zone-a"}, "5Gi"), False),
    "for other nodes": (make_capacity("c", "late", {ZONE: "zone-b"}, "5Gi"), False),
    "for nobody": (make_capacity("c", "late", None, "5Gi"), False),
    "for all": (make_capacity("c", "late", {}, "5Gi"), True),
    "unknown": (make_capacity("c", "late", {ZONE: "zone-a"}), False),
    "enough, but not for one volume": (make_capacity("c", "late", {ZONE: "zone-a"}, "9Gi", maximum="4Gi"), False),
    "enough for one volume": (make_capacity("c", "late", {ZONE: "zone-a"}, "1Gi", maximum="5Gi"), True),
}


@pytest.mark.parametrize("what", CAPACITIES)
def test_a_driver_that_tracks_capacity_must_have_enough(what: str) -> None:
    capacity, enough = CAPACITIES[what]
    cluster = Cluster(*nodes("a"))
    cluster.keep(LATE, make_claim("data", storage_class="late", size="5Gi"), capacity)
    for tracks in (False, None, True):
        cluster.keep(make_csi_driver(DRIVER, storageCapacity=tracks))
        found = reasons(cluster, pod_with("data"))
        assert found == ({} if enough or not tracks else {"a": [NOT_ENOUGH_SPACE]})
    cluster.drop(make_csi_driver(DRIVER))
    assert reasons(cluster, pod_with("data")) == {}


def test_capacities_count_as_they_are_now() -> None:
    cluster = Cluster(*nodes("a", "b"))
    cluster.keep(LATE, make_claim("data", storage_class="late", size="5Gi"))
    cluster.keep(make_csi_driver(DRIVER, storageCapacity=True))
    steps = []
    for capacity in ("4Gi", "6Gi", "4Gi"):
        cluster.keep(make_capacity("c", "late", {ZONE: "zone-a"}, capacity))
        steps.append("a" not in reasons(cluster, pod_with("data")))
    cluster.keep(make_capacity("d", "late", {ZONE: "zone-a"}, "7Gi"))
    steps.append("a" not in reasons(cluster, pod_with("data")))
    cluster.drop(make_capacity("d", "late", {}))
    steps.append("a" not in reasons(cluster, pod_with("data")))
    assert steps == [False, True, False, True, False]


def test_a_claim_with_a_selected_node_fits_no_other_node_and_takes_no_existing_volume() -> None:
    cluster = Cluster(*nodes("a", "b"))
    cluster.keep(LATE, make_claim("data", storage_class="late").selected("b"))
    cluster.keep(make_volume("here", storage_class="late").on("a"))
    assert reasons(cluster, pod_with("data")) == {"a": [BIND_CONFLICT]}
    cluster.keep(make_claim("more", storage_class="late").selected("gone"))
    assert reasons(cluster, pod_with("data", "more")) == {"a": [BIND_CONFLICT], "b": [BIND_CONFLICT]}


def test_all_conflicts_are_reported_in_order_but_only_the_first_claim_to_be_provisioned() -> None:
    cluster = Cluster(*nodes("a", "b"))
    cluster.keep(make_claim("bound", volume="v"), make_volume("v").at(require(ZONE, "In", "zone-b")))
    cluster.keep(LOCAL, make_claim("small", storage_class="local", size="1Gi"))
    cluster.keep(LATE, make_claim("large", storage_class="late", size="2Gi"), make_claim("lost", volume="gone"))
    cluster.keep(make_csi_driver(DRIVER, storageCapacity=True))
    assert reasons(cluster, pod_with("bound", "small", "large")) == {
        "a": [NODE_CONFLICT, BIND_CONFLICT],
        "b": [BIND_CONFLICT],
    }
    assert reasons(cluster, pod_with("bound", "large")) == {
        "a": [NODE_CONFLICT, NOT_ENOUGH_SPACE],
        "b": [NOT_ENOUGH_SPACE],
    }
    assert reasons(cluster, pod_with("lost", "large")) == {name: [NOT_ENOUGH_SPACE, VOLUME_MISSING] for name in "ab"}
