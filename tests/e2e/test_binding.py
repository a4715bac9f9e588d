"""Pods that name Muster get a node and an event that says so; all others are none of its business."""

import json
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import kubernetes

from tests.builders import make_node, make_pod
from tests.e2e.cluster import Cluster
from tests.e2e.conftest import StartMuster, unique_name
from tests.e2e.eventually import eventually
from tests.e2e.muster_process import MusterProcess

AddNodes = Callable[..., None]


def test_a_pod_that_kubectl_creates_is_bound(muster: MusterProcess, cluster: Cluster, add_nodes: AddNodes) -> None:
    add_nodes(make_node("one"))
    overrides = json.dumps({"apiVersion": "v1", "spec": {"schedulerName": muster.name}})

    cluster.kubectl("run", "web", "--image=pause", f"--overrides={overrides}")

    cluster.kubectl("wait", "pod/web", "--for=condition=PodScheduled", "--timeout=30s")
    assert cluster.kubectl("get", "pod", "web", "--output=jsonpath={.spec.nodeName}") == "one"


def test_a_pod_that_the_official_client_creates_is_bound_and_an_event_says_so(
    muster: MusterProcess,
    cluster: Cluster,
    add_nodes: AddNodes,
    core_v1: kubernetes.client.CoreV1Api,
    api_client: kubernetes.client.ApiClient,
) -> None:
    add_nodes(make_node("one"))
    client = kubernetes.client
    container = client.V1Container(
        name="main", image="pause", resources=client.V1ResourceRequirements(requests={"cpu": "100m"})
    )
    spec = client.V1PodSpec(scheduler_name=muster.name, containers=[container])

    core_v1.create_namespaced_pod(cluster.namespace, client.V1Pod(metadata=client.V1ObjectMeta(name="web"), spec=spec))

    cluster.wait_until_bound("web")
    pod: Any = core_v1.read_namespaced_pod("web", cluster.namespace)
    assert pod.spec.node_name == "one"
    assert [(each.type, each.status) for each in pod.status.conditions] == [("PodScheduled", "True")]
    events = client.EventsV1Api(api_client)
    listed: Any = eventually(lambda: events.list_namespaced_event(cluster.namespace).items)
    assert [(event.type, event.reason, event.action, event.note) for event in listed] == [
        ("Normal", "Scheduled", "Binding", f"Successfully assigned {cluster.namespace}/web to one")
    ]
    assert (listed[0].reporting_controller, listed[0].regarding.uid) == (muster.name, pod.metadata.uid)


def test_pods_of_other_schedulers_are_left_alone(muster: MusterProcess, cluster: Cluster, add_nodes: AddNodes) -> None:
    add_nodes(make_node("one"))

    cluster.create(make_pod("theirs"), scheduler="somebody-else")
    cluster.create(make_pod("ours"), scheduler=muster.name)

    cluster.wait_until_bound("ours")
    theirs = cluster.pod("theirs")
    assert "nodeName" not in theirs["spec"]
    assert "conditions" not in theirs["status"]
    eventually(lambda: cluster.events("ours", "Scheduled"))
    assert cluster.events("theirs", "FailedScheduling") == []


def test_one_process_answers_to_several_names_and_reports_under_each(
    start_muster: StartMuster, cluster: Cluster, add_nodes: AddNodes
) -> None:
    add_nodes(make_node("one"))
    names = unique_name(), unique_name()
    start_muster(*names)

    for name in names:
        cluster.create(make_pod(f"of-{name}"), scheduler=name)

    for name in names:
        cluster.wait_until_bound(f"of-{name}")
        [event] = eventually(partial(cluster.events, f"of-{name}", "Scheduled"))
        assert event["reportingController"] == name


def test_a_pod_of_higher_priority_goes_first(
    start_muster: StartMuster, cluster: Cluster, add_nodes: AddNodes, priority_classes: dict[str, str]
) -> None:
    """All are there before Muster starts: pods that back off are tried in the order in which their backoffs end."""
    add_nodes(make_node("one", cpu="4"))
    name = unique_name()
    for kind in ("low", "high"):
        cluster.create(make_pod(kind).requests(cpu="3").priority_class(priority_classes[kind]), scheduler=name)

    start_muster(name)

    cluster.wait_until_bound("high")
    eventually(lambda: cluster.wait_until_turned_away("low") == "0/1 nodes are available: 1 Insufficient cpu.")
    assert cluster.node_of("low") == ""


def test_many_pods_at_once_fill_the_nodes_without_overcommitting_any(
    muster: MusterProcess, cluster: Cluster, add_nodes: AddNodes
) -> None:
    add_nodes(*(make_node(f"node-{number}", cpu="2") for number in range(5)))
    pods = [f"pod-{number}" for number in range(105)]

    cluster.create(*(make_pod(name).requests(cpu="100m") for name in pods), scheduler=muster.name)

    def bound() -> Counter[str]:
        listed = cluster.api.get(f"/api/v1/namespaces/{cluster.namespace}/pods")["items"]
        return Counter(pod["spec"].get("nodeName", "") for pod in listed)

    eventually(lambda: bound().total() - bound()[""] == 100)
    assert bound() == {"": 5, **{f"node-{number}": 20 for number in range(5)}}
    eventually(lambda: sum(len(cluster.events(name, "Scheduled")) for name in pods[:20]) == 20)
