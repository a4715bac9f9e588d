"""Workloads get their groups on a real API server, with Kubernetes' own controllers and the rights of the chart."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from muster.testing import configuration_of
from tests.autopodgroups.objects import Object, job, stateful_set
from tests.autopodgroups.world import LABEL
from tests.builders import make_node
from tests.controlplane.api import Api
from tests.controlplane.plane import ControlPlane
from tests.deployed import define_pod_groups, grant_as_charted
from tests.e2e.eventually import eventually
from tests.e2e.muster_process import MusterProcess, Options, running
from tests.gone import is_gone

CONTROLLERS = ("job-controller", "statefulset-controller", "garbage-collector-controller")
GROUPS = "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/podgroups"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
STATEFUL_SETS = "/apis/apps/v1/namespaces/default/statefulsets"
PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane of its own: a second Job controller would create the pods of other tests' Jobs twice.

    PodGroups are defined first: the garbage collector looks for new kinds only every half minute.
    """
    with ControlPlane(tmp_path_factory.mktemp("workloads")) as plane:
        define_pod_groups(plane)
        plane.start_controller_manager(*CONTROLLERS)
        plane.kubectl("label", "namespace", "default", f"{LABEL}=true")
        yield plane


@pytest.fixture(scope="module")
def api(plane: ControlPlane) -> Iterator[Api]:
    """A client that may do everything."""
    with plane.api() as client:
        yield client


@pytest.fixture(scope="module")
def muster(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterProcess]:
    """One `muster run` with the rights that the chart grants for such groups; nothing goes wrong in it."""
    folder = tmp_path_factory.mktemp("muster")
    kubeconfig = grant_as_charted(plane, folder, {"podGroups": {"auto": "Labelled"}})
    config = folder / "config.yaml"
    config.write_bytes(configuration_of(["Coscheduling", "AutoPodGroups"]))
    options = Options(kubeconfig=kubeconfig, log=folder / "muster.log", config=config)
    with running(options) as process:
        yield process
    assert process.errors == []


@pytest.fixture
def add_node(api: Api) -> Iterator[Callable[[], None]]:
    """Call it for one more node with one core."""
    names: list[str] = []

    def add() -> None:
        names.append(f"node-{len(names)}")
        api.post("/api/v1/nodes", make_node(names[-1], cpu="1"))

    yield add
    for name in names:
        api.delete(f"/api/v1/nodes/{name}")


def bound(api: Api, name: str) -> list[str]:
    """The names of a workload's pods that have a node."""
    pods = (pod for pod in api.get(PODS)["items"] if pod["metadata"]["ownerReferences"][0]["name"] == name)
    return sorted(pod["metadata"]["name"] for pod in pods if pod["spec"].get("nodeName"))


def controller(api: Api, group: str) -> str | None:
    """The UID of the group's controller."""
    owners = api.get(f"{GROUPS}/{group}")["metadata"].get("ownerReferences") or [{"uid": None}]
    uid: str | None = owners[0]["uid"]
    return uid


def waits(api: Api, group: str, size: int) -> Any:
    """The group once it has this size and says that its members do not fit."""

    def look() -> Object | None:
        found: Object = api.get(f"{GROUPS}/{group}")
        conditions = found.get("status", {}).get("conditions") or [{"reason": ""}]
        return found if found["spec"]["minMember"] == size and conditions[0]["reason"] == "Unschedulable" else None

    return eventually(look)


@pytest.mark.usefixtures("muster")
def test_a_job_starts_whole_and_takes_its_group_along(api: Api, add_node: Callable[[], None]) -> None:
    add_node()
    add_node()
    created = api.post(JOBS, job("train", 3))
    group = waits(api, "job-train", 3)
    [owner] = group["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("Job", created["metadata"]["uid"], True)
    assert bound(api, "train") == []

    add_node()
    eventually(lambda: len(bound(api, "train")) == 3)
    eventually(lambda: api.get(f"{GROUPS}/job-train")["status"].get("scheduled") == 3)
    api.delete(f"{JOBS}/train", propagationPolicy="Background")
    eventually(lambda: is_gone(api, f"{GROUPS}/job-train"))
    api.delete(PODS, gracePeriodSeconds=0)


@pytest.mark.usefixtures("muster")
def test_a_stateful_set_grows_together(api: Api, add_node: Callable[[], None]) -> None:
    for _ in range(3):
        add_node()
    api.post(STATEFUL_SETS, stateful_set("web", 2))
    eventually(lambda: bound(api, "web") == ["web-0", "web-1"])

    api.patch(f"{STATEFUL_SETS}/web", {"spec": {"replicas": 4}})
    waits(api, "statefulset-web", 4)
    assert bound(api, "web") == ["web-0", "web-1"]
    add_node()
    eventually(lambda: len(bound(api, "web")) == 4)
    api.delete(f"{STATEFUL_SETS}/web", propagationPolicy="Background")
    eventually(lambda: is_gone(api, f"{GROUPS}/statefulset-web"))
    api.delete(PODS, gracePeriodSeconds=0)


@pytest.mark.usefixtures("muster")
def test_a_job_that_is_created_again_starts_with_a_group_of_its_own(api: Api, add_node: Callable[[], None]) -> None:
    add_node()
    add_node()
    api.post(JOBS, job("again", 2))
    eventually(lambda: len(bound(api, "again")) == 2)
    api.delete(f"{JOBS}/again", propagationPolicy="Foreground")
    api.delete(PODS, gracePeriodSeconds=0)
    eventually(lambda: is_gone(api, f"{JOBS}/again"))

    created = api.post(JOBS, job("again", 2))
    eventually(lambda: len(bound(api, "again")) == 2)
    assert controller(api, "job-again") == created["metadata"]["uid"]
    api.delete(f"{JOBS}/again", propagationPolicy="Background")
    eventually(lambda: is_gone(api, f"{GROUPS}/job-again"))
    api.delete(PODS, gracePeriodSeconds=0)


@pytest.mark.usefixtures("muster")
def test_a_stateful_set_takes_over_the_pods_and_the_group_of_its_predecessor(
    api: Api, add_node: Callable[[], None]
) -> None:
    add_node()
    add_node()
    api.post(STATEFUL_SETS, stateful_set("kept", 2))
    eventually(lambda: len(bound(api, "kept")) == 2)
    api.delete(f"{STATEFUL_SETS}/kept", propagationPolicy="Orphan")
    eventually(lambda: is_gone(api, f"{STATEFUL_SETS}/kept"))
    assert controller(api, "statefulset-kept") is None

    created = api.post(STATEFUL_SETS, stateful_set("kept", 3))
    waits(api, "statefulset-kept", 3)
    assert controller(api, "statefulset-kept") == created["metadata"]["uid"]
    add_node()
    eventually(lambda: len(bound(api, "kept")) == 3)
    api.delete(f"{STATEFUL_SETS}/kept", propagationPolicy="Background")
    eventually(lambda: is_gone(api, f"{GROUPS}/statefulset-kept"))
    api.delete(PODS, gracePeriodSeconds=0)
