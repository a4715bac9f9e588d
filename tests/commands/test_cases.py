"""Cases: what `muster explain --batch` decides of a recorded cluster."""

import json
from typing import Any

import pytest

from muster.operator.explain.cases import CaseError, decide
from tests.builders import make_node, make_pod
from tests.dynamicresources.objects import GPU, claiming_pod, device, exactly, make_claim, make_class, make_slice


def _decision(pod: dict[str, Any], *objects: dict[str, Any]) -> dict[str, Any]:
    case = {"id": "one", "objects": objects, "pod": pod}
    (line,) = decide([json.dumps(case).encode()], "test")
    decision: dict[str, Any] = json.loads(line)
    return decision


@pytest.mark.parametrize(("phase", "feasible"), [("Running", []), ("Succeeded", ["a"]), ("Failed", ["a"])])
def test_a_pod_that_ended_takes_nothing_of_its_node(phase: str, feasible: list[str]) -> None:
    other = make_pod("other").node("a").phase(phase)
    decision = _decision(make_pod("new"), make_node("a", pods="1"), other)
    assert decision["feasible"] == feasible


def test_a_member_is_decided_with_the_pod_group_of_its_case() -> None:
    group = {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "gang", "namespace": "default"},
        "spec": {"minMember": 1},
    }
    member = make_pod("member").labels({"scheduling.x-k8s.io/pod-group": "gang"})
    plugins = {"multiPoint": {"enabled": [{"name": "Coscheduling"}], "disabled": [{"name": "PrioritySort"}]}}
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "muster", "plugins": plugins}],
    }
    case = {"id": "one", "objects": [make_node("a"), member], "pod": member, "config": config}
    without, among = (
        json.loads(next(decide([json.dumps({**case, "objects": [*case["objects"], *more]}).encode()], "test")))
        for more in ([], [group])
    )
    assert (without["feasible"], among["feasible"]) == ([], ["a"])


@pytest.mark.parametrize(("priority", "feasible"), [(99, []), (100, []), (101, ["a"])])
def test_a_nominated_pod_counts_on_its_node_for_pods_of_no_higher_priority(priority: int, feasible: list[str]) -> None:
    nominee = make_pod("nominee").requests(cpu="4").priority(100).nominated("a")
    decision = _decision(make_pod("new").requests(cpu="4").priority(priority), make_node("a", cpu="4"), nominee)
    assert decision["feasible"] == feasible


def test_a_node_that_fails_with_and_without_its_nominated_pods_has_the_status_that_it_has_with_them() -> None:
    nominee = make_pod("nominee").host_port(80).requests(memory="1Gi").priority(100).nominated("small")
    new = make_pod("new").host_port(80).requests(cpu="2")
    nodes = make_node("small", cpu="1", memory="1Gi"), make_node("large", cpu="4")
    without, among = _decision(new, *nodes), _decision(new, *nodes, nominee)
    assert without["feasible"] == among["feasible"] == ["large"]
    assert without["rejected"]["small"] == {
        "code": "UnschedulableAndUnresolvable",
        "plugin": "NodeResourcesFit",
        "reasons": ["Insufficient cpu"],
    }
    assert among["rejected"]["small"] == {
        "code": "Unschedulable",
        "plugin": "NodePorts",
        "reasons": ["node(s) didn't have free ports for the requested pod ports"],
    }


def test_a_pod_evicts_no_pod_while_victims_terminate_on_its_nominated_node() -> None:
    victim = make_pod("victim").node("a").requests(cpu="4").priority(0)
    victim["metadata"]["deletionTimestamp"] = "2026-01-02T00:00:00Z"
    leaving = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    victim["status"] = {"phase": "Running", "conditions": [leaving]}
    waiting = make_pod("new").requests(cpu="4").priority(100).nominated("a")
    decision = _decision(waiting, make_node("a", cpu="4"), victim)
    assert decision["message"].endswith("preemption: not eligible due to a terminating pod on the nominated node.")


def test_of_two_pods_that_could_go_the_one_that_has_not_started_goes() -> None:
    old, new = (make_pod(name).node("a").requests(cpu="2").priority(0) for name in ("old", "new"))
    old["status"] = {"phase": "Running", "startTime": "2020-01-01T00:00:00Z"}
    decision = _decision(make_pod("urgent").requests(cpu="2").priority(100), make_node("a", cpu="4"), old, new)
    assert decision["victims"] == ["default/new"]


def test_a_failure_while_victims_are_tried_is_reported_with_its_plugin() -> None:
    pod = claiming_pod("user", "wanted").requests(cpu="4").priority(100)
    victim = make_pod("victim").node("a").requests(cpu="4").priority(0)
    gpus, claim = make_class("gpu", f"device.driver == '{GPU}'"), make_claim("wanted", exactly(1, "device.nosuch"))
    decision = _decision(pod, make_node("a", cpu="4"), victim, gpus, claim, make_slice("gpus", device("d"), node="a"))
    assert decision["message"] == (
        "0/1 nodes are available: 1 Insufficient cpu. preemption: "
        'running "DynamicResources" filter plugin: claim default/wanted: selector #0: CEL compile error: '
        "undefined field 'nosuch'"
    )


def test_two_pods_with_one_uid_are_no_case() -> None:
    twins = [make_pod(name).node("a") for name in ("one", "two")]
    for twin in twins:
        twin["metadata"]["uid"] = "same"
    with pytest.raises(CaseError, match="line 1: objects: pods one and two have the same"):
        _decision(make_pod("new"), make_node("a"), *twins)
