"""`muster defrag --apply` on a real API server, with the real ReplicaSet controller and a Muster that schedules."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.builders import make_node, make_pod
from tests.commands.asking import ask
from tests.controlplane.api import Api
from tests.controlplane.plane import MUSTER, ControlPlane
from tests.deployed import define_pod_groups, log_in_as_deployed
from tests.e2e.eventually import eventually
from tests.e2e.muster_process import Options, running
from tests.namespaces import create_namespace

PODS = "/api/v1/namespaces/{}/pods"
REPLICA_SETS = "/apis/apps/v1/namespaces/{}/replicasets"


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """The API server, with what replaces pods and what schedules them."""
    folder = tmp_path_factory.mktemp("plane")
    with ControlPlane(folder) as plane:
        define_pod_groups(plane)
        log_in_as_deployed(plane)
        plane.start_controller_manager("replicaset-controller")
        with running(Options(kubeconfig=plane.kubeconfig(MUSTER), log=folder / "muster.log")):
            yield plane


@pytest.fixture
def api(plane: ControlPlane) -> Iterator[Api]:
    """The administrator's client."""
    with plane.api() as client:
        yield client


def replica_set(name: str, cpu: str) -> dict[str, Any]:
    """One replica, which ends at once when it is evicted, as there is no kubelet."""
    pod = make_pod(name).requests(cpu=cpu)
    spec = {**pod["spec"], "schedulerName": "muster", "terminationGracePeriodSeconds": 0}
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": spec}
    return {
        "metadata": {"name": name},
        "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template},
    }


def nodes_of(api: Api, namespace: str) -> dict[str, str]:
    """The node of each pod, by the name of its ReplicaSet or its own."""
    pods = api.get(PODS.format(namespace))["items"]
    return {
        pod["metadata"].get("labels", {}).get("app", pod["metadata"]["name"]): pod["spec"].get("nodeName", "")
        for pod in pods
    }


def test_a_pod_that_is_in_the_way_is_moved_and_what_waits_starts(plane: ControlPlane, api: Api) -> None:
    namespace = create_namespace(api)
    api.post("/api/v1/nodes", make_node("one", cpu="4"))
    api.post(REPLICA_SETS.format(namespace), replica_set("web", "1"))
    eventually(lambda: nodes_of(api, namespace) == {"web": "one"})
    api.post("/api/v1/nodes", make_node("two", cpu="2"))
    api.post(PODS.format(namespace), make_pod("big", namespace=namespace).requests(cpu="4"))

    question = ("defrag", "--pod", f"{namespace}/big", "--kubeconfig", str(plane.kubeconfig()), "--config", "default")
    proposed = ask(*question)
    assert proposed.exit_code == 0, proposed.output
    assert nodes_of(api, namespace) == {"web": "one", "big": ""}, "a proposal changes nothing"

    applied = ask(*question, "--apply", "--yes")
    assert applied.exit_code == 0, applied.output
    assert nodes_of(api, namespace) == {"web": "two", "big": "one"}
    assert not api.get("/api/v1/nodes/one")["spec"].get("unschedulable")
    told = applied.stdout.splitlines()
    assert told[-1] == f"{namespace}/big has started"
    assert "uncordoned one" in told
