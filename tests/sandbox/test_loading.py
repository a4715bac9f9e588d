"""Filling a sandbox with many nodes, and with the dump of a real cluster."""

from typing import Any

import msgspec

from muster.plugins.coscheduling.definition import definition
from muster.sandbox import Sandbox
from muster.sandbox.contents import NodeShape
from muster.sandbox.kinds import EVENTS_V1, NAMESPACES, NODES, PODS
from tests.api_behaviour.objects import event, pod_group
from tests.builders import make_node, make_pod

_UID = "11111111-2222-4333-8444-555555555555"


def _dump(*items: dict[str, Any], kind: str = "List", api_version: str = "v1") -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "items": list(items)}


def _running(name: str, namespace: str) -> dict[str, Any]:
    pod = make_pod(name, namespace=namespace).node("node-1").phase("Running")
    pod["metadata"] |= {"uid": _UID, "creationTimestamp": "2020-01-01T00:00:00Z", "resourceVersion": "77"}
    return pod


def test_objects_of_a_dump_keep_their_identity_and_state() -> None:
    sandbox = Sandbox([definition()])

    sandbox.load([_dump(make_node("node-1"), _running("web", "default"))])

    pod = sandbox.store.get(PODS, "web", namespace="default")
    assert pod.obj["metadata"]["uid"] == _UID
    assert pod.obj["metadata"]["creationTimestamp"] == "2020-01-01T00:00:00Z"
    assert pod.obj["metadata"]["resourceVersion"] == str(pod.revision) != "77"
    assert (pod.obj["spec"]["nodeName"], pod.obj["status"]["phase"]) == ("node-1", "Running")


def test_namespaces_that_a_dump_lacks_are_made() -> None:
    sandbox = Sandbox([definition()])

    sandbox.load([_running("web", "team")])

    assert sandbox.store.get(NAMESPACES, "team").obj["status"]["phase"] == "Active"


def test_objects_of_kinds_that_are_not_served_are_counted_and_left_out() -> None:
    sandbox = Sandbox([definition()])
    foreign = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "job"}}

    loaded = sandbox.load([_dump(foreign, foreign, make_node("node-1")), pod_group("gang", minMember=2)])

    assert loaded.skipped == {"batch/v1 CronJob": 2}
    assert loaded.objects == {"nodes": 1, "podgroups": 1}


def test_a_list_of_one_kind_names_the_kind_of_its_items() -> None:
    sandbox = Sandbox([definition()])
    bare = {"metadata": {"name": "node-1"}}

    loaded = sandbox.load([_dump(bare, kind="NodeList")])

    assert loaded.objects == {"nodes": 1}
    assert sandbox.store.get(NODES, "node-1").obj["metadata"]["uid"]


def test_loaded_pods_have_the_defaults_that_they_were_written_without() -> None:
    sandbox = Sandbox([definition()])
    bare = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "b"}]}}

    sandbox.load([_dump(bare, kind="PodList")])

    spec = sandbox.store.get(PODS, "a", namespace="default").obj["spec"]
    assert spec["schedulerName"] == "default-scheduler"


def test_a_dump_can_be_taken_and_loaded_again() -> None:
    first, second = Sandbox([definition()]), Sandbox([definition()])
    first.nodes(3)
    first.load([_running("web", "team"), event("a", "default") | {"apiVersion": "v1", "kind": "Event"}])
    kinds = (NODES, PODS, EVENTS_V1)

    dumps = [msgspec.json.decode(entry.whole) for kind in kinds for entry in first.store.list(kind).entries]
    second.load([_dump(*dumps)])

    def stripped(sandbox: Sandbox) -> list[dict[str, Any]]:
        objects = [obj for kind in kinds for obj in sandbox.store.objects(kind)]
        return [obj | {"metadata": obj["metadata"] | {"resourceVersion": ""}} for obj in objects]

    assert stripped(second) == stripped(first)


def test_synthetic_nodes_are_ready_and_spread_over_zones() -> None:
    sandbox = Sandbox([definition()])

    names = sandbox.nodes(10)

    nodes = list(sandbox.store.objects(NODES))
    zones = [node["metadata"]["labels"]["topology.kubernetes.io/zone"] for node in nodes]
    assert names == [node["metadata"]["name"] for node in nodes]
    assert (names[0], names[-1]) == ("node-01", "node-10")
    assert zones[:4] == ["zone-1", "zone-2", "zone-3", "zone-1"]
    assert all(node["status"]["conditions"][0]["status"] == "True" for node in nodes)


def test_synthetic_nodes_have_the_shape_that_is_asked_for() -> None:
    sandbox = Sandbox([definition()])
    taint = {"key": "gpu", "effect": "NoSchedule"}
    shape = NodeShape(cpu="64", extended={"nvidia.com/gpu": "8"}, labels={"gpu": "a100"}, taints=(taint,))

    sandbox.nodes(2, shape=shape, prefix="gpu")

    node = sandbox.store.get(NODES, "gpu-1").obj
    assert node["status"]["allocatable"]["nvidia.com/gpu"] == "8"
    assert node["status"]["capacity"] == node["status"]["allocatable"]
    assert node["metadata"]["labels"]["gpu"] == "a100"
    assert node["spec"]["taints"] == [taint]


def test_thousands_of_nodes_and_pods_are_listed_and_selected() -> None:
    sandbox = Sandbox([definition()])
    sandbox.nodes(5000)
    sandbox.load(_running(f"pod-{number}", f"team-{number % 20}") for number in range(5000))

    assert len(sandbox.store.list(NODES).entries) == 5000
    assert len(sandbox.store.list(PODS, namespace="team-7").entries) == 250
