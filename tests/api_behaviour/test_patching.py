"""The patch formats."""

from typing import Any

import pytest

from tests.api_behaviour.objects import config_map, deployment, pod_group
from tests.api_behaviour.server import JSON_PATCH, MERGE, STRATEGIC, Server
from tests.builders import make_pod


def _container_names(answer_body: dict[str, Any]) -> list[str]:
    return [container["name"] for container in answer_body["spec"]["template"]["spec"]["containers"]]


async def test_a_merge_patch_sets_adds_and_removes_fields(server: Server) -> None:
    await server.post(server.path("configmaps"), config_map("a", {"keep": "1", "set": "1", "drop": "1"}))

    answer = await server.patch(server.path("configmaps", "a"), {"data": {"set": "2", "add": "3", "drop": None}})

    assert answer.code == 200
    assert answer.body["data"] == {"keep": "1", "set": "2", "add": "3"}


async def test_a_merge_patch_replaces_lists(server: Server) -> None:
    path = server.path("deployments", group="apps/v1")
    await server.post(path, deployment("a", ("one", "nginx"), ("two", "nginx")))
    containers = [{"name": "three", "image": "nginx"}]

    answer = await server.patch(f"{path}/a", {"spec": {"template": {"spec": {"containers": containers}}}}, MERGE)

    assert _container_names(answer.body) == ["three"]


async def test_a_label_that_is_removed_leaves_no_empty_map(server: Server) -> None:
    await server.post(server.path("configmaps"), config_map("a", {}, labels={"only": "one"}))

    answer = await server.patch(server.path("configmaps", "a"), {"metadata": {"labels": {"only": None}}})

    assert "labels" not in answer.body["metadata"]


async def test_a_json_patch_is_carried_out_in_order(server: Server) -> None:
    await server.post(server.path("configmaps"), config_map("a", {"one": "1", "two": "2"}, annotations={"a/b": "3"}))
    operations = [
        {"op": "test", "path": "/data/one", "value": "1"},
        {"op": "replace", "path": "/data/one", "value": "new"},
        {"op": "copy", "from": "/data/one", "path": "/data/copied"},
        {"op": "move", "from": "/data/two", "path": "/data/moved"},
        {"op": "remove", "path": "/metadata/annotations/a~1b"},
        {"op": "add", "path": "/metadata/labels", "value": {"on": "yes"}},
    ]

    answer = await server.patch(server.path("configmaps", "a"), operations, JSON_PATCH)

    assert answer.code == 200
    assert answer.body["data"] == {"one": "new", "copied": "new", "moved": "2"}
    assert answer.body["metadata"]["labels"] == {"on": "yes"}
    assert "annotations" not in answer.body["metadata"]


async def test_a_json_patch_adds_to_lists_by_position(server: Server) -> None:
    path = server.path("deployments", group="apps/v1")
    await server.post(path, deployment("a", ("one", "nginx")))
    containers = "/spec/template/spec/containers"
    operations = [
        {"op": "add", "path": f"{containers}/-", "value": {"name": "last", "image": "nginx"}},
        {"op": "add", "path": f"{containers}/0", "value": {"name": "first", "image": "nginx"}},
        {"op": "remove", "path": f"{containers}/1"},
    ]

    answer = await server.patch(f"{path}/a", operations, JSON_PATCH)

    assert _container_names(answer.body) == ["first", "last"]


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/data/key", "value": "other"},
        {"op": "remove", "path": "/data/nothing"},
        {"op": "replace", "path": "/nothing/at/all", "value": "1"},
    ],
)
async def test_a_json_patch_that_fails_changes_nothing(server: Server, operation: dict[str, str]) -> None:
    await server.post(server.path("configmaps"), config_map("a", {"key": "value"}))
    operations = [{"op": "add", "path": "/data/first", "value": "1"}, operation]

    answer = await server.patch(server.path("configmaps", "a"), operations, JSON_PATCH)

    assert (answer.code, answer.reason) == (422, "Invalid")
    assert answer.message == "the server rejected our request due to an error in our request"
    assert (await server.get(server.path("configmaps", "a"))).body["data"] == {"key": "value"}


async def test_a_strategic_merge_knows_containers_by_name(server: Server) -> None:
    path = server.path("deployments", group="apps/v1")
    await server.post(path, deployment("a", ("one", "nginx:1"), ("two", "nginx:1")))
    containers = [{"name": "two", "image": "nginx:2"}, {"name": "three", "image": "nginx:3"}]

    answer = await server.patch(f"{path}/a", {"spec": {"template": {"spec": {"containers": containers}}}}, STRATEGIC)

    images = {item["name"]: item["image"] for item in answer.body["spec"]["template"]["spec"]["containers"]}
    assert images == {"one": "nginx:1", "two": "nginx:2", "three": "nginx:3"}


