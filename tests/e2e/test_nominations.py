"""`status.nominatedNodeName` from its first writing to its clearing, as kubectl shows it."""

from collections.abc import Callable
from functools import partial

import pytest

from tests.builders import make_node, make_pod
from tests.e2e.cluster import Cluster
from tests.e2e.conftest import PriorityClasses, StartMuster, WriteConfig, impatient_with_volumes, sized, unique_name
from tests.e2e.eventually import eventually
from tests.e2e.muster_process import MusterProcess
from tests.played_storage import PlayedStorage
from tests.storage import make_claim, make_volume

AddNodes = Callable[..., None]


@pytest.fixture
def priorities(make_priority: PriorityClasses) -> tuple[str, str]:
    """Two priority classes above that of ordinary pods, the lower first."""
    return make_priority(500), make_priority(1000)


def nominated(cluster: Cluster, name: str, node: str) -> bool:
    return cluster.kubectl("get", "pod", name, "--output=jsonpath={.status.nominatedNodeName}") == node


def wait_until_nominated(cluster: Cluster, name: str, node: str) -> None:
    eventually(partial(nominated, cluster, name, node))


def test_a_pod_that_waits_for_its_volume_says_where_it_will_go_until_it_is_there(
    muster: MusterProcess, cluster: Cluster, storage: PlayedStorage, add_nodes: AddNodes
) -> None:
    add_nodes(make_node("one", cpu="1"), make_node("two"))
    storage.create(make_claim("data", storage_class="made"))
    cluster.create(sized("web", "2").claim("data"), scheduler=muster.name)
    wait_until_nominated(cluster, "web", "two")
    assert cluster.node_of("web") == ""

    storage.provision("data", make_volume("made-for-data", storage_class="made").on("two"))
    assert cluster.wait_until_bound("web") == ["two"]
    assert nominated(cluster, "web", "")


def test_a_pod_whose_volume_claim_is_deleted_loses_its_nomination(
    start_muster: StartMuster, write_config: WriteConfig, cluster: Cluster, storage: PlayedStorage, add_nodes: AddNodes
) -> None:
    name = unique_name()
    muster = start_muster(name, config=write_config(name=name, profiles=[impatient_with_volumes(name)]))
    add_nodes(make_node("one"))
    storage.create(make_claim("data", storage_class="made"))
    cluster.create(make_pod("web").claim("data"), scheduler=muster.name)
    wait_until_nominated(cluster, "web", "one")

    cluster.kubectl("delete", "pvc", "data", "--wait=false")
    eventually(lambda: "being deleted" in cluster.wait_until_unschedulable("web"))
    assert nominated(cluster, "web", "")


def test_a_preemptor_withdraws_nominations_of_lower_priority(
    muster: MusterProcess, cluster: Cluster, add_nodes: AddNodes, priorities: tuple[str, str]
) -> None:
    lower, higher = priorities
    add_nodes(make_node("one"))
    cluster.create(sized("small-1", "2"), sized("small-2", "2"), scheduler=muster.name)
    cluster.wait_until_bound("small-1", "small-2")

    cluster.create(sized("first", "2").priority_class(lower), scheduler=muster.name)
    wait_until_nominated(cluster, "first", "one")
    assert "preempting 1 victims" in cluster.wait_until_unschedulable("first")

    cluster.create(sized("second", "4").priority_class(higher), scheduler=muster.name)
    wait_until_nominated(cluster, "second", "one")
    wait_until_nominated(cluster, "first", "")

    cluster.delete("small-1")
    cluster.delete("small-2")
    assert cluster.wait_until_bound("second") == ["one"]
    assert nominated(cluster, "second", "")
    assert nominated(cluster, "first", "")
