"""VolumeBinding's hints: every row of kube-scheduler's table of events that may help a pod which it turned away."""

import pytest

from muster.framework.contract import Action, EventResource
from muster.plugins.volumes.binding import VolumeBinding
from tests.builders import ObjectDict, PodDict, make_node, make_pod
from tests.plugins.cluster import Cluster, info
from tests.plugins.volumes.hints import Asked
from tests.storage import (
    make_capacity,
    make_claim,
    make_class,
    make_csi_driver,
    make_csi_node,
    make_volume,
)

POD = make_pod("web").claim("data")
INLINE = make_pod("web").volume("v", csi={"driver": "csi.example.com"})
TRACKS, TRACKS_NOT = (make_csi_driver("csi.example.com", storageCapacity=tracks) for tracks in (True, False))


def capacity(amount: str | None, maximum: str | None = None) -> ObjectDict:
    return make_capacity("c", "late", {}, amount, maximum=maximum)


@pytest.mark.parametrize(
    ("pod", "old", "new", "queued"),
    [
        (POD, None, make_class("any"), True),
        (POD, make_class("late"), make_class("late", topologies=[{"zone": ["a"]}]), True),
        (POD, make_class("late"), make_class("late").labels(a="b"), False),
        (POD, make_class("late"), None, None),
        (POD, None, make_claim("data"), True),
        (POD, make_claim("data"), make_claim("data", volume="v"), True),
        (POD, None, make_claim("other"), False),
        (POD, None, make_claim("data", namespace="other"), False),
        (make_pod("web").volume("x", ephemeral={}), None, make_claim("web-x"), True),
        (make_pod("web").volume("x", ephemeral={}), None, make_claim("x"), False),
        (POD, None, make_volume("any"), True),
        (POD, make_volume("any"), make_volume("any").labels(a="b"), True),
        (POD, make_volume("any"), None, None),
        (POD, None, make_csi_node("n"), True),
        (POD, make_csi_node("n"), make_csi_node("n", migrated=["kubernetes.io/aws-ebs"]), True),
        (POD, make_csi_node("n"), make_csi_node("n", {"a": 1}), False),
        (POD, None, TRACKS, None),
        (INLINE, TRACKS, TRACKS_NOT, True),
        (INLINE, TRACKS, make_csi_driver("csi.example.com"), True),
        (INLINE, TRACKS_NOT, TRACKS, False),
        (INLINE, TRACKS, TRACKS, False),
        (POD, TRACKS, TRACKS_NOT, False),
        (POD, None, capacity("1Gi"), True),
        (POD, capacity("1Gi"), capacity("2Gi"), True),
        (POD, capacity("2Gi"), capacity("1Gi"), False),
        (POD, capacity("1Gi"), capacity("1Gi"), False),
        (POD, capacity(None), capacity("1Gi"), True),
        (POD, capacity("1Gi"), capacity(None), False),
        (POD, capacity("1Gi", "1Gi"), capacity("1Gi", "2Gi"), True),
        (POD, capacity("1Gi", "1Gi"), capacity("2Gi", "1Gi"), False),
    ],
)
def test_storage_objects(pod: PodDict, old: ObjectDict | None, new: ObjectDict | None, queued: bool | None) -> None:
    assert Asked(Cluster().plugin(VolumeBinding)).about(pod, new, old=old) is queued


@pytest.mark.parametrize(
    ("resource", "action", "queued"),
    [
        (EventResource.NODE, Action.ADD, True),
        (EventResource.NODE, Action.UPDATE_NODE_LABEL, True),
        (EventResource.NODE, Action.UPDATE_NODE_TAINT, None),
        (EventResource.ASSIGNED_POD, Action.DELETE, False),
        (EventResource.VOLUME_ATTACHMENT, Action.DELETE, None),
    ],
)
def test_nodes_and_pods(resource: str, action: Action, queued: bool | None) -> None:
    asked = Asked(Cluster(make_node("n")).plugin(VolumeBinding))
    assert asked.helps(POD, resource, action, old=info(make_pod("gone").claim("data").node("n"))) is queued


@pytest.mark.parametrize(("released", "queued"), [(make_pod("r").claim("other"), True), (make_pod("r"), False)])
def test_a_pod_with_claims_that_is_not_bound_after_all_gives_volumes_back(released: PodDict, queued: bool) -> None:
    asked = Asked(Cluster(make_node("n")).plugin(VolumeBinding))
    assert asked.helps(POD, EventResource.ASSIGNED_POD, Action.DELETE, old=info(released)) is queued
