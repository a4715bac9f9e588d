"""Karpenter adds nodes for gangs that lack them, and for nothing else; KWOK plays the kubelets of its nodes.

Karpenter decides by the conditions that Muster writes to pods. Its nodes are all of one type with four cores, so that
their number says what it has decided.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from muster.framework.groups import PREEMPTION_DELAY
from tests.builders import PodDict, make_pod
from tests.capacityscheduling.objects import make_quota
from tests.controlplane.api import Api
from tests.controlplane.plane import ControlPlane
from tests.coscheduling.objects import make_member
from tests.e2e.eventually import eventually
from tests.neighbours.cluster import WITHIN_SECONDS, NeighbourCluster
from tests.neighbours.neighbour import Neighbour

INSTANCE_TYPE = "c-4x-amd64-linux"
NODE_CLASS = {
    "apiVersion": "karpenter.kwok.sh/v1alpha1",
    "kind": "KWOKNodeClass",
    "metadata": {"name": "default"},
    "spec": {},
}
NODE_POOL = {
    "apiVersion": "karpenter.sh/v1",
    "kind": "NodePool",
    "metadata": {"name": "default"},
    "spec": {
        "template": {
            "spec": {
                "requirements": [
                    {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": [INSTANCE_TYPE]},
                    {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]},
                ],
                "nodeClassRef": {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"},
                "expireAfter": "Never",
            }
        },
        "disruption": {"consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": "0s"},
    },
}
KEPT = {"karpenter.sh/do-not-disrupt": "true"}
CORES = "3"
"""What a pod asks for that has a node to itself."""

pytestmark = pytest.mark.neighbours


@pytest.fixture(scope="module", autouse=True)
def _karpenter(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> None:
    kwok = Neighbour("kwok", plane)
    stages = ("node/fast/node-initialize", "pod/fast/pod-ready", "pod/fast/pod-delete")
    kwok.start(
        f"--kubeconfig={plane.kubeconfig()}",
        "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
        f"--server-address=127.0.0.1:{kwok.health_port}",
        *(f"--config={kwok.path(f'kustomize/stage/{stage}.yaml')}" for stage in stages),
        environment={"HOME": str(tmp_path_factory.mktemp("kwok"))},
    )
    karpenter = Neighbour("karpenter", plane)
    karpenter.define(
        "pkg/apis/crds/karpenter.sh_nodeclaims.yaml",
        "pkg/apis/crds/karpenter.sh_nodepools.yaml",
        "pkg/apis/crds/karpenter.sh_nodeoverlays.yaml",
        "kwok/apis/crds/karpenter.kwok.sh_kwoknodeclasses.yaml",
    )
    karpenter.start(
        "--disable-leader-election=true",
        "--metrics-port=0",
        f"--health-probe-port={karpenter.health_port}",
    )


@pytest.fixture
def pool(api: Api, cluster: NeighbourCluster) -> Iterator[None]:
    """A pool from which Karpenter may take any number of nodes; none is left of it after the test."""
    cluster.apply([NODE_CLASS, NODE_POOL])
    yield
    cluster.remove_nodes()
    api.delete(f"/api/v1/namespaces/{cluster.namespace}/pods", gracePeriodSeconds=0)
    cluster.kubectl("delete", "nodepools,nodeclaims", "--all", "--wait=false")
    eventually(lambda: not nodes(api), within=WITHIN_SECONDS)


def nodes(api: Api) -> set[str]:
    """The names of all nodes."""
    return {node["metadata"]["name"] for node in api.get("/api/v1/nodes")["items"]}


def added(api: Api) -> int:
    """The number of nodes that Karpenter has decided to add, whether they are there yet or not."""
    return len(api.get("/apis/karpenter.sh/v1/nodeclaims")["items"])


def members(group: str, count: int, cpu: str = CORES) -> list[PodDict]:
    """Pods of a gang that Karpenter does not move while they run."""
    return [make_member(f"{group}-{number}", group, cpu=cpu).annotations(KEPT) for number in range(count)]


def reasons(cluster: NeighbourCluster, group: str) -> set[Any]:
    """The reasons of the conditions of a gang's pods."""
    pods = [pod["metadata"]["name"] for pod in cluster.pods() if pod["metadata"]["name"].startswith(f"{group}-")]
    return {cluster.scheduled_condition(name).get("reason") for name in pods}


