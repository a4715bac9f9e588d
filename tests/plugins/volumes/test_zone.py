"""VolumeZone: a bound volume's zone and region labels must be those of the node, if the node has any."""

from collections.abc import Mapping, Sequence

import pytest

from muster.framework.contract import Action, CycleState, EventResource, Status
from muster.plugins.volumes.zone import ELSEWHERE, VolumeZone
from tests.builders import ObjectDict, make_node, make_pod
from tests.plugins.cluster import Cluster, info
from tests.plugins.volumes.hints import Asked
from tests.storage import make_claim, make_class, make_volume

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
BETA_ZONE, BETA_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"


@pytest.mark.parametrize(
    ("volume", "node", "passes"),
    [
        ({ZONE: "a"}, {ZONE: "a"}, True),
        ({ZONE: "a"}, {ZONE: "b"}, False),
        ({ZONE: "a__b"}, {ZONE: "b"}, True),
        ({ZONE: "a__ b "}, {ZONE: "b"}, True),
        ({ZONE: "a__"}, {ZONE: "b"}, True),
        ({ZONE: "a"}, {}, True),
        ({ZONE: "a"}, {"disk": "ssd"}, True),
        ({ZONE: "a"}, {REGION: "r"}, False),
        ({BETA_ZONE: "a"}, {ZONE: "a"}, True),
        ({BETA_ZONE: "a"}, {ZONE: "b"}, False),
        ({BETA_ZONE: "a"}, {BETA_ZONE: "a", ZONE: "b"}, True),
        ({ZONE: "a"}, {BETA_ZONE: "a"}, False),
        ({BETA_REGION: "r", BETA_ZONE: "a"}, {REGION: "r", ZONE: "a"}, True),
        ({REGION: "r", ZONE: "a"}, {REGION: "s", ZONE: "a"}, False),
        ({"disk": "ssd"}, {ZONE: "a"}, True),
    ],
)
def test_a_node_with_any_zone_label_must_have_the_volumes_labels(
    volume: Mapping[str, str], node: Mapping[str, str], passes: bool
) -> None:
    cluster = Cluster(make_node("one").labels(node))
    cluster.keep(make_claim("data", volume="v"), make_volume("v").labels(volume))
    plugin = cluster.plugin(VolumeZone)
    assert cluster.rejected(plugin, make_pod("web").claim("data")) == ({} if passes else {"one": ELSEWHERE})


@pytest.mark.parametrize(
    ("objects", "answer"),
    [
        ([make_claim("data", volume="v"), make_volume("v").labels({ZONE: "a"})], None),
        ([make_claim("data", volume="v"), make_volume("v")], Status.skip()),
        ([], Status.unresolvable('persistentvolumeclaim "data" not found')),
        ([make_claim("data", volume="v")], Status.unresolvable('persistentvolume "v" not found')),
        ([make_claim("data")], Status.unresolvable("PersistentVolumeClaim had no pv name and storageClass name")),
        (
            [make_claim("data", storage_class="late")],
            Status.unresolvable('storageclass.storage.k8s.io "late" not found'),
        ),
        ([make_claim("data", storage_class="late"), make_class("late")], Status.skip()),
        (
            [make_claim("data", storage_class="now"), make_class("now", waits=False)],
            Status.unresolvable("PersistentVolume had no name"),
        ),
        (
            [make_claim("data", storage_class="odd"), ObjectDict(make_class("odd"), volumeBindingMode=None)],
            Status.unresolvable('VolumeBindingMode not set for StorageClass "odd"'),
        ),
        (
            [
                make_claim("data").annotations({"volume.beta.kubernetes.io/storage-class": "late"}),
                make_class("late"),
            ],
            Status.skip(),
        ),
    ],
)
def test_claims_that_are_not_bound_have_to_wait_for_their_consumer(
    objects: Sequence[ObjectDict], answer: Status | None
) -> None:
    cluster = Cluster(make_node("one"))
    cluster.keep(*objects)
    plugin = cluster.plugin(VolumeZone)
    assert plugin.pre_filter(CycleState(), info(make_pod("web").claim("data")), cluster.view()) == answer


def test_ephemeral_volumes_and_pods_without_claims_are_none_of_its_business() -> None:
    plugin = Cluster(make_node("one")).plugin(VolumeZone)
    for pod in (make_pod("web"), make_pod("web").volume("v", ephemeral={})):
        assert plugin.pre_filter(CycleState(), info(pod), Cluster().view()) == Status.skip()


POD = make_pod("web").claim("data")


@pytest.mark.parametrize(
    ("old", "new", "queued"),
    [
        (None, make_class("late"), True),
        (None, make_class("now", waits=False), False),
        (make_class("late"), make_class("late"), None),
        (None, make_claim("data"), True),
        (make_claim("data"), make_claim("data", volume="v"), True),
        (None, make_claim("other"), False),
        (None, make_claim("data", namespace="other"), False),
        (None, make_volume("v"), True),
        (make_volume("v"), make_volume("v").labels({ZONE: "a"}), True),
        (make_volume("v").labels({ZONE: "a"}), make_volume("v").labels({ZONE: "a", "x": "y"}), False),
    ],
)
def test_volume_zone_is_woken_by_classes_claims_and_volumes_that_may_help(
    old: ObjectDict | None, new: ObjectDict, queued: bool | None
) -> None:
    assert Asked(Cluster().plugin(VolumeZone)).about(POD, new, old=old) is queued


@pytest.mark.parametrize(
    ("action", "queued"),
    [(Action.ADD, True), (Action.UPDATE_NODE_LABEL, True), (Action.UPDATE_NODE_TAINT, None), (Action.DELETE, None)],
)
def test_nodes_that_come_or_get_other_labels_help(action: Action, queued: bool | None) -> None:
    assert Asked(Cluster().plugin(VolumeZone)).helps(POD, EventResource.NODE, action) is queued
