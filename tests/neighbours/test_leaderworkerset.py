"""LeaderWorkerSet's own controller and webhooks create the pods of gangs, and Muster their PodGroups."""

import pytest

from tests.controlplane.plane import ControlPlane
from tests.e2e.eventually import eventually
from tests.neighbours.cluster import WITHIN_SECONDS, NeighbourCluster, example
from tests.neighbours.neighbour import Neighbour

REPLICAS = [{f"serving-{replica}", f"serving-{replica}-1", f"serving-{replica}-2"} for replica in (0, 1)]

pytestmark = pytest.mark.neighbours


@pytest.fixture(scope="module", autouse=True)
def _lws(plane: ControlPlane) -> None:
    lws = Neighbour("lws", plane)
    lws.define("config/crd/bases/leaderworkerset.x-k8s.io_leaderworkersets.yaml")
    lws.start(f"--config={lws.configure('config.lws.x-k8s.io')}")
    lws.call_webhooks("config/webhook/manifests.yaml")


def test_each_replica_of_a_leaderworkerset_starts_whole(cluster: NeighbourCluster) -> None:
    cluster.switch_on_automatic_groups()
    cluster.add_node("2")
    cluster.apply(example("leaderworkerset.yaml"))
    cluster.wait_until_waiting(6)
    assert {name: group["spec"]["minMember"] for name, group in cluster.groups().items()} == {
        "leaderworkerset-serving-0": 3,
        "leaderworkerset-serving-1": 3,
    }

    cluster.add_node("2500m")
    assert {*cluster.wait_until_whole(3)} in REPLICAS

    cluster.add_node("500m")
    assert {*cluster.wait_until_whole(6)} == REPLICAS[0] | REPLICAS[1]


def test_a_replica_that_lost_a_worker_starts_whole_again_while_the_other_keeps_running(
    cluster: NeighbourCluster,
) -> None:
    cluster.switch_on_automatic_groups()
    cluster.add_node("5")
    cluster.apply(example("leaderworkerset.yaml"))
    cluster.wait_until_whole(6)
    before = cluster.uids()

    cluster.delete("serving-0-1")
    cluster.wait_until_gone({before[name] for name in REPLICAS[0]})
    cluster.wait_until_whole(6)
    after = cluster.uids()
    assert {name for name, uid in after.items() if before[name] == uid} == REPLICAS[1]


def test_the_groups_of_a_leaderworkerset_go_with_it(cluster: NeighbourCluster) -> None:
    cluster.switch_on_automatic_groups()
    cluster.add_node("5")
    cluster.apply(example("leaderworkerset.yaml"))
    cluster.wait_until_whole(6)

    pods = cluster.uids().values()
    cluster.kubectl("delete", "leaderworkerset", "serving", "--wait=false")
    cluster.wait_until_gone(pods)
    eventually(lambda: not cluster.groups(), within=WITHIN_SECONDS)
