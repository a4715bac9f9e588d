"""VolumeRestrictions: disks that two pods of a node cannot share, and claims for one pod alone."""

from typing import Any

import pytest

from muster.framework.contract import Action, CycleState, EventResource, Status
from muster.plugins.volumes.restrictions import IN_USE, TAKEN, VolumeRestrictions
from tests.builders import PodDict, make_node, make_pod
from tests.plugins.cluster import Cluster, info
from tests.plugins.volumes.hints import Asked
from tests.storage import make_claim

SKIP = Status.skip()


def gce(name: str, *, read_only: bool = False) -> dict[str, Any]:
    return {"gcePersistentDisk": {"pdName": name, "readOnly": read_only}}


def ebs(name: str) -> dict[str, Any]:
    return {"awsElasticBlockStore": {"volumeID": name, "readOnly": True}}


def iscsi(iqn: str, *, read_only: bool = False, lun: int = 0) -> dict[str, Any]:
    return {"iscsi": {"targetPortal": "10.0.0.1", "iqn": iqn, "lun": lun, "readOnly": read_only}}


def rbd(*monitors: str, pool: str = "p", image: str = "i", read_only: bool = False) -> dict[str, Any]:
    return {"rbd": {"monitors": list(monitors), "pool": pool, "image": image, "readOnly": read_only}}


@pytest.mark.parametrize(
    ("wanted", "there", "conflict"),
    [
        (gce("a"), gce("a"), True),
        (gce("a"), gce("b"), False),
        (gce("a", read_only=True), gce("a"), True),
        (gce("a"), gce("a", read_only=True), True),
        (gce("a", read_only=True), gce("a", read_only=True), False),
        (ebs("a"), ebs("a"), True),
        (ebs("a"), ebs("b"), False),
        (gce("a"), ebs("a"), False),
        (iscsi("q"), iscsi("q", lun=1), True),
        (iscsi("q"), iscsi("r"), False),
        (iscsi("q", read_only=True), iscsi("q", read_only=True), False),
        (iscsi("q", read_only=True), iscsi("q"), True),
        (rbd("m", "n"), rbd("n", "o"), True),
        (rbd("m"), rbd("n"), False),
        (rbd("m"), rbd("m", pool="q"), False),
        (rbd("m"), rbd("m", image="j"), False),
        (rbd("m", read_only=True), rbd("m", read_only=True), False),
        (rbd("m"), rbd("m", read_only=True), True),
        ({"emptyDir": {}}, gce("a"), False),
    ],
)
def test_a_disk_is_shared_only_where_all_read_and_never_one_of_amazons(
    wanted: dict[str, Any], there: dict[str, Any], conflict: bool
) -> None:
    cluster = Cluster(make_node("used"), make_node("free"))
    cluster.place("used", make_pod("there", namespace="other").volume("v", **there))
    plugin = cluster.plugin(VolumeRestrictions)
    assert cluster.rejected(plugin, make_pod("web").volume("v", **wanted)) == ({"used": TAKEN} if conflict else {})


def test_a_disk_is_free_again_when_the_last_pod_with_it_has_left() -> None:
    cluster = Cluster(make_node("one"))
    there = [make_pod(name).volume("v", **gce("a", read_only=True)) for name in ("first", "second")]
    cluster.place("one", *there)
    plugin, pod = cluster.plugin(VolumeRestrictions), make_pod("web").volume("v", **gce("a"))
    for leaving, after in ((there[0], {"one": TAKEN}), (there[1], {})):
        cluster.snapshot.remove_pod(info(leaving), "one")
        assert cluster.rejected(plugin, pod) == after


ALONE = make_claim("alone", volume="v", modes=["ReadWriteOncePod"])
SHARED = make_claim("shared", volume="w", modes=["ReadWriteOnce"])


