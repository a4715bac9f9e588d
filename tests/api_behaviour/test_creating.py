"""Creating objects: names, defaults and versions that the server adds."""

import re

import pytest

from tests.api_behaviour.objects import config_map, deployment
from tests.api_behaviour.server import Server
from tests.builders import make_pod


async def test_a_new_object_gets_a_uid_a_creation_time_and_a_version(server: Server) -> None:
    answer = await server.post(server.path("configmaps"), config_map("a", {"key": "value"}))

    metadata = answer.body["metadata"]
    assert answer.code == 201
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", metadata["uid"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", metadata["creationTimestamp"])
    assert int(metadata["resourceVersion"]) > 0
    assert metadata["namespace"] == server.namespace
    assert answer.body["data"] == {"key": "value"}


async def test_the_uid_and_the_times_that_a_client_makes_up_are_replaced(server: Server) -> None:
    made_up = config_map("a", {}, uid="mine", creationTimestamp="2001-01-01T00:00:00Z")

    metadata = (await server.post(server.path("configmaps"), made_up)).body["metadata"]

    assert metadata["uid"] != "mine"
    assert not metadata["creationTimestamp"].startswith("2001")


async def test_a_name_is_generated_from_its_beginning(server: Server) -> None:
    nameless = {"metadata": {"generateName": "job-"}}

    names = [(await server.post(server.path("configmaps"), nameless)).body["metadata"]["name"] for _ in range(2)]

    assert all(re.fullmatch(r"job-[bcdfghjklmnpqrstvwxz2456789]{5}", name) for name in names)
    assert names[0] != names[1]


async def test_versions_grow_over_all_kinds(server: Server) -> None:
    first = await server.post(server.path("configmaps"), config_map("a", {}))
    second = await server.post(server.pods(), make_pod("web", namespace=server.namespace))
    third = await server.post(server.path("configmaps"), config_map("b", {}))

    assert int(first.version) < int(second.version) < int(third.version)


@pytest.mark.parametrize(
    ("resource", "group", "generation"), [("pods", "", 1), ("deployments", "apps/v1", 1), ("configmaps", "", None)]
)
async def test_kinds_with_a_spec_to_reconcile_start_at_generation_one(
    server: Server, resource: str, group: str, generation: int | None
) -> None:
    objects = {
        "pods": make_pod("a", namespace=server.namespace),
        "deployments": deployment("a", ("main", "nginx")),
        "configmaps": config_map("a", {}),
    }

    answer = await server.post(server.path(resource, group=group), objects[resource])

    assert answer.body["metadata"].get("generation") == generation


async def test_a_name_that_is_taken_is_refused(server: Server) -> None:
    await server.post(server.path("configmaps"), config_map("a", {}))

    answer = await server.post(server.path("configmaps"), config_map("a", {}))

    assert (answer.code, answer.reason) == (409, "AlreadyExists")
    assert answer.message == 'configmaps "a" already exists'
    assert answer.body["details"] == {"name": "a", "kind": "configmaps"}


async def test_a_taken_name_whose_object_is_going_says_so(server: Server) -> None:
    await server.post(server.path("configmaps"), config_map("a", {}, finalizers=["example.com/hold"]))
    await server.delete(server.path("configmaps", "a"))

    answer = await server.post(server.path("configmaps"), config_map("a", {}))

    assert answer.message == 'object is being deleted: configmaps "a" already exists'


async def test_the_namespace_has_to_exist(server: Server) -> None:
    path = server.path("configmaps", namespace="nowhere")

    answer = await server.post(path, config_map("a", {}))

    assert (answer.code, answer.reason) == (404, "NotFound")
    assert answer.message == 'namespaces "nowhere" not found'


async def test_the_namespace_of_the_object_has_to_be_that_of_the_path(server: Server) -> None:
    answer = await server.post(server.path("configmaps"), config_map("a", {}, namespace="elsewhere"))

    assert answer.code == 400
    assert answer.message == "the namespace of the provided object does not match the namespace sent on the request"


async def test_nothing_is_created_in_a_namespace_that_is_being_deleted(server: Server) -> None:
    await server.delete(f"/api/v1/namespaces/{server.namespace}")

    answer = await server.post(server.path("configmaps"), config_map("a", {}))

    assert (answer.code, answer.reason) == (403, "Forbidden")
    assert f"unable to create new content in namespace {server.namespace} because it is being terminated" in (
        answer.message
    )


async def test_a_dry_run_shows_the_object_and_stores_nothing(server: Server) -> None:
    answer = await server.post(server.pods(), make_pod("web", namespace=server.namespace), dryRun="All")

    assert answer.code == 201
    assert answer.body["status"]["phase"] == "Pending"
    assert "resourceVersion" not in answer.body["metadata"]
    assert (await server.get(server.pods("web"))).code == 404


@pytest.mark.parametrize(("api_version", "kind"), [("v2", "Pod"), ("v1", "Service")])
async def test_an_object_of_another_kind_is_refused(server: Server, api_version: str, kind: str) -> None:
    answer = await server.post(server.pods(), {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}})

    assert (answer.code, answer.reason) == (400, "BadRequest")
    assert "Pod" in answer.message


async def test_a_field_of_the_wrong_type_is_refused(server: Server) -> None:
    answer = await server.post(server.path("configmaps"), config_map("a", {}, labels={"number": 1}))

    assert (answer.code, answer.reason) == (400, "BadRequest")
    assert answer.message.startswith('ConfigMap in version "v1" cannot be handled as a ConfigMap: ')


async def test_a_body_can_be_too_large(server: Server) -> None:
    answer = await server.post(server.path("configmaps"), config_map("a", {"key": "x" * 3 * 1024 * 1024}))

    assert (answer.code, answer.reason) == (413, "RequestEntityTooLarge")
    assert answer.message == "Request entity too large: limit is 3145728"


async def test_a_new_namespace_is_active_and_labelled_with_its_name(server: Server) -> None:
    namespace = (await server.get(f"/api/v1/namespaces/{server.namespace}")).body

    assert namespace["status"] == {"phase": "Active"}
    assert namespace["spec"] == {"finalizers": ["kubernetes"]}
    assert namespace["metadata"]["labels"] == {"kubernetes.io/metadata.name": server.namespace}


async def test_a_deployment_is_stored_with_its_defaults(server: Server) -> None:
    spec = (await server.post(server.path("deployments", group="apps/v1"), deployment("a", ("main", "nginx:1")))).body[
        "spec"
    ]

    assert spec["replicas"] == 1
    assert spec["strategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"},
    }
    assert spec["template"]["spec"]["containers"][0]["imagePullPolicy"] == "IfNotPresent"
    assert spec["template"]["spec"]["schedulerName"] == "default-scheduler"
