"""NodeVolumeLimits: how many volumes of each driver a node can have, and whether it has the driver at all."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from muster.framework.contract import Action, Code, CycleState, EventResource, Status
from muster.plugins.volumes.limits import TOO_MANY, NodeVolumeLimits
from tests.builders import ObjectDict, PodDict, make_node, make_pod
from tests.plugins.cluster import Cluster, info
from tests.plugins.volumes.hints import Asked
from tests.storage import (
    make_attachment,
    make_claim,
    make_class,
    make_csi_driver,
    make_csi_node,
    make_volume,
)

DRIVER, EBS = "csi.example.com", "ebs.csi.aws.com"
OTHER = {"csi": {"driver": "other.example.com", "volumeHandle": "h"}}


def bound(*names: str) -> list[ObjectDict]:
    """Claims with volumes of their own."""
    return [each for name in names for each in (make_claim(name, volume=f"of-{name}"), make_volume(f"of-{name}"))]


def pod_with(name: str, *claims: str) -> PodDict:
    pod = make_pod(name)
    for claim in claims:
        pod.claim(claim)
    return pod


@pytest.mark.parametrize(
    ("limit", "there", "wanted", "fits"),
    [
        (2, ["a"], ["b"], True),
        (1, ["a"], ["b"], False),
        (2, ["a"], ["b", "c"], False),
        (1, ["a"], ["a"], True),
        (2, ["a"], ["a", "b"], True),
        (0, [], ["a"], False),
        (None, ["a", "b"], ["c"], True),
    ],
)
def test_volumes_are_counted_once_however_many_pods_use_them(
    limit: int | None, there: Sequence[str], wanted: Sequence[str], fits: bool
) -> None:
    cluster = Cluster(make_node("one"), make_node("without CSINode"))
    cluster.keep(*bound("a", "b", "c"), make_csi_node("one", {DRIVER: limit}))
    cluster.place("one", *(pod_with(f"p-{claim}", claim) for claim in there))
    found = cluster.rejected(cluster.plugin(NodeVolumeLimits), pod_with("web", *wanted))
    assert found == ({} if fits else {"one": TOO_MANY})


def test_each_driver_has_its_own_limit() -> None:
    cluster = Cluster(make_node("one"))
    other = make_volume("of-other", source=OTHER)
    cluster.keep(*bound("a", "b"), make_claim("other", volume="of-other"), other)
    cluster.keep(make_csi_node("one", {DRIVER: 1, "other.example.com": 1}))
    cluster.place("one", pod_with("there", "a"))
    plugin = cluster.plugin(NodeVolumeLimits)
    assert cluster.rejected(plugin, pod_with("web", "other")) == {}
    assert cluster.rejected(plugin, pod_with("web", "other", "b")) == {"one": TOO_MANY}


def test_volumes_to_be_made_count_for_the_driver_of_their_class() -> None:
    cluster = Cluster(make_node("one"))
    claims = [make_claim(name, storage_class="late") for name in ("a", "b")]
    gone = make_claim("lost", storage_class="late", volume="gone")
    cluster.keep(*claims, gone, make_class("late", provisioner=DRIVER), make_csi_node("one", {DRIVER: 1}))
    plugin = cluster.plugin(NodeVolumeLimits)
    assert cluster.rejected(plugin, pod_with("web", "a")) == {}
    cluster.place("one", pod_with("there", "a"))
    assert cluster.rejected(plugin, pod_with("web", "a")) == {}
    assert cluster.rejected(plugin, pod_with("web", "b")) == {"one": TOO_MANY}
    assert cluster.rejected(plugin, pod_with("web", "lost")) == {"one": TOO_MANY}


def test_attachments_count_unless_a_pod_of_the_node_uses_the_volume() -> None:
    cluster = Cluster(make_node("one"), make_node("two"))
    cluster.keep(*bound("a", "b", "c"), *(make_csi_node(name, {DRIVER: 2}) for name in ("one", "two")))
    plugin = cluster.plugin(NodeVolumeLimits)
    cluster.place("one", pod_with("there", "a"))
    cluster.keep(make_attachment("of-a", "one", "of-a"))
    assert cluster.rejected(plugin, pod_with("web", "c")) == {}
    cluster.keep(make_attachment("of-b", "one", "of-b"))
    assert cluster.rejected(plugin, pod_with("web", "c")) == {"one": TOO_MANY}
    # What is attached, but to no pod, is counted with the pod that wants it.
    assert cluster.rejected(plugin, pod_with("web", "b")) == {"one": TOO_MANY}
    cluster.drop(make_attachment("of-b", "one", "of-b"))
    assert cluster.rejected(plugin, pod_with("web", "b")) == {}


@pytest.mark.parametrize(
    "odd",
    [
        make_attachment("odd", "one", "of-b", attacher=""),
        make_attachment("odd", "one", "gone"),
        make_attachment("odd", "one", "in-tree"),
        make_attachment("odd", "elsewhere", "of-b"),
    ],
)
def test_attachments_of_nothing_known_do_not_count(odd: ObjectDict) -> None:
    cluster = Cluster(make_node("one"))
    in_tree = make_volume("in-tree", source={"gcePersistentDisk": {"pdName": "d"}})
    cluster.keep(*bound("a", "b"), in_tree, make_csi_node("one", {DRIVER: 1}), odd)
    assert cluster.rejected(cluster.plugin(NodeVolumeLimits), pod_with("web", "a")) == {}


def test_counts_follow_whatever_they_depend_on() -> None:
    cluster = Cluster(make_node("one"))
    plugin, there, pod = cluster.plugin(NodeVolumeLimits), pod_with("there", "a"), pod_with("web", "b")
    cluster.place("one", there)
    full, steps = {"one": TOO_MANY}, []

    def look() -> None:
        steps.append(cluster.rejected(plugin, pod) == full)

    cluster.keep(*bound("b"), make_csi_node("one", {DRIVER: 1}))
    look()
    cluster.keep(make_claim("a", storage_class="late"))
    look()
    cluster.keep(make_class("late", provisioner=DRIVER))
    look()
    cluster.keep(make_claim("a", volume="of-a"))
    look()
    cluster.keep(make_volume("of-a", source=OTHER))
    look()
    cluster.keep(make_volume("of-a"))
    look()
    cluster.keep(make_csi_node("one", {DRIVER: 2}))
    look()
    cluster.keep(make_csi_node("one", {DRIVER: 1}))
    look()
    cluster.snapshot.remove_pod(info(there), "one")
    look()
    assert steps == [False, False, True, False, False, True, False, True, False]


def test_volumes_of_a_trial_count_until_it_is_undone() -> None:
    cluster = Cluster(make_node("one"), make_node("two"))
    cluster.keep(*bound("a", "b"), *(make_csi_node(name, {DRIVER: 1}) for name in ("one", "two")))
    plugin, pod = cluster.plugin(NodeVolumeLimits), pod_with("web", "b")
    with cluster.snapshot.trial():
        cluster.place("two", pod_with("tried", "a"))
        assert cluster.rejected(plugin, pod) == {"two": TOO_MANY}
    assert cluster.rejected(plugin, pod) == {}


def test_a_node_that_takes_another_ones_place_has_its_own_limits() -> None:
    cluster = Cluster(make_node("one"), make_node("two"))
    cluster.keep(*bound("a"), make_csi_node("one", {DRIVER: 0}))
    plugin, pod = cluster.plugin(NodeVolumeLimits), pod_with("web", "a")
    assert cluster.rejected(plugin, pod) == {"one": TOO_MANY}
    cluster.snapshot.remove_node("one")
    cluster.add(*(make_node(f"n{number}") for number in range(100)))
    assert cluster.rejected(plugin, pod) == {}
    cluster.add(make_node("one"))
    assert cluster.rejected(plugin, pod) == {"one": TOO_MANY}


def test_a_driver_can_ask_for_pods_to_go_only_where_it_runs() -> None:
    cluster = Cluster(*(make_node(name) for name in ("running", "other", "without")))
    cluster.keep(*bound("a"), make_csi_node("running", {DRIVER: None}), make_csi_node("other", {"x": 1}))
    plugin, pod = cluster.plugin(NodeVolumeLimits), pod_with("web", "a")
    cluster.keep(make_csi_driver(DRIVER, preventPodSchedulingIfMissing=False))
    assert cluster.rejected(plugin, pod) == {}
    cluster.keep(make_csi_driver(DRIVER, preventPodSchedulingIfMissing=True))
    lacking = Status.unschedulable(f"{DRIVER} CSI driver is not installed on the node")
    assert cluster.rejected(plugin, pod) == {"other": lacking, "without": lacking}


INLINE = {
    "awsElasticBlockStore": ({"volumeID": "aws://zone/vol-1"}, EBS),
    "gcePersistentDisk": ({"pdName": "d"}, "pd.csi.storage.gke.io"),
    "azureDisk": ({"diskName": "d", "diskURI": "u"}, "disk.csi.azure.com"),
    "cinder": ({"volumeID": "d"}, "cinder.csi.openstack.org"),
    "portworxVolume": ({"volumeID": "d"}, "pxd.portworx.com"),
}


@pytest.mark.parametrize("kind", INLINE)
def test_inline_volumes_count_for_the_driver_that_took_them_over(kind: str) -> None:
    source, driver = INLINE[kind]
    cluster = Cluster(make_node("full"), make_node("roomy"), make_node("without CSINode"))
    cluster.keep(make_csi_node("full", {driver: 0}), make_csi_node("roomy", {driver: 1}))
    pod = make_pod("web").volume("v", **{kind: source})
    assert cluster.rejected(cluster.plugin(NodeVolumeLimits), pod) == {"full": TOO_MANY}


@pytest.mark.parametrize("kind", INLINE)
def test_in_tree_volumes_count_for_their_csi_driver(kind: str) -> None:
    source, driver = INLINE[kind]
    cluster = Cluster(make_node("full"))
    cluster.keep(
        make_claim("data", volume="v"), make_volume("v", source={kind: source}), make_csi_node("full", {driver: 0})
    )
    assert cluster.rejected(cluster.plugin(NodeVolumeLimits), pod_with("web", "data")) == {"full": TOO_MANY}


@pytest.mark.parametrize(
    ("provisioner", "driver", "counts"),
    [("kubernetes.io/aws-ebs", EBS, True), ("kubernetes.io/azure-file", "file.csi.azure.com", False)],
)
def test_classes_of_in_tree_plugins_count_for_drivers_that_are_switched_on(
    provisioner: str, driver: str, counts: bool
) -> None:
    cluster = Cluster(make_node("one"))
    cluster.keep(make_claim("data", storage_class="old"), make_class("old", provisioner=provisioner))
    cluster.keep(make_csi_node("one", {driver: 0}))
    found = cluster.rejected(cluster.plugin(NodeVolumeLimits), pod_with("web", "data"))
    assert found == ({"one": TOO_MANY} if counts else {})


def test_the_same_disk_inline_and_claimed_is_one_volume() -> None:
    cluster = Cluster(make_node("one"))
    volume = make_volume("v", source={"awsElasticBlockStore": {"volumeID": "vol-1"}})
    cluster.keep(make_claim("data", volume="v"), volume, make_csi_node("one", {EBS: 1}))
    cluster.place("one", pod_with("there", "data"))
    pod = make_pod("web").volume("v", awsElasticBlockStore={"volumeID": "aws:///vol-1"})
    assert cluster.rejected(cluster.plugin(NodeVolumeLimits), pod) == {}


ODD_DISK: Mapping[str, Any] = {"awsElasticBlockStore": {"volumeID": "aws://zone/odd"}}
ODD = "failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws://zone/odd)"


@pytest.mark.parametrize(
    ("pod", "status"),
    [
        (
            pod_with("web", "nope"),
            Status.unresolvable('looking up PVC default/nope: persistentvolumeclaim "nope" not found'),
        ),
        (make_pod("web").volume("v", **ODD_DISK), Status.failure(f"converting volume(v) from inline to csi: {ODD}")),
        (
            make_pod("web").volume("v", awsElasticBlockStore={"volumeID": "aws://[/vol-1"}),
            Status.failure(
                "converting volume(v) from inline to csi: failed to translate Kubernetes ID to EBS Volume ID "
                "Invalid disk name (aws://[/vol-1): Invalid IPv6 URL"
            ),
        ),
        (
            make_pod("web").volume("x", ephemeral={}),
            Status.failure("PVC default/web-x was not created for pod default/web (pod is not owner)"),
        ),
    ],
)
def test_volumes_of_the_pod_that_cannot_be_counted_are_named(pod: PodDict, status: Status) -> None:
    cluster = Cluster(make_node("one"))
    cluster.keep(make_claim("web-x"), make_csi_node("one", {DRIVER: 1}))
    assert cluster.rejected(cluster.plugin(NodeVolumeLimits), pod) == {"one": status}


def test_volumes_on_a_node_that_cannot_be_counted_end_the_attempt_where_there_are_limits() -> None:
    cluster = Cluster(make_node("limited"), make_node("unlimited"))
    cluster.keep(*bound("a"), make_csi_node("limited", {"x": 9}), make_csi_node("unlimited", {"x": None}))
    for node in ("limited", "unlimited"):
        cluster.place(node, make_pod(f"odd-{node}").volume("v", **ODD_DISK))
        cluster.place(node, pod_with(f"lost-{node}", "nope"))
    found = cluster.rejected(cluster.plugin(NodeVolumeLimits), pod_with("web", "a"))
    assert found == {"limited": Status.failure(f"converting volume(v) from inline to csi: {ODD}")}
    assert found["limited"].code is Code.ERROR


@pytest.mark.parametrize(
    ("pod", "skipped"),
    [
        (make_pod("web"), True),
        (make_pod("web").volume("v", csi={"driver": DRIVER}), True),
        (make_pod("web").volume("v", hostPath={"path": "/"}), True),
        (make_pod("web").claim("data"), False),
        (make_pod("web").volume("v", ephemeral={}), False),
        (make_pod("web").volume("v", cinder={"volumeID": "d"}), False),
        (make_pod("web").volume("v", azureFile={"secretName": "s", "shareName": "n"}), False),
    ],
)
def test_pods_without_volumes_of_drivers_are_skipped(pod: PodDict, skipped: bool) -> None:
    plugin = Cluster().plugin(NodeVolumeLimits)
    assert plugin.pre_filter(CycleState(), info(pod), Cluster().view()) == (Status.skip() if skipped else None)


POD = make_pod("web").claim("data")


@pytest.mark.parametrize(
    ("pod", "old", "new", "queued"),
    [
        (POD, None, make_csi_node("n"), True),
        (POD, make_csi_node("n", {"a": 1}), make_csi_node("n", {"a": 2}), True),
        (POD, make_csi_node("n", {"a": 2}), make_csi_node("n", {"a": 1}), False),
        (POD, make_csi_node("n", {"a": 1}), make_csi_node("n", {"a": 1, "b": 1}), True),
        (POD, make_csi_node("n", {"a": 1}), make_csi_node("n", {"a": None}), False),
        (POD, make_csi_node("n"), None, None),
        (POD, None, make_claim("data"), True),
        (POD, None, make_claim("other"), False),
        (POD, None, make_claim("data", namespace="other"), False),
        (POD, make_claim("data"), make_claim("data", volume="v"), None),
        (make_pod("web").volume("x", ephemeral={}), None, make_claim("web-x"), True),
        (POD, make_attachment("a", "n", "v"), None, True),
        (make_pod("web"), make_attachment("a", "n", "v"), None, False),
        (
            make_pod("web").volume("v", awsElasticBlockStore={"volumeID": "d"}),
            make_attachment("a", "n", "v", attacher=EBS),
            None,
            True,
        ),
        (
            make_pod("web").volume("v", awsElasticBlockStore={"volumeID": "d"}),
            make_attachment("a", "n", "v"),
            None,
            False,
        ),
        (make_pod("web").volume("v", **ODD_DISK), make_attachment("a", "n", "v"), None, True),
        (make_pod("web").volume("x", ephemeral={}), make_attachment("a", "n", "v"), None, False),
    ],
)
def test_node_volume_limits_is_woken_by_drivers_volumes_and_claims_that_may_help(
    pod: PodDict, old: ObjectDict | None, new: ObjectDict | None, queued: bool | None
) -> None:
    assert Asked(Cluster().plugin(NodeVolumeLimits)).about(pod, new, old=old) is queued


@pytest.mark.parametrize(
    ("left", "queued"),
    [
        (make_pod("gone").claim("a").node("n"), True),
        (make_pod("gone").claim("a").nominated("n"), True),
        (make_pod("gone").claim("a"), True),
        (make_pod("gone").volume("x", ephemeral={}).node("n"), True),
        (make_pod("gone").volume("v", vsphereVolume={"volumePath": "p"}).node("n"), True),
        (make_pod("gone").volume("v", csi={"driver": DRIVER}).node("n"), False),
        (make_pod("gone").node("n"), False),
    ],
)
def test_pods_that_leave_with_volumes_help(left: PodDict, queued: bool) -> None:
    asked = Asked(Cluster().plugin(NodeVolumeLimits))
    assert asked.helps(POD, EventResource.ASSIGNED_POD, Action.DELETE, old=info(left)) is queued
