"""A pod that needs another's place gets it: what people see of that on the API, from the decision to the binding."""

from collections.abc import Callable
from typing import Any

from tests.builders import PodDict, make_node, make_pod
from tests.e2e.cluster import Cluster
from tests.e2e.conftest import PriorityClasses
from tests.e2e.eventually import eventually
from tests.e2e.muster_process import MusterProcess

AddNodes = Callable[..., None]
BUDGETS = "/apis/policy/v1/namespaces/{}/poddisruptionbudgets"


def large(name: str, app: str = "any") -> PodDict:
    """A pod of which one fits on a node of these tests."""
    return make_pod(name).requests(cpu="3").labels(app=app)


def condition(pod: Any, kind: str) -> Any:
    return next((each for each in pod["status"].get("conditions", ()) if each["type"] == kind), None)


def test_the_capacity_of_a_victim_is_kept_for_the_preemptor(
    muster: MusterProcess, cluster: Cluster, add_nodes: AddNodes, urgent: str
) -> None:
    add_nodes(make_node("one"))
    cluster.create(large("victim"), scheduler=muster.name)
    cluster.wait_until_bound("victim")

    cluster.create(large("preemptor").priority_class(urgent), scheduler=muster.name)

    victim = eventually(lambda: _deleted(cluster, "victim"))
    disruption = condition(victim, "DisruptionTarget")
    assert (disruption["status"], disruption["reason"], disruption["message"]) == (
        "True",
        "PreemptionByScheduler",
        f"{muster.name}: preempting to accommodate a higher priority pod",
    )
    preemptor = eventually(lambda: _nominated(cluster, "preemptor"))
    assert preemptor["status"]["nominatedNodeName"] == "one"
    assert cluster.wait_until_unschedulable("preemptor") == (
        "0/1 nodes are available: 1 Insufficient cpu. "
        "preemption: found a potential placement for pod on node one, preempting 1 victims"
    )
    [preempted] = eventually(lambda: cluster.events("victim", "Preempted"))
    uid = preemptor["metadata"]["uid"]
    assert (preempted["note"], preempted["action"]) == (f"Preempted by pod {uid} on node one", "Preempting")
    assert preempted["related"]["uid"] == uid

    cluster.create(large("latecomer"), scheduler=muster.name)
    cluster.wait_until_unschedulable("latecomer")
    cluster.delete("victim")
    assert cluster.wait_until_bound("preemptor") == ["one"]
    assert cluster.node_of("latecomer") == ""


def test_pods_without_a_budget_are_evicted_first(
    muster: MusterProcess, cluster: Cluster, add_nodes: AddNodes, urgent: str
) -> None:
    add_nodes(make_node("one"), make_node("two"))
    cluster.create(large("guarded", "db"), large("free", "web"), scheduler=muster.name)
    cluster.wait_until_bound("guarded", "free")
    selector = {"matchLabels": {"app": "db"}}
    cluster.api.post(
        BUDGETS.format(cluster.namespace),
        {"metadata": {"name": "db"}, "spec": {"minAvailable": 1, "selector": selector}},
    )

    cluster.create(large("preemptor").priority_class(urgent), scheduler=muster.name)

    eventually(lambda: _deleted(cluster, "free"))
    assert "deletionTimestamp" not in cluster.pod("guarded")["metadata"]
    cluster.delete("free")
    cluster.wait_until_bound("preemptor")


def test_a_pod_that_never_preempts_waits(
    muster: MusterProcess, cluster: Cluster, add_nodes: AddNodes, make_priority: PriorityClasses
) -> None:
    add_nodes(make_node("one"))
    cluster.create(large("runs"), scheduler=muster.name)
    cluster.wait_until_bound("runs")
    never = make_priority(1000, preemptionPolicy="Never")
    cluster.create(large("patient").priority_class(never), scheduler=muster.name)
    assert cluster.wait_until_unschedulable("patient") == (
        "0/1 nodes are available: 1 Insufficient cpu. preemption: not eligible due to preemptionPolicy=Never."
    )
    assert "deletionTimestamp" not in cluster.pod("runs")["metadata"]


def _deleted(cluster: Cluster, name: str) -> Any:
    pod = cluster.pod(name)
    return pod if "deletionTimestamp" in pod["metadata"] else None


def _nominated(cluster: Cluster, name: str) -> Any:
    pod = cluster.pod(name)
    return pod if pod["status"].get("nominatedNodeName") else None
