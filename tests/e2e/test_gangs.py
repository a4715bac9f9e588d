"""Gangs on a real API server, seen as their owner sees them."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.builders import PodDict, make_node, make_pod
from tests.controlplane.plane import MUSTER, ControlPlane
from tests.e2e.cluster import Cluster
from tests.e2e.conftest import StartMuster
from tests.e2e.eventually import eventually
from tests.e2e.muster_process import MusterProcess

AddNodes = Callable[..., None]
DEFINITION = Path(__file__).parents[2] / "deploy" / "crds" / "scheduling.x-k8s.io_podgroups.yaml"
RIGHTS: Mapping[str, Any] = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRole",
    "metadata": {"name": "muster-gangs"},
    "rules": [
        {"apiGroups": ["scheduling.x-k8s.io"], "resources": ["podgroups"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": ["scheduling.x-k8s.io"], "resources": ["podgroups/status"], "verbs": ["patch"]},
    ],
}


@pytest.fixture(scope="module")
def pod_groups(control_plane: ControlPlane) -> Iterator[None]:
    """The definition is served, and muster may use it."""
    control_plane.kubectl("apply", "--server-side", "--force-conflicts", "-f", str(DEFINITION))
    control_plane.kubectl("wait", "--for=condition=Established", "crd/podgroups.scheduling.x-k8s.io", "--timeout=60s")
    with control_plane.api() as api:
        api.post("/apis/rbac.authorization.k8s.io/v1/clusterroles", RIGHTS)
        control_plane.grant(MUSTER, "muster-gangs")
        yield
        api.delete("/apis/rbac.authorization.k8s.io/v1/clusterroles/muster-gangs")


@pytest.fixture
def muster(pod_groups: None, start_muster: StartMuster) -> MusterProcess:
    return start_muster()


def make_group(cluster: Cluster, name: str, min_member: int) -> None:
    group = {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": name},
        "spec": {"minMember": min_member},
    }
    cluster.api.post(f"/apis/scheduling.x-k8s.io/v1alpha1/namespaces/{cluster.namespace}/podgroups", group)


def member(name: str, group: str) -> PodDict:
    return make_pod(name).labels({"scheduling.x-k8s.io/pod-group": group}).requests(cpu="1")


def is_told(cluster: Cluster, pod: str, text: str) -> bool:
    return text in cluster.kubectl("describe", "pod", pod)


def group_status(cluster: Cluster, name: str) -> dict[str, Any]:
    path = f"/apis/scheduling.x-k8s.io/v1alpha1/namespaces/{cluster.namespace}/podgroups/{name}"
    status: dict[str, Any] = cluster.api.get(path).get("status", {})
    return status


def test_two_of_three_wait_and_the_third_starts_all(
    muster: MusterProcess, cluster: Cluster, add_nodes: AddNodes
) -> None:
    add_nodes(make_node("one", cpu="4"))
    make_group(cluster, "train", 3)
    cluster.create(member("a", "train"), member("b", "train"), scheduler=muster.name)
    for name in ("a", "b"):
        eventually(partial(is_told, cluster, name, "current pods number: 2, minMember of group: 3."))
        assert not cluster.node_of(name)

    cluster.create(member("c", "train"), scheduler=muster.name)
    assert cluster.wait_until_bound("a", "b", "c") == ["one"] * 3
    eventually(lambda: group_status(cluster, "train").get("scheduled") == 3)


def test_a_gang_without_room_holds_nothing_and_starts_when_there_is_some(
    muster: MusterProcess, cluster: Cluster, add_nodes: AddNodes
) -> None:
    add_nodes(make_node("one", cpu="2"))
    make_group(cluster, "train", 3)
    cluster.create(*(member(name, "train") for name in "abc"), scheduler=muster.name)
    for name in "abc":
        message = cluster.wait_until_unschedulable(name)
        assert message.endswith("2 of the 3 members that it needs fit: 0/1 nodes are available: 1 Insufficient cpu.")
    eventually(lambda: "Unschedulable" in cluster.kubectl("describe", "podgroup", "train"))

    cluster.create(make_pod("small").requests(cpu="1500m"), scheduler=muster.name)
    assert cluster.wait_until_bound("small") == ["one"]
    assert [cluster.node_of(name) for name in "abc"] == ["", "", ""]

    add_nodes(make_node("two", cpu="4"))
    assert cluster.wait_until_bound("a", "b", "c") == ["two"] * 3


def test_a_scheduler_killed_in_the_middle_of_a_gang_completes_it_after_its_restart(
    pod_groups: None, start_muster: StartMuster, cluster: Cluster, add_nodes: AddNodes
) -> None:
    add_nodes(*(make_node(f"node-{number}", cpu="4") for number in range(5)))
    make_group(cluster, "train", 20)
    names = [f"member-{number}" for number in range(20)]
    first = start_muster()
    cluster.create(*(member(name, "train") for name in names), scheduler=first.name)
    eventually(lambda: any(cluster.node_of(name) for name in names))
    first.kill()

    start_muster(first.name)
    cluster.wait_until_bound(*names)
