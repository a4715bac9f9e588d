"""JobSet's own controller and webhooks create the pods of gangs, from the manifest that docs/gangs.md shows."""

import pytest

from tests.controlplane.plane import ControlPlane
from tests.e2e.eventually import eventually
from tests.neighbours.cluster import WITHIN_SECONDS, NeighbourCluster, example
from tests.neighbours.jobset import start_jobset

pytestmark = pytest.mark.neighbours


@pytest.fixture(scope="module", autouse=True)
def _jobset(plane: ControlPlane) -> None:
    start_jobset(plane)


def test_a_jobset_starts_whole(cluster: NeighbourCluster) -> None:
    cluster.add_node("1500m")
    cluster.apply(example("jobset.yaml"))
    cluster.wait_until_waiting(4)

    cluster.add_node("100m")
    nodes = cluster.wait_until_whole(4)
    assert {name.rpartition("-")[0] for name in nodes} == {
        "coupled-leader-0-0",
        "coupled-workers-0-0",
        "coupled-workers-0-1",
        "coupled-workers-0-2",
    }


def test_a_jobset_that_restarts_starts_whole_again(cluster: NeighbourCluster) -> None:
    cluster.add_node("1600m")
    group, jobset = example("jobset.yaml")
    jobset["spec"]["failurePolicy"] = {"maxRestarts": 1}
    for job in jobset["spec"]["replicatedJobs"]:
        job["template"]["spec"]["backoffLimit"] = 0
    cluster.apply([group, jobset])
    cluster.wait_until_whole(4)
    first = cluster.uids()

    cluster.set_phase(next(name for name in first if "workers" in name), "Failed")
    cluster.wait_until_gone(first.values())
    cluster.wait_until_whole(4)


def test_a_jobset_without_a_podgroup_starts_whole_where_groups_are_automatic(cluster: NeighbourCluster) -> None:
    cluster.switch_on_automatic_groups()
    cluster.add_node("1500m")
    [_, jobset] = example("jobset.yaml")
    for job in jobset["spec"]["replicatedJobs"]:
        del job["template"]["spec"]["template"]["metadata"]["labels"]
    cluster.apply([jobset])
    cluster.wait_until_waiting(4)
    assert cluster.groups()["jobset-coupled"]["spec"]["minMember"] == 4
    assert cluster.owners("jobset-coupled") == [("JobSet", "coupled")]

    cluster.add_node("100m")
    cluster.wait_until_whole(4)
    cluster.kubectl("delete", "jobset", "coupled", "--wait=false")
    eventually(lambda: not cluster.groups(), within=WITHIN_SECONDS)
