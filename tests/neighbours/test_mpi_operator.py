"""The MPI Operator creates the PodGroup and the pods of an MPIJob, from the manifest that docs/gangs.md shows."""

import pytest

from tests.controlplane.plane import ControlPlane
from tests.coscheduling.objects import GROUP_LABEL
from tests.e2e.eventually import eventually
from tests.neighbours.cluster import WITHIN_SECONDS, NeighbourCluster, example
from tests.neighbours.neighbour import Neighbour

HEALTH_PORT = 8080
"""Where the operator has its health page; it has no setting for it."""

pytestmark = pytest.mark.neighbours


@pytest.fixture(scope="module", autouse=True)
def _mpi_operator(plane: ControlPlane) -> None:
    operator = Neighbour("mpi-operator", plane, health_port=HEALTH_PORT)
    operator.define("manifests/base/kubeflow.org_mpijobs.yaml")
    operator.start("--gang-scheduling=muster", "--lock-namespace=default", page="/healthz")


def test_an_mpijob_starts_whole_with_the_group_and_the_scheduler_that_the_operator_writes(
    cluster: NeighbourCluster,
) -> None:
    cluster.add_node("4")
    cluster.apply(example("kubeflow-mpijob.yaml"))
    cluster.wait_until_waiting(5)
    assert cluster.groups()["pi"]["spec"]["minMember"] == 5
    assert cluster.owners("pi") == [("MPIJob", "pi")]
    assert {pod["spec"]["schedulerName"] for pod in cluster.pods()} == {"muster"}
    assert {pod["metadata"]["labels"][GROUP_LABEL] for pod in cluster.pods()} == {"pi"}
    eventually(lambda: cluster.condition("pi")[0] == "NotEnoughResources", within=WITHIN_SECONDS)

    cluster.add_node("500m")
    cluster.wait_until_whole(5)


def test_the_workers_and_the_group_of_an_mpijob_go_when_its_launcher_has_ended(cluster: NeighbourCluster) -> None:
    cluster.add_node("5")
    cluster.apply(example("kubeflow-mpijob.yaml"))
    cluster.wait_until_whole(5)
    pods = cluster.uids()

    [launcher] = [name for name in pods if "launcher" in name]
    workers = pods.keys() - {launcher}
    for worker in workers:
        cluster.set_phase(worker, "Running")
    cluster.set_phase(launcher, "Succeeded")
    cluster.wait_until_gone({pods[worker] for worker in workers})
    eventually(lambda: not cluster.groups(), within=WITHIN_SECONDS)