async def test_a_strategic_merge_deletes_by_directive(server: Server) -> None:
    path = server.path("deployments", group="apps/v1")
    await server.post(path, deployment("a", ("one", "nginx"), ("two", "nginx")))
    containers = [{"name": "one", "$patch": "delete"}]

    answer = await server.patch(f"{path}/a", {"spec": {"template": {"spec": {"containers": containers}}}}, STRATEGIC)

    assert _container_names(answer.body) == ["two"]


async def test_a_strategic_merge_replaces_by_directive(server: Server) -> None:
    path = server.path("deployments", group="apps/v1")
    await server.post(path, deployment("a", ("one", "nginx"), ("two", "nginx")))
    containers = [{"name": "three", "image": "nginx"}, {"$patch": "replace"}]

    answer = await server.patch(f"{path}/a", {"spec": {"template": {"spec": {"containers": containers}}}}, STRATEGIC)

    assert _container_names(answer.body) == ["three"]


async def test_a_strategic_merge_orders_by_directive(server: Server) -> None:
    path = server.path("deployments", group="apps/v1")
    await server.post(path, deployment("a", ("one", "nginx"), ("two", "nginx"), ("three", "nginx")))
    spec = {
        "$setElementOrder/containers": [{"name": "three"}, {"name": "new"}, {"name": "one"}],
        "containers": [{"name": "new", "image": "nginx"}],
    }

    answer = await server.patch(f"{path}/a", {"spec": {"template": {"spec": spec}}}, STRATEGIC)

    names = _container_names(answer.body)
    assert [name for name in names if name != "two"] == ["three", "new", "one"]
    assert len(names) == 4


async def test_a_strategic_merge_adds_to_sets_and_takes_from_them(server: Server) -> None:
    await server.post(server.path("configmaps"), config_map("a", {}, finalizers=["example.com/a", "example.com/b"]))
    path = server.path("configmaps", "a")

    added = await server.patch(path, {"metadata": {"finalizers": ["example.com/c"]}}, STRATEGIC)
    taken = await server.patch(
        path, {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a"]}}, STRATEGIC
    )

    assert set(added.body["metadata"]["finalizers"]) == {"example.com/a", "example.com/b", "example.com/c"}
    assert set(taken.body["metadata"]["finalizers"]) == {"example.com/b", "example.com/c"}


async def test_conditions_merge_by_type(server: Server) -> None:
    await server.post(server.pods(), make_pod("web", namespace=server.namespace))
    path = server.pods("web", "status")
    unschedulable = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/0 nodes"}

    await server.patch(path, {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}, STRATEGIC)
    answer = await server.patch(
        path, {"status": {"conditions": [unschedulable], "nominatedNodeName": "node-1"}}, STRATEGIC
    )

    conditions = {item["type"]: item for item in answer.body["status"]["conditions"]}
    assert set(conditions) == {"PodScheduled", "Ready"}
    assert conditions["PodScheduled"]["message"] == "0/0 nodes"
    assert answer.body["status"]["nominatedNodeName"] == "node-1"


async def test_taints_and_tolerations_are_replaced_whole(server: Server) -> None:
    name = f"{server.namespace}-node"
    taints = [{"key": "a", "effect": "NoSchedule"}, {"key": "b", "effect": "NoSchedule"}]
    await server.post("/api/v1/nodes", {"metadata": {"name": name}, "spec": {"taints": taints}})

    answer = await server.patch(f"/api/v1/nodes/{name}", {"spec": {"taints": taints[1:]}}, STRATEGIC)

    assert answer.body["spec"]["taints"] == taints[1:]


async def test_a_custom_resource_takes_no_strategic_merge(server: Server) -> None:
    await server.post(server.pod_groups(), pod_group("gang", minMember=2))

    answer = await server.patch(server.pod_groups("gang"), {"spec": {"minMember": 3}}, STRATEGIC)

    assert (answer.code, answer.reason) == (415, "UnsupportedMediaType")
    assert answer.message == (
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
    )


async def test_a_patch_may_insist_on_a_version(server: Server) -> None:
    created = await server.post(server.path("configmaps"), config_map("a", {}))
    path = server.path("configmaps", "a")
    await server.patch(path, {"data": {"key": "first"}})

    answer = await server.patch(path, {"metadata": {"resourceVersion": created.version}, "data": {"key": "second"}})

    assert (answer.code, answer.reason) == (409, "Conflict")


async def test_a_patch_to_nothing_is_not_found(server: Server) -> None:
    answer = await server.patch(server.path("configmaps", "a"), {})

    assert (answer.code, answer.reason) == (404, "NotFound")


async def test_a_dry_run_of_a_patch_changes_nothing(server: Server) -> None:
    await server.post(server.path("configmaps"), config_map("a", {"key": "old"}))

    answer = await server.patch(server.path("configmaps", "a"), {"data": {"key": "new"}}, dryRun="All")

    assert answer.body["data"] == {"key": "new"}
    assert (await server.get(server.path("configmaps", "a"))).body["data"] == {"key": "old"}