@pytest.mark.usefixtures("pool")
def test_a_gang_gets_exactly_the_nodes_that_it_lacks(cluster: NeighbourCluster, api: Api) -> None:
    cluster.add_node("4")
    cluster.add_group("train", 4)
    cluster.add(*members("train", 4))
    cluster.wait_until_whole(4)
    assert added(api) == 3


@pytest.mark.usefixtures("pool")
def test_no_node_is_added_for_what_waits_for_quota_or_for_members_while_a_gang_gets_its_nodes(
    cluster: NeighbourCluster, api: Api
) -> None:
    cluster.add_group("few", 3)
    cluster.add(*members("few", 2))
    eventually(lambda: reasons(cluster, "few") == {"WaitingForPods"}, within=WITHIN_SECONDS)
    api.post(cluster.quotas, make_quota(cluster.namespace, max={"cpu": "7"}))
    cluster.add_group("over", 3)
    cluster.add(*members("over", 3))
    eventually(lambda: reasons(cluster, "over") == {"QuotaExceeded"}, within=WITHIN_SECONDS)

    cluster.add_group("train", 2)
    cluster.add(*members("train", 2))
    cluster.wait_until_whole(2)
    assert added(api) == 2

    cluster.add(make_member("few-2", "few", cpu=CORES))
    api.patch(f"{cluster.quotas}/quota", {"spec": {"max": {"cpu": "24"}}})
    cluster.wait_until_whole(8)
    assert added(api) == 8


@pytest.mark.usefixtures("pool")
def test_a_gang_with_a_preemption_delay_gets_nodes_and_evicts_no_pod(cluster: NeighbourCluster, api: Api) -> None:
    patient = {"metadata": {"name": "patient", "annotations": {PREEMPTION_DELAY: "600"}}, "value": 100}
    api.post("/apis/scheduling.k8s.io/v1/priorityclasses", patient)
    cluster.add_node("4")
    cluster.add(make_pod("low").requests(cpu=CORES))
    cluster.wait_until_whole(1)
    low = cluster.uids()["low"]
    cluster.add_group("train", 2)
    cluster.add(*(member.priority_class("patient") for member in members("train", 2)))
    cluster.wait_until_whole(3)
    assert cluster.uids()["low"] == low
    assert added(api) == 2


@pytest.mark.usefixtures("pool")
def test_consolidation_leaves_a_running_gang_where_it_is_and_removes_a_node_beside_it(
    cluster: NeighbourCluster, api: Api
) -> None:
    """Karpenter removes nodes in the order of what their pods cost, so those of a gang that it may move go first."""
    costly = {"controller.kubernetes.io/pod-deletion-cost": "2147483647"}
    cluster.add(*(make_pod(f"ballast-{number}").requests(cpu="2500m").annotations(costly) for number in range(4)))
    cluster.wait_until_whole(4)
    cluster.add_group("train", 3)
    cluster.add(*members("train", 3, cpu="1"))
    placed = cluster.wait_until_whole(7)
    uids = cluster.uids()
    gang = {name: node for name, node in placed.items() if name.startswith("train-")}
    assert len(nodes(api)) == 4
    assert len({*gang.values()}) == 3

    for name, node in placed.items():
        if name not in gang and node in gang.values():
            cluster.delete(name)
    eventually(lambda: nodes(api) == {*gang.values()}, within=WITHIN_SECONDS)
    assert {name: cluster.nodes()[name] for name in gang} == gang
    assert all(cluster.uids()[name] == uids[name] for name in gang)
