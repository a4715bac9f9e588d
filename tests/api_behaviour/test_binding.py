"""Binding pods to nodes."""

import pytest

from tests.api_behaviour.objects import binding
from tests.api_behaviour.server import STRATEGIC, Server, eventually
from tests.builders import make_pod

_OTHER_UID = "00000000-0000-4000-8000-000000000000"


async def test_a_bound_pod_has_a_node_and_is_scheduled(server: Server) -> None:
    created = await server.post(server.pods(), make_pod("web", namespace=server.namespace))

    answer = await server.post(
        server.pods("web", "binding"), binding("web", "node-1", uid=created.body["metadata"]["uid"])
    )

    pod = (await server.get(server.pods("web"))).body
    (condition,) = pod["status"]["conditions"]
    assert (answer.code, answer.body["status"]) == (201, "Success")
    assert pod["spec"]["nodeName"] == "node-1"
    assert (condition["type"], condition["status"]) == ("PodScheduled", "True")
    assert condition["lastTransitionTime"]
    assert pod["status"]["phase"] == "Pending"
    assert pod["metadata"]["generation"] == 1


async def test_an_earlier_failure_and_nomination_are_wiped_out(server: Server) -> None:
    await server.post(server.pods(), make_pod("web", namespace=server.namespace))
    failed = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/0 nodes"}
    status = {"conditions": [failed], "nominatedNodeName": "node-2"}
    await server.patch(server.pods("web", "status"), {"status": status}, STRATEGIC)

    await server.post(server.pods("web", "binding"), binding("web", "node-1"))

    status = (await server.get(server.pods("web"))).body["status"]
    (condition,) = status["conditions"]
    assert condition["status"] == "True"
    assert "reason" not in condition
    assert "message" not in condition
    assert "nominatedNodeName" not in status


async def test_a_pod_is_bound_only_once(server: Server) -> None:
    await server.post(server.pods(), make_pod("web", namespace=server.namespace))
    await server.post(server.pods("web", "binding"), binding("web", "node-1"))

    answer = await server.post(server.pods("web", "binding"), binding("web", "node-2"))

    assert (answer.code, answer.reason) == (409, "Conflict")
    assert answer.message == (
        'Operation cannot be fulfilled on pods/binding "web": pod web is already assigned to node "node-1"'
    )
    assert (await server.get(server.pods("web"))).body["spec"]["nodeName"] == "node-1"


async def test_a_binding_for_an_earlier_pod_of_the_name_conflicts(server: Server) -> None:
    created = await server.post(server.pods(), make_pod("web", namespace=server.namespace))

    answer = await server.post(server.pods("web", "binding"), binding("web", "node-1", uid=_OTHER_UID))

    assert (answer.code, answer.reason) == (409, "Conflict")
    uids = f"UID in precondition: {_OTHER_UID}, UID in object meta: {created.body['metadata']['uid']}"
    assert answer.message.startswith('Operation cannot be fulfilled on pods "web": ')
    assert f"Precondition failed: {uids}" in answer.message


async def test_a_pod_that_is_not_there_cannot_be_bound(server: Server) -> None:
    answer = await server.post(server.pods("web", "binding"), binding("web", "node-1"))

    assert (answer.code, answer.reason) == (404, "NotFound")
    assert answer.message == 'pods "web" not found'


async def test_a_gated_pod_cannot_be_bound(server: Server) -> None:
    await server.post(server.pods(), make_pod("web", namespace=server.namespace).gate("a"))

    answer = await server.post(server.pods("web", "binding"), binding("web", "node-1"))

    assert answer.code == 409
    assert answer.message.endswith("pod web has non-empty .spec.schedulingGates")


async def test_a_pod_that_is_being_deleted_cannot_be_bound(server: Server) -> None:
    pod = make_pod("web", namespace=server.namespace)
    pod["metadata"]["finalizers"] = ["example.com/hold"]
    await server.post(server.pods(), pod)
    await server.delete(server.pods("web"))

    answer = await server.post(server.pods("web", "binding"), binding("web", "node-1"))

    assert answer.code == 409
    assert answer.message.endswith("pod web is being deleted, cannot be assigned to a host")


async def test_annotations_and_labels_of_the_binding_go_to_the_pod(server: Server) -> None:
    await server.post(server.pods(), make_pod("web", namespace=server.namespace).labels(app="web"))
    marked = binding("web", "node-1", annotations={"why": "best"}, labels={"seen": "yes"})

    await server.post(server.pods("web", "binding"), marked)

    metadata = (await server.get(server.pods("web"))).body["metadata"]
    assert metadata["annotations"] == {"why": "best"}
    assert metadata["labels"] == {"app": "web", "seen": "yes"}


async def test_a_bound_pod_gets_the_labels_of_its_zone(server: Server) -> None:
    node, zone = f"{server.namespace}-node", {"topology.kubernetes.io/zone": "a"}
    await server.post("/api/v1/nodes", {"metadata": {"name": node, "labels": zone}})
    await server.post(server.pods(), make_pod("web", namespace=server.namespace))
    other = make_pod("other", namespace=server.namespace).node(node)
    await eventually(
        lambda: server.post(server.pods(), other, dryRun="All"), lambda answer: "labels" in answer.body["metadata"]
    )

    await server.post(server.pods("web", "binding"), binding("web", node))

    assert (await server.get(server.pods("web"))).body["metadata"]["labels"] == zone


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ({"kind": "Node"}, "target.name: Required value"),
        (
            {"kind": "Rack", "name": "a"},
            'target.kind: Unsupported value: "Rack": supported values: "Node", "<empty>"',
        ),
    ],
)
async def test_a_pod_is_bound_to_a_node(server: Server, target: dict[str, str], message: str) -> None:
    await server.post(server.pods(), make_pod("web", namespace=server.namespace))

    answer = await server.post(server.pods("web", "binding"), {"metadata": {"name": "web"}, "target": target})

    assert (answer.code, answer.message) == (500, message)


async def test_the_binding_names_the_pod_of_the_path(server: Server) -> None:
    await server.post(server.pods(), make_pod("web", namespace=server.namespace))

    answer = await server.post(server.pods("web", "binding"), binding("other", "node-1"))

    assert (answer.code, answer.message) == (400, "name in URL does not match name in Binding object")


async def test_bindings_can_be_posted_beside_the_pods_too(server: Server) -> None:
    await server.post(server.pods(), make_pod("web", namespace=server.namespace))

    answer = await server.post(server.path("bindings"), binding("web", "node-1"))

    assert answer.code == 201
    assert (await server.get(server.pods("web"))).body["spec"]["nodeName"] == "node-1"


async def test_a_dry_run_binds_nothing(server: Server) -> None:
    await server.post(server.pods(), make_pod("web", namespace=server.namespace))

    answer = await server.post(server.pods("web", "binding"), binding("web", "node-1"), dryRun="All")

    assert answer.code == 201
    assert "nodeName" not in (await server.get(server.pods("web"))).body["spec"]
