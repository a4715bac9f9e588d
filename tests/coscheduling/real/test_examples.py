"""The examples of gangs start on a real API server whose Jobs are made into pods by Kubernetes' own controller."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.builders import make_node
from tests.controlplane.plane import ControlPlane
from tests.coscheduling.conftest import AddNodes
from tests.coscheduling.real.gangs import GangCluster

EXAMPLES = Path(__file__).parents[3] / "deploy" / "examples"
INDEX = "batch.kubernetes.io/job-completion-index"


@pytest.fixture(scope="module", autouse=True)
def _jobs(control_plane: ControlPlane) -> None:
    control_plane.start_controller_manager("job-controller")


def apply(gangs: GangCluster, example: str) -> list[Any]:
    objects = [*yaml.safe_load_all((EXAMPLES / example).read_text())]
    for job in (each for each in objects if each["kind"] == "Job"):
        job["spec"]["template"]["spec"]["schedulerName"] = gangs.scheduler
    gangs.kubectl("apply", "--filename=-", stdin=yaml.safe_dump_all(objects))
    return objects


def test_a_job_starts_whole(gangs: GangCluster, add_nodes: AddNodes) -> None:
    add_nodes(make_node("one", cpu="16", memory="64Gi"))
    [group] = [each for each in apply(gangs, "job.yaml") if each["kind"] == "PodGroup"]
    gangs.wait_until_started(group["metadata"]["name"], group["spec"]["minMember"])


def test_slices_go_two_by_two_to_racks_of_one_zone(gangs: GangCluster, add_nodes: AddNodes) -> None:
    for zone in ("x", "y"):
        for rack in ("a", "b"):
            labels = {"topology.kubernetes.io/zone": zone, "example.com/rack": f"{zone}{rack}"}
            add_nodes(make_node(f"{zone}{rack}", cpu="1").labels(labels))
    apply(gangs, "racks.yaml")
    gangs.wait_until_started("sliced", 4)

    node_of = {int(pod["metadata"]["labels"][INDEX]): pod["spec"]["nodeName"] for pod in gangs.pods()}
    first, second, third, fourth = (node_of[rank] for rank in range(4))
    assert (first, third) == (second, fourth)
    assert first != third
    assert first[0] == third[0]
