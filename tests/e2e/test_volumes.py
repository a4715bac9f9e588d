"""Pods get their volumes along with their node, and what does not come about in time brings a pod back."""

from collections.abc import Callable

import pytest

from tests.builders import make_node, make_pod, require
from tests.e2e.cluster import Cluster
from tests.e2e.conftest import StartMuster, WriteConfig, impatient_with_volumes, unique_name
from tests.e2e.eventually import eventually
from tests.e2e.muster_process import MusterProcess
from tests.played_storage import PlayedStorage
from tests.storage import ZONE, make_claim, make_class, make_csi_node, make_volume

AddNodes = Callable[..., None]


@pytest.fixture
def storage(storage: PlayedStorage) -> PlayedStorage:
    """The storage with another class, whose volumes exist."""
    storage.create(make_class("local", provisioner="kubernetes.io/no-provisioner"))
    return storage


def test_a_claim_gets_its_volume_made_for_the_node_of_its_pod(
    muster: MusterProcess, cluster: Cluster, storage: PlayedStorage, add_nodes: AddNodes
) -> None:
    add_nodes(make_node("one", cpu="1"), make_node("two", cpu="4"))
    storage.create(make_claim("data", storage_class="made"))
    cluster.create(make_pod("web").claim("data").requests(cpu="2"), scheduler=muster.name)

    assert storage.selected_node("data") == "two"
    assert cluster.node_of("web") == ""

    storage.provision("data", make_volume("made-for-data", storage_class="made").on("two"))
    assert cluster.wait_until_bound("web") == ["two"]


def test_a_pod_that_is_made_after_its_volume_was_bound_goes_where_that_can_be_used(
    muster: MusterProcess, cluster: Cluster, storage: PlayedStorage, add_nodes: AddNodes
) -> None:
    add_nodes(make_node("one").zone("a"), make_node("two").zone("b"))
    storage.create(make_claim("data", storage_class="made"))
    volume = make_volume("zonal", storage_class="made").at(require(ZONE, "In", "b"))
    storage.provision("data", volume)
    cluster.create(make_pod("web").claim("data"), scheduler=muster.name)

    assert cluster.wait_until_bound("web") == ["two"]


def test_a_claim_gets_the_smallest_local_volume_and_others_go_elsewhere(
    muster: MusterProcess, cluster: Cluster, storage: PlayedStorage, add_nodes: AddNodes
) -> None:
    add_nodes(make_node("one"), make_node("two", cpu="8"))
    storage.create(
        make_volume("one-10", storage_class="local", size="10Gi").on("one"),
        make_volume("one-50", storage_class="local", size="50Gi").on("one"),
        make_volume("two-1", storage_class="local", size="1Gi").on("two"),
        *(make_claim(name, storage_class="local") for name in ("first", "second", "third")),
    )

    cluster.create(make_pod("first").claim("first"), scheduler=muster.name)
    assert storage.claimed_by("one-10") == "first"
    cluster.create(make_pod("second").claim("second"), scheduler=muster.name)
    assert storage.claimed_by("one-50") == "second"
    cluster.create(make_pod("third").claim("third"), scheduler=muster.name)
    reason = "node(s) didn't find available persistent volumes to bind"
    assert cluster.wait_until_unschedulable("third").startswith(f"0/2 nodes are available: 2 {reason}. preemption: ")

    for claim, volume in (("first", "one-10"), ("second", "one-50")):
        assert storage.volume(volume)["metadata"]["annotations"] == {"pv.kubernetes.io/bound-by-controller": "yes"}
        storage.bind(claim, volume)
    assert cluster.wait_until_bound("first", "second") == ["one", "one"]

    storage.create(make_volume("two-20", storage_class="local", size="20Gi").on("two"))
    assert storage.claimed_by("two-20") == "third"
    storage.bind("third", "two-20")
    assert cluster.wait_until_bound("third") == ["two"]


def test_a_node_takes_no_more_volumes_than_its_driver_can_attach(
    muster: MusterProcess, cluster: Cluster, storage: PlayedStorage, add_nodes: AddNodes
) -> None:
    add_nodes(make_node("one"))
    storage.create(make_csi_node("one", {"csi.example.com": 1}))
    for name in ("first", "second"):
        storage.create(make_claim(name, storage_class="made"))
        storage.provision(name, make_volume(f"of-{name}", storage_class="made"))
    cluster.create(make_pod("first").claim("first"), scheduler=muster.name)
    cluster.wait_until_bound("first")
    cluster.create(make_pod("second").claim("second"), scheduler=muster.name)

    reported = cluster.wait_until_unschedulable("second")
    assert reported.startswith("0/1 nodes are available: 1 node(s) exceed max volume count. preemption: ")

    cluster.delete("first")
    assert cluster.wait_until_bound("second") == ["one"]


def test_volumes_that_are_not_bound_in_time_or_refused_bring_the_pod_back(
    start_muster: StartMuster, write_config: WriteConfig, cluster: Cluster, storage: PlayedStorage, add_nodes: AddNodes
) -> None:
    name = unique_name()
    muster = start_muster(name, config=write_config(name=name, profiles=[impatient_with_volumes(name)]))
    add_nodes(make_node("one"))
    storage.create(make_claim("late", storage_class="made"), make_claim("refused", storage_class="made"))
    running = 'running PreBind plugin "VolumeBinding": binding volumes'

    cluster.create(make_pod("late").claim("late"), scheduler=muster.name)
    [event, *_] = eventually(lambda: cluster.events("late", "FailedScheduling"))
    assert event["note"] == f"{running}: context deadline exceeded"
    storage.provision("late", make_volume("of-late", storage_class="made"))
    assert cluster.wait_until_bound("late") == ["one"]

    cluster.create(make_pod("refused").claim("refused"), scheduler=muster.name)
    assert storage.selected_node("refused") == "one"
    storage.refuse("refused")
    [event, *_] = eventually(lambda: cluster.events("refused", "FailedScheduling"))
    assert event["note"] in (
        f'{running}: provisioning failed for PVC "refused"',
        f'{running}: selectedNode annotation reset for PVC "refused"',
    )
    assert storage.selected_node("refused") == "one"


def test_a_pod_that_is_deleted_meanwhile_leaves_its_claim_to_the_next(
    start_muster: StartMuster, cluster: Cluster, storage: PlayedStorage, add_nodes: AddNodes
) -> None:
    muster = start_muster()
    add_nodes(make_node("one", cpu="2"))
    storage.create(make_claim("data", storage_class="made"))
    cluster.create(make_pod("gone").claim("data").requests(cpu="2"), scheduler=muster.name)
    assert storage.selected_node("data") == "one"
    cluster.delete("gone")

    cluster.create(make_pod("next").claim("data").requests(cpu="2"), scheduler=muster.name)
    storage.provision("data", make_volume("of-data", storage_class="made"))
    assert cluster.wait_until_bound("next") == ["one"]
