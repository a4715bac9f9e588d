"""Pods that change, are deleted or are bound by another scheduler while Muster schedules them."""

from collections.abc import Callable

import kubernetes

from tests.builders import make_node, make_pod
from tests.controlplane.api import Api
from tests.e2e.cluster import Cluster
from tests.e2e.eventually import eventually
from tests.e2e.muster_process import MusterProcess

AddNodes = Callable[..., None]
FULL = "0/1 nodes are available: 1 Insufficient cpu."


def test_a_pod_that_is_deleted_while_it_waits_is_forgotten(
    muster: MusterProcess, cluster: Cluster, add_nodes: AddNodes
) -> None:
    add_nodes(make_node("one", cpu="1"))
    cluster.create(make_pod("web").requests(cpu="2"), scheduler=muster.name)
    cluster.wait_until_unschedulable("web")
    assert muster.metric('scheduler_pending_pods{queue="unschedulable"}') == 1

    cluster.delete("web")

    eventually(lambda: muster.metric('scheduler_pending_pods{queue="unschedulable"}') == 0)


def test_a_name_that_is_used_again_belongs_to_another_pod(
    muster: MusterProcess, cluster: Cluster, add_nodes: AddNodes
) -> None:
    add_nodes(make_node("one", cpu="1"))
    cluster.create(make_pod("web").requests(cpu="2"), scheduler=muster.name)
    cluster.wait_until_unschedulable("web")
    first = cluster.pod("web")["metadata"]["uid"]

    cluster.delete("web")
    cluster.create(make_pod("web").requests(cpu="500m"), scheduler=muster.name)

    cluster.wait_until_bound("web")
    second = cluster.pod("web")["metadata"]["uid"]
    [event] = eventually(lambda: cluster.events("web", "Scheduled"))
    assert first != second == event["regarding"]["uid"]


def test_a_waiting_pod_bound_by_another_scheduler_takes_the_capacity_of_that_node(
    muster: MusterProcess, cluster: Cluster, add_nodes: AddNodes, core_v1: kubernetes.client.CoreV1Api
) -> None:
    add_nodes(make_node("one", cpu="1").taint("dedicated"))
    cluster.create(make_pod("by-hand").requests(cpu="800m"), scheduler=muster.name)
    cluster.wait_until_unschedulable("by-hand")

    client = kubernetes.client
    binding = client.V1Binding(
        metadata=client.V1ObjectMeta(name="by-hand"), target=client.V1ObjectReference(kind="Node", name="one")
    )
    # The client decodes the answer as a Binding, which it is not.
    core_v1.create_namespaced_binding(cluster.namespace, binding, _preload_content=False)
    eventually(lambda: muster.metric('scheduler_pending_pods{queue="unschedulable"}') == 0)
    cluster.create(make_pod("next").requests(cpu="300m").tolerate("dedicated"), scheduler=muster.name)

    assert cluster.wait_until_turned_away("next") == FULL
    assert cluster.node_of("by-hand") == "one"
    assert cluster.events("by-hand", "Scheduled") == []


def test_pods_of_a_node_that_was_removed_count_again_when_it_comes_back(
    muster: MusterProcess, cluster: Cluster, add_nodes: AddNodes, api: Api
) -> None:
    node = make_node("one", cpu="1")
    add_nodes(node)
    cluster.create(make_pod("old").requests(cpu="700m"), scheduler=muster.name)
    cluster.wait_until_bound("old")

    api.delete("/api/v1/nodes/one")
    cluster.create(make_pod("new").requests(cpu="700m"), scheduler=muster.name)
    assert cluster.wait_until_turned_away("new") == "no nodes available to schedule pods"
    api.post("/api/v1/nodes", node)

    eventually(lambda: cluster.scheduled_condition("new")["message"].startswith(FULL))
    cluster.delete("old")
    assert cluster.wait_until_bound("new") == ["one"]


def test_an_ended_pod_frees_its_capacity_although_it_stays_in_the_api(
    muster: MusterProcess, cluster: Cluster, add_nodes: AddNodes
) -> None:
    add_nodes(make_node("one", cpu="1"))
    cluster.create(make_pod("job").requests(cpu="700m"), scheduler=muster.name)
    cluster.wait_until_bound("job")
    cluster.create(make_pod("web").requests(cpu="700m"), scheduler=muster.name)
    assert cluster.wait_until_turned_away("web") == FULL

    cluster.kubectl("patch", "pod", "job", "--subresource=status", '--patch={"status": {"phase": "Succeeded"}}')

    cluster.wait_until_bound("web")
    assert cluster.pod("job")["status"]["phase"] == "Succeeded"
