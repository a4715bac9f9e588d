"""Gangs that preempt on a real API server: what kubectl shows from the decision to the start."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from click.testing import CliRunner

from muster.operator.cli import main
from tests.builders import PodDict, make_node, make_pod
from tests.controlplane.plane import ControlPlane
from tests.coscheduling.conftest import AddNodes
from tests.coscheduling.objects import make_members
from tests.coscheduling.real.gangs import GangCluster
from tests.e2e.eventually import eventually

BUDGETS = "/apis/policy/v1/namespaces/{}/poddisruptionbudgets"

Classes = dict[str, str]


def low(name: str, cpu: str = "1", **labels: str) -> PodDict:
    """A pod that any other may evict."""
    return make_pod(name).requests(cpu=cpu).labels(labels)


def urgent(pods: Iterable[PodDict], priority_classes: Classes) -> list[PodDict]:
    """The pods at a priority above all others."""
    return [pod.priority_class(priority_classes["high"]) for pod in pods]


def run(gangs: GangCluster, *pods: PodDict) -> None:
    """Pods that run before the gang comes: one after another, each where it fits."""
    for pod in pods:
        gangs.add(pod)
        gangs.wait_until_bound(pod.name)


def victims(gangs: GangCluster) -> list[str]:
    """The pods that are being deleted."""
    return sorted(pod["metadata"]["name"] for pod in gangs.pods() if "deletionTimestamp" in pod["metadata"])


def wait_until_evicted(gangs: GangCluster, count: int) -> list[str]:
    """The victims, once there are so many."""
    return eventually(lambda: found if len(found := victims(gangs)) >= count else [])


def end(gangs: GangCluster, names: Sequence[str]) -> None:
    """What a kubelet does when the grace period is over."""
    for name in names:
        gangs.delete(name)


def condition(pod: Any, kind: str) -> Any:
    return next((each for each in pod["status"].get("conditions", ()) if each["type"] == kind), None)


def test_a_gang_reports_each_step_of_its_preemption(
    gangs: GangCluster, add_nodes: AddNodes, priority_classes: Classes
) -> None:
    add_nodes(make_node("one", cpu="2"), make_node("two", cpu="2"))
    run(gangs, low("a", "2"), low("b", "1"))
    gangs.add_group("train", 3)
    gangs.add(*urgent(make_members("train", 3), priority_classes))

    assert wait_until_evicted(gangs, 1) == ["a"]
    disruption = condition(gangs.pod("a"), "DisruptionTarget")
    assert (disruption["status"], disruption["reason"], disruption["message"]) == (
        "True",
        "PreemptionByScheduler",
        f"{gangs.scheduler}: preempting to accommodate a higher priority podgroup",
    )
    uid = gangs.kubectl("get", "podgroup.scheduling.x-k8s.io", "train", "--output=jsonpath={.metadata.uid}")
    [preempted] = eventually(lambda: gangs.events("a", "Preempted"))
    assert (preempted["note"], preempted["action"]) == (f"Preempted by podgroup {uid} on node cluster", "Preempting")
    reported = (
        f"pod group {gangs.namespace}/train is unschedulable, 1 of the 3 members that it needs fits; "
        "with that one placed: 0/2 nodes are available: 2 Insufficient cpu. "
        "pod group preemption: found a placement for podgroup, preempting 1 victims"
    )
    for name in ("train-0", "train-1", "train-2"):
        assert gangs.wait_until_unschedulable(name) == reported
        assert gangs.wait_until_said(name, "preempting 1 victims") == reported
    eventually(lambda: gangs.condition("train") == ("Unschedulable", reported))
    promised = {name: gangs.pod(name)["status"]["nominatedNodeName"] for name in ("train-0", "train-1", "train-2")}
    assert sorted(promised.values()) == sorted([gangs.node_of("a")] * 2 + [gangs.node_of("b")])
    assert gangs.nodes("train") == {}

    gangs.add(low("latecomer"))
    gangs.wait_until_unschedulable("latecomer")
    end(gangs, ["a"])
    assert gangs.wait_until_started("train", 3) == promised
    assert [gangs.pod(name)["status"].get("nominatedNodeName") for name in promised] == [None] * 3
    eventually(lambda: gangs.condition("train") == ("Scheduled", "the 3 pods that it needs are scheduled"))
    assert gangs.node_of("latecomer") == ""
    assert victims(gangs) == []


def test_a_gang_leaves_pods_that_a_budget_protects_if_it_can_and_says_which_it_would_overrule(
    gangs: GangCluster,
    add_nodes: AddNodes,
    priority_classes: Classes,
    control_plane: ControlPlane,
) -> None:
    add_nodes(make_node("one", cpu="2"), make_node("two", cpu="2"))
    run(gangs, low("guarded", "2", app="db"), low("free", "2"))
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "db"}}}
    gangs.api.post(BUDGETS.format(gangs.namespace), {"metadata": {"name": "db"}, "spec": spec})
    gangs.add_group("first", 2)
    gangs.add(*urgent(make_members("first", 2), priority_classes))
    assert wait_until_evicted(gangs, 1) == ["free"]
    end(gangs, ["free"])
    gangs.wait_until_started("first", 2)

    gangs.add_group("second", 2)
    members = [pod.gate("example.com/quota") for pod in urgent(make_members("second", 2), priority_classes)]
    gangs.add(*members)
    kubeconfig = f"--kubeconfig={control_plane.kubeconfig()}"
    wanted = json.dumps({"kind": "List", "items": [_ungated(gangs, pod) for pod in members]})
    asked = CliRunner().invoke(main, ["simulate", "-f", "-", "-o", "json", kubeconfig], input=wanted)
    assert json.loads(asked.stdout)["evicted"] == [
        {
            "pod": f"{gangs.namespace}/guarded",
            "priority": 0,
            "node": gangs.node_of("guarded"),
            "preemptor": f"{gangs.namespace}/second",
            "group": True,
            "budget": f"{gangs.namespace}/db",
        }
    ]


def _ungated(gangs: GangCluster, pod: PodDict) -> Any:
    found = gangs.pod(pod.name)
    del found["spec"]["schedulingGates"]
    found["spec"]["schedulerName"] = "muster"  # simulate has the default profile, not that of the process
    return found
