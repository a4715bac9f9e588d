"""A pod that no node can run says why, waits, and is bound as soon as what was in its way has gone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest

from tests.builders import NodeDict, PodDict, make_node, make_pod
from tests.e2e.cluster import Cluster
from tests.e2e.eventually import eventually
from tests.e2e.muster_process import MusterProcess

AddNodes = Callable[..., None]
TOLERATING = '[{"op": "add", "path": "/spec/tolerations/-", "value": {"key": "dedicated", "operator": "Exists"}}]'
WITHOUT_SECOND_GATE = '[{"op": "remove", "path": "/spec/schedulingGates/1"}]'
WITHOUT_GATES = '[{"op": "remove", "path": "/spec/schedulingGates"}]'


@dataclass(frozen=True)
class Obstacle:
    """What keeps pod `web` from its node, what is said about it, and how kubectl takes it away.

    Attributes:
        nodes: the cluster.
        pod: the pod that waits.
        message: its FailedScheduling message.
        removal: what follows `kubectl` on the command line.
        before: pods that are there, each bound to the first node.
    """

    nodes: Sequence[NodeDict]
    pod: PodDict
    message: str
    removal: Sequence[str]
    before: Sequence[PodDict] = field(default=())


OBSTACLES = {
    "another pod leaves": Obstacle(
        nodes=[make_node("one", cpu="1")],
        before=[make_pod("first").requests(cpu="600m")],
        pod=make_pod("web").requests(cpu="600m"),
        message="0/1 nodes are available: 1 Insufficient cpu.",
        removal=["delete", "pod", "first", "--force", "--grace-period=0"],
    ),
    "a host port becomes free": Obstacle(
        nodes=[make_node("one")],
        before=[make_pod("first").host_port(8080)],
        pod=make_pod("web").host_port(8080),
        message="0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports.",
        removal=["delete", "pod", "first", "--force", "--grace-period=0"],
    ),
    "a taint goes": Obstacle(
        nodes=[make_node("one").taint("dedicated", "gpu")],
        pod=make_pod("web"),
        message="0/1 nodes are available: 1 node(s) had untolerated taint(s).",
        removal=["taint", "node", "one", "dedicated-"],
    ),
    "a node is uncordoned": Obstacle(
        nodes=[make_node("one").unschedulable()],
        pod=make_pod("web"),
        message="0/1 nodes are available: 1 node(s) were unschedulable.",
        removal=["uncordon", "one"],
    ),
    "a node is labelled": Obstacle(
        nodes=[make_node("one")],
        pod=make_pod("web").node_selector({"disk": "ssd"}),
        message="0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.",
        removal=["label", "node", "one", "disk=ssd"],
    ),
    "a node grows": Obstacle(
        nodes=[make_node("one", cpu="1")],
        pod=make_pod("web").requests(cpu="2"),
        message="0/1 nodes are available: 1 Insufficient cpu.",
        removal=["patch", "node", "one", "--subresource=status", '--patch={"status": {"allocatable": {"cpu": "2"}}}'],
    ),
    "the pod tolerates more": Obstacle(
        nodes=[make_node("one").taint("dedicated", "gpu")],
        pod=make_pod("web"),
        message="0/1 nodes are available: 1 node(s) had untolerated taint(s).",
        removal=["patch", "pod", "web", "--type=json", f"--patch={TOLERATING}"],
    ),
}


@pytest.mark.parametrize("obstacle", OBSTACLES.values(), ids=OBSTACLES.keys())
def test_a_waiting_pod_is_bound_when(
    obstacle: Obstacle, muster: MusterProcess, cluster: Cluster, add_nodes: AddNodes
) -> None:
    add_nodes(*obstacle.nodes)
    cluster.create(*obstacle.before, scheduler=muster.name)
    cluster.wait_until_bound(*(pod.name for pod in obstacle.before))
    cluster.create(obstacle.pod, scheduler=muster.name)
    assert cluster.wait_until_turned_away("web") == obstacle.message

    cluster.kubectl(*obstacle.removal)

    assert cluster.wait_until_bound("web") == ["one"]
    assert cluster.scheduled_condition("web")["status"] == "True"


def test_a_pod_without_any_node_in_the_cluster_is_bound_when_one_appears(
    muster: MusterProcess, cluster: Cluster, add_nodes: AddNodes
) -> None:
    cluster.create(make_pod("web"), scheduler=muster.name)
    condition = eventually(lambda: cluster.scheduled_condition("web"))
    assert (condition["reason"], condition["message"]) == ("Unschedulable", "no nodes available to schedule pods")

    add_nodes(make_node("one"))

    assert cluster.wait_until_bound("web") == ["one"]


def test_a_gated_pod_waits_untouched_and_is_bound_when_its_last_gate_goes(
    muster: MusterProcess, cluster: Cluster, add_nodes: AddNodes
) -> None:
    add_nodes(make_node("one"))
    cluster.create(make_pod("web").gate("example.com/quota").gate("example.com/image"), scheduler=muster.name)
    eventually(lambda: muster.metric('scheduler_pending_pods{queue="gated"}') == 1)

    cluster.kubectl("patch", "pod", "web", "--type=json", f"--patch={WITHOUT_SECOND_GATE}")
    cluster.create(make_pod("later"), scheduler=muster.name)

    cluster.wait_until_bound("later")
    assert cluster.node_of("web") == ""
    assert cluster.scheduled_condition("web")["reason"] == "SchedulingGated"
    assert cluster.events("web", "FailedScheduling") == []

    cluster.kubectl("patch", "pod", "web", "--type=json", f"--patch={WITHOUT_GATES}")

    assert cluster.wait_until_bound("web") == ["one"]