@pytest.mark.parametrize(
    ("pod", "there", "answer"),
    [
        (make_pod("web"), None, SKIP),
        (make_pod("web").claim("shared"), make_pod("there").claim("shared"), SKIP),
        (make_pod("web").claim("alone"), None, SKIP),
        (make_pod("web").claim("alone"), make_pod("there").claim("alone"), None),
        (make_pod("web").claim("alone"), make_pod("there", namespace="other").claim("alone"), SKIP),
        (make_pod("web").volume("alone", ephemeral={}), make_pod("there").claim("alone"), SKIP),
        (make_pod("web").volume("v", **gce("a")), None, None),
        (make_pod("web").volume("v", hostPath={"path": "/"}), None, SKIP),
        (make_pod("web").claim("nope"), None, Status.unresolvable('persistentvolumeclaim "nope" not found')),
    ],
)
def test_only_pods_with_possible_conflicts_are_filtered(
    pod: PodDict, there: PodDict | None, answer: Status | None
) -> None:
    cluster = Cluster(make_node("one"))
    cluster.keep(ALONE, SHARED)
    if there is not None:
        cluster.place("one", there)
    plugin = cluster.plugin(VolumeRestrictions)
    assert plugin.pre_filter(CycleState(), info(pod), cluster.view()) == answer


def test_a_claim_for_one_pod_alone_keeps_a_second_from_every_node_until_the_first_is_taken_off() -> None:
    cluster = Cluster(make_node("one"), make_node("two"))
    cluster.keep(ALONE)
    first, second = make_pod("first").claim("alone"), make_pod("second").claim("alone")
    cluster.place("one", first)
    plugin = cluster.plugin(VolumeRestrictions)
    assert cluster.rejected(plugin, second) == {"one": IN_USE, "two": IN_USE}

    state = CycleState()
    plugin.pre_filter(state, info(second), cluster.view())
    trial = state.clone()
    plugin.remove_pod(trial, info(second), info(first), "one")
    assert not plugin.filter(trial, info(second), cluster.view()).codes.any()
    plugin.add_pod(trial, info(second), info(first), "two")
    assert plugin.filter(trial, info(second), cluster.view()).codes.all()
    assert plugin.filter(state, info(second), cluster.view()).codes.all()


def test_a_disk_is_reported_before_a_claim() -> None:
    cluster = Cluster(make_node("one"), make_node("two"))
    cluster.keep(ALONE)
    cluster.place("one", make_pod("there").claim("alone").volume("v", **ebs("a")))
    pod = make_pod("web").claim("alone").volume("v", **ebs("a"))
    assert cluster.rejected(cluster.plugin(VolumeRestrictions), pod) == {"one": TAKEN, "two": IN_USE}


@pytest.mark.parametrize(
    ("pod", "left", "queued"),
    [
        (make_pod("web").volume("v", **gce("a")), make_pod("gone").volume("v", **gce("a")), True),
        (make_pod("web").volume("v", **gce("a")), make_pod("gone").volume("v", **gce("b")), False),
        (make_pod("web").claim("data"), make_pod("gone").claim("data"), True),
        (make_pod("web").claim("data"), make_pod("gone").claim("other"), False),
        (make_pod("web").claim("data"), make_pod("gone", namespace="other").claim("data"), False),
        (make_pod("web").volume("v", **gce("a")), make_pod("gone", namespace="o").volume("v", **gce("a")), False),
    ],
)
def test_a_pod_that_leaves_helps_if_it_had_the_same_disk_or_claim(pod: PodDict, left: PodDict, queued: bool) -> None:
    asked = Asked(Cluster().plugin(VolumeRestrictions))
    assert asked.helps(pod, EventResource.ASSIGNED_POD, Action.DELETE, old=info(left)) is queued


@pytest.mark.parametrize(
    ("pod", "queued"),
    [
        (make_pod("web").claim("data"), True),
        (make_pod("web").claim("other"), False),
        (make_pod("web", namespace="other").claim("data"), False),
        (make_pod("web").volume("v", ephemeral={}), False),
    ],
)
def test_a_new_claim_helps_the_pods_that_name_it(pod: PodDict, queued: bool) -> None:
    asked = Asked(Cluster().plugin(VolumeRestrictions))
    assert asked.about(pod, make_claim("data")) is queued
    assert asked.about(pod, make_claim("data"), old=make_claim("data")) is None


def test_a_new_node_helps() -> None:
    asked = Asked(Cluster().plugin(VolumeRestrictions))
    assert asked.helps(make_pod("web"), EventResource.NODE, Action.ADD) is True
    assert asked.helps(make_pod("web"), EventResource.NODE, Action.UPDATE_NODE_LABEL) is None
