"""Gangs that make room for themselves on a real API server: what kubectl shows from the decision to the start."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from click.testing import CliRunner

from muster.operator.cli import main
from tests.builders import PodDict, make_node, make_pod
from tests.controlplane.plane import ControlPlane
from tests.coscheduling.objects import make_member, make_members
from tests.coscheduling.real.conftest import AddNodes
from tests.coscheduling.real.gangs import GangCluster
from tests.e2e.eventually import eventually

GPU = "example.com/gpu"
MODE = "muster-scheduler.io/disruption-mode"
BUDGETS = "/apis/policy/v1/namespaces/{}/poddisruptionbudgets"

Classes = dict[str, str]


def low(name: str, cpu: str = "1", **labels: str) -> PodDict:
    """A pod that anybody may evict."""
    return make_pod(name).requests(cpu=cpu).labels(labels)


def urgent(pods: Iterable[PodDict], priority_classes: Classes) -> list[PodDict]:
    """The pods at a priority above all others."""
    return [pod.priority_class(priority_classes["high"]) for pod in pods]


def run(gangs: GangCluster, *pods: PodDict) -> None:
    """Pods that run before the gang comes: one after another, each where there is room for it."""
    for pod in pods:
        gangs.add(pod)
        gangs.wait_until_bound(pod.name)


def victims(gangs: GangCluster) -> list[str]:
    """The pods that were told to go and have not gone yet."""
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


def test_a_gang_tells_at_every_step_how_it_makes_room(
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
    told = (
        f"pod group {gangs.namespace}/train is unschedulable, 1 of the 3 members that it needs fit; "
        "with that one placed: 0/2 nodes are available: 2 Insufficient cpu. "
        "pod group preemption: found a placement for podgroup, preempting 1 victims"
    )
    for name in ("train-0", "train-1", "train-2"):
        assert gangs.wait_until_unschedulable(name) == told
        assert gangs.wait_until_said(name, "preempting 1 victims") == told
    eventually(lambda: gangs.condition("train") == ("Unschedulable", told))
    promised = {name: gangs.pod(name)["status"]["nominatedNodeName"] for name in ("train-0", "train-1", "train-2")}
    assert sorted(promised.values()) == sorted([gangs.node_of("a")] * 2 + [gangs.node_of("b")])
    assert gangs.nodes("train") == {}

    gangs.add(low("latecomer"))
    gangs.wait_until_unschedulable("latecomer")
    end(gangs, ["a"])
    assert gangs.wait_until_started("train", 3) == promised
    assert [gangs.pod(name)["status"].get("nominatedNodeName") for name in promised] == [None] * 3
    eventually(lambda: gangs.condition("train") == ("Scheduled", "3 of 3 pods are scheduled"))
    assert gangs.node_of("latecomer") == ""
    assert victims(gangs) == []


def test_nobody_goes_while_the_whole_gang_would_not_fit_all_the_same(
    gangs: GangCluster, add_nodes: AddNodes, priority_classes: Classes
) -> None:
    add_nodes(make_node("one", cpu="2"), make_node("two", cpu="2"))
    run(gangs, low("a", "2"), *urgent([low("peer", "2")], priority_classes))
    gangs.add_group("train", 3)
    gangs.add(*urgent(make_members("train", 3), priority_classes))

    assert gangs.wait_until_said("train-0", "pod group preemption: ").endswith(
        "pod group preemption: 0/2 nodes are available: 2 Insufficient cpu."
    )
    assert gangs.wait_until_unschedulable("train-2").endswith("2 Insufficient cpu.")
    assert victims(gangs) == []
    assert [pod for pod in gangs.pods() if pod["status"].get("nominatedNodeName")] == []


def test_roles_with_and_without_gpus_make_room_on_the_nodes_of_each_and_no_more_go_than_it_takes(
    gangs: GangCluster, add_nodes: AddNodes, priority_classes: Classes
) -> None:
    add_nodes(make_node("gpus", cpu="8").resources({GPU: "4"}), make_node("one", cpu="8"), make_node("two", cpu="8"))
    run(gangs, *(low(f"trains-{n}", "2").limits({GPU: "1"}) for n in range(4)), low("serves", "8"), low("idles", "4"))
    gangs.add_group("mixed", 3)
    workers = [make_member(f"worker-{n}", "mixed", cpu="2").limits({GPU: "1"}) for n in range(2)]
    gangs.add(*urgent([*workers, make_member("ps", "mixed", cpu="8")], priority_classes))

    gone = wait_until_evicted(gangs, 3)
    assert len(gone) == 3
    assert [name.partition("-")[0] for name in gone[1:]] == ["trains", "trains"]
    assert gone[0] in ("idles", "serves")  # the one costs as much as the other
    end(gangs, gone)
    gangs.wait_until_started("mixed", 3)
    assert victims(gangs) == []


def gang_runs(gangs: GangCluster, name: str, least: int, size: int, mode: str = "") -> None:
    gangs.add_group(name, least, annotations={MODE: mode} if mode else {})
    gangs.add(*make_members(name, size))
    gangs.wait_until_started(name, size)


@pytest.mark.parametrize(
    ("least", "mode", "evicted"),
    [(4, "", 4), (3, "", 1), (4, "Single", 1), (1, "All", 4)],
    ids=["all that run at the quorum", "what the quorum can spare", "one by one by policy", "all by policy"],
)
def test_of_a_running_gang_go(
    least: int, mode: str, evicted: int, gangs: GangCluster, add_nodes: AddNodes, priority_classes: Classes
) -> None:
    add_nodes(make_node("one", cpu="4"))
    gang_runs(gangs, "runs", least, 4, mode)
    gangs.add_group("train", 1)
    gangs.add(*urgent(make_members("train", 1), priority_classes))

    gone = wait_until_evicted(gangs, evicted)
    assert len(gone) == evicted
    eventually(lambda: gangs.pod("train-0")["status"].get("nominatedNodeName"))
    end(gangs, gone)
    gangs.wait_until_started("train", 1)
    assert victims(gangs) == []


def test_a_single_pod_evicts_a_running_gang_whole(
    gangs: GangCluster, add_nodes: AddNodes, priority_classes: Classes
) -> None:
    add_nodes(make_node("one", cpu="2"))
    gang_runs(gangs, "runs", 2, 2)
    gangs.add(*urgent([make_pod("web").requests(cpu="1")], priority_classes))
    assert wait_until_evicted(gangs, 2) == ["runs-0", "runs-1"]


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
    return found


def test_a_gang_with_a_member_that_never_preempts_waits(gangs: GangCluster, add_nodes: AddNodes) -> None:
    add_nodes(make_node("one", cpu="2"))
    name = f"{gangs.namespace}-never"
    path = "/apis/scheduling.k8s.io/v1/priorityclasses"
    gangs.api.post(path, {"metadata": {"name": name}, "value": 1000, "preemptionPolicy": "Never"})
    run(gangs, low("a", "2"))
    gangs.add_group("patient", 2)
    gangs.add(*(pod.priority_class(name) for pod in make_members("patient", 2)))
    assert gangs.wait_until_unschedulable("patient-0").endswith(
        "pod group preemption: not eligible due to preemptionPolicy=Never."
    )
    gangs.api.delete(f"{path}/{name}")
    assert victims(gangs) == []
