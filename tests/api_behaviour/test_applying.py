"""Server-side apply: who owns what, and what happens when two want different things."""

from typing import Any

from tests.api_behaviour.objects import config_map, deployment, pod_group
from tests.api_behaviour.server import APPLY, Answer, Server


def _managers(answer: Answer) -> dict[tuple[str, str], Any]:
    entries = answer.body["metadata"]["managedFields"]
    return {(entry["manager"], entry["operation"]): entry["fieldsV1"] for entry in entries}


async def test_apply_creates_what_is_not_there(server: Server) -> None:
    answer = await server.apply(server.path("configmaps", "a"), config_map("a", {"key": "value"}), "one")

    assert answer.code == 201
    assert _managers(answer) == {("one", "Apply"): {"f:data": {"f:key": {}}}}


async def test_applying_the_same_again_changes_nothing(server: Server) -> None:
    path, config = server.path("configmaps", "a"), config_map("a", {"key": "value"})

    first = await server.apply(path, config, "one")
    second = await server.apply(path, config, "one")

    assert (second.code, second.body) == (200, first.body)


async def test_fields_that_a_manager_no_longer_applies_are_removed(server: Server) -> None:
    path = server.path("configmaps", "a")
    await server.apply(path, config_map("a", {"keep": "1", "drop": "1"}, labels={"on": "yes"}), "one")

    answer = await server.apply(path, config_map("a", {"keep": "1"}), "one")

    assert answer.body["data"] == {"keep": "1"}
    assert "labels" not in answer.body["metadata"]


async def test_a_field_that_another_manager_owns_too_stays(server: Server) -> None:
    path = server.path("configmaps", "a")
    await server.apply(path, config_map("a", {"shared": "1"}), "one")
    await server.apply(path, config_map("a", {"shared": "1"}), "two")

    answer = await server.apply(path, config_map("a", {}), "one")

    assert answer.body["data"] == {"shared": "1"}


async def test_two_managers_that_want_different_values_conflict(server: Server) -> None:
    path = server.path("configmaps", "a")
    await server.apply(path, config_map("a", {"key": "one"}), "one")

    answer = await server.apply(path, config_map("a", {"key": "two"}), "two")

    assert (answer.code, answer.reason) == (409, "Conflict")
    assert answer.message == 'Apply failed with 1 conflict: conflict with "one": .data.key'
    assert answer.body["details"]["causes"] == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "one"', "field": ".data.key"}
    ]


async def test_conflicts_are_listed_by_manager(server: Server) -> None:
    path = server.path("configmaps", "a")
    await server.apply(path, config_map("a", {"x": "1", "y": "1"}), "one")

    answer = await server.apply(path, config_map("a", {"x": "2", "y": "2"}), "two")

    assert answer.message == 'Apply failed with 2 conflicts: conflicts with "one":\n- .data.x\n- .data.y'


async def test_force_takes_the_fields_over(server: Server) -> None:
    path = server.path("configmaps", "a")
    await server.apply(path, config_map("a", {"key": "one", "mine": "one"}), "one")

    answer = await server.apply(path, config_map("a", {"key": "two"}), "two", force="true")

    assert answer.body["data"] == {"key": "two", "mine": "one"}
    assert _managers(answer) == {
        ("one", "Apply"): {"f:data": {"f:mine": {}}},
        ("two", "Apply"): {"f:data": {"f:key": {}}},
    }


async def test_a_plain_write_takes_what_it_changes(server: Server) -> None:
    path = server.path("configmaps", "a")
    await server.apply(path, config_map("a", {"key": "one", "mine": "one"}), "one")

    changed = await server.patch(path, {"data": {"key": "edited"}}, fieldManager="editor")
    answer = await server.apply(path, config_map("a", {"key": "one", "mine": "one"}), "one")

    assert _managers(changed)["one", "Apply"] == {"f:data": {"f:mine": {}}}
    assert answer.code == 409
    assert answer.message == 'Apply failed with 1 conflict: conflict with "editor" using v1: .data.key'


async def test_all_managers_can_be_forgotten(server: Server) -> None:
    path = server.path("configmaps", "a")
    await server.apply(path, config_map("a", {"key": "one"}), "one")

    answer = await server.patch(path, {"metadata": {"managedFields": [{}]}}, fieldManager="janitor")

    assert "managedFields" not in answer.body["metadata"]


async def test_list_items_are_owned_by_their_keys(server: Server) -> None:
    path = server.path("deployments", "a", group="apps/v1")
    await server.apply(path, deployment("a", ("one", "nginx:1")), "one")
    more = {"containers": [{"name": "two", "image": "nginx:2"}]}
    config = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}}

    both = await server.apply(path, config | {"spec": {"template": {"spec": more}}}, "two")
    one = await server.apply(path, config, "two")

    names = [[item["name"] for item in answer.body["spec"]["template"]["spec"]["containers"]] for answer in (both, one)]
    assert names == [["one", "two"], ["one"]]
    assert _managers(both)["two", "Apply"] == {
        "f:spec": {
            "f:template": {"f:spec": {"f:containers": {'k:{"name":"two"}': {".": {}, "f:image": {}, "f:name": {}}}}}
        }
    }


async def test_a_custom_resource_is_applied_too(server: Server) -> None:
    path = server.pod_groups("gang")
    created = await server.apply(path, pod_group("gang", minMember=2), "one")

    refused = await server.apply(path, pod_group("gang", minMember=3), "two")
    status = pod_group("gang") | {"status": {"phase": "Running"}}
    reported = await server.apply(server.pod_groups("gang", "status"), status, "controller")

    assert (created.code, refused.code) == (201, 409)
    assert reported.body["status"] == {"phase": "Running"}
    assert reported.body["spec"] == {"minMember": 2}


async def test_an_apply_says_who_applies(server: Server) -> None:
    answer = await server.patch(server.path("configmaps", "a"), config_map("a", {}), APPLY)

    assert (answer.code, answer.reason) == (422, "Invalid")
    assert "fieldManager: Required value: is required for apply patch" in answer.message


async def test_an_applied_object_is_validated(server: Server) -> None:
    answer = await server.apply(server.pod_groups("gang"), pod_group("gang", minMember=0), "one")

    assert (answer.code, answer.reason) == (422, "Invalid")
