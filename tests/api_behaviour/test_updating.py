"""Replacing objects: optimistic concurrency, and what a write can and cannot touch."""

import pytest

from tests.api_behaviour.objects import config_map, deployment, pod_group
from tests.api_behaviour.server import Server
from tests.builders import make_pod

_TYPES = {
    "podgroups": {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup"},
    "poddisruptionbudgets": {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"},
    "configmaps": {"apiVersion": "v1", "kind": "ConfigMap"},
}
_OTHER_UID = "00000000-0000-4000-8000-000000000000"


async def test_a_replaced_object_has_a_new_version(server: Server) -> None:
    created = await server.post(server.path("configmaps"), config_map("a", {"key": "old"}))

    changed = await server.put(server.path("configmaps", "a"), created.body | {"data": {"key": "new"}})

    assert changed.code == 200
    assert changed.body["data"] == {"key": "new"}
    assert int(changed.version) > int(created.version)
    assert changed.body["metadata"]["uid"] == created.body["metadata"]["uid"]


async def test_a_write_on_top_of_an_old_version_conflicts(server: Server) -> None:
    path = server.path("configmaps", "a")
    old = await server.post(server.path("configmaps"), config_map("a", {}))
    await server.put(path, old.body | {"data": {"key": "first"}})

    answer = await server.put(path, old.body | {"data": {"key": "second"}})

    assert (answer.code, answer.reason) == (409, "Conflict")
    assert answer.message == (
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )
    assert (await server.get(path)).body["data"] == {"key": "first"}


async def test_without_a_version_the_last_writer_wins(server: Server) -> None:
    await server.post(server.path("configmaps"), config_map("a", {}))

    answer = await server.put(server.path("configmaps", "a"), config_map("a", {"key": "value"}))

    assert answer.code == 200


@pytest.mark.parametrize("resource", ["leases", "podgroups"])
async def test_some_kinds_insist_on_a_version(server: Server, resource: str) -> None:
    lease = {"metadata": {"name": "a"}, "spec": {"holderIdentity": "me"}}
    path, obj = {
        "leases": (server.path("leases", group="coordination.k8s.io/v1"), lease),
        "podgroups": (server.pod_groups(), pod_group("a", minMember=2)),
    }[resource]
    await server.post(path, obj)

    answer = await server.put(f"{path}/a", obj)

    assert (answer.code, answer.reason) == (422, "Invalid")
    assert "metadata.resourceVersion: Invalid value: 0: must be specified for an update" in answer.message


@pytest.mark.parametrize(
    ("resource", "group"),
    [("podgroups", "scheduling.x-k8s.io/v1alpha1"), ("poddisruptionbudgets", "policy/v1"), ("configmaps", "")],
)
async def test_an_object_that_does_not_exist_cannot_be_replaced(server: Server, resource: str, group: str) -> None:
    answer = await server.put(server.path(resource, "a", group=group), {"metadata": {"name": "a"}, **_TYPES[resource]})

    assert (answer.code, answer.reason) == (404, "NotFound")
    assert answer.message == f'{".".join(filter(None, (resource, group.partition("/")[0])))} "a" not found'


async def test_a_lease_changes_hands_once(server: Server) -> None:
    path = server.path("leases", group="coordination.k8s.io/v1")
    seen = (await server.post(path, {"metadata": {"name": "a"}, "spec": {"holderIdentity": "nobody"}})).body

    first = await server.put(f"{path}/a", seen | {"spec": {"holderIdentity": "one"}})
    second = await server.put(f"{path}/a", seen | {"spec": {"holderIdentity": "two"}})

    assert (first.code, second.code) == (200, 409)
    assert (await server.get(f"{path}/a")).body["spec"]["holderIdentity"] == "one"


async def test_a_lease_is_created_by_a_put(server: Server) -> None:
    path = server.path("leases", "a", group="coordination.k8s.io/v1")

    answer = await server.put(path, {"metadata": {"name": "a"}, "spec": {"holderIdentity": "me"}})

    assert answer.code == 201
    assert (await server.get(path)).body["spec"] == {"holderIdentity": "me"}


async def test_a_pod_is_not_created_by_a_put(server: Server) -> None:
    answer = await server.put(server.pods("web"), make_pod("web", namespace=server.namespace))

    assert (answer.code, answer.reason) == (404, "NotFound")


async def test_the_name_has_to_be_that_of_the_path(server: Server) -> None:
    answer = await server.put(server.path("configmaps", "a"), config_map("b", {}))

    assert answer.code == 400
    assert answer.message == "the name of the object (b) does not match the name on the URL (a)"


async def test_a_write_to_an_earlier_object_of_the_name_conflicts(server: Server) -> None:
    await server.post(server.path("configmaps"), config_map("a", {}))

    answer = await server.put(server.path("configmaps", "a"), config_map("a", {}, uid=_OTHER_UID))

    assert (answer.code, answer.reason) == (409, "Conflict")
    assert f"Precondition failed: UID in precondition: {_OTHER_UID}, UID in object meta: " in answer.message


async def test_system_fields_stay_as_they_are(server: Server) -> None:
    created = (await server.post(server.pods(), make_pod("web", namespace=server.namespace))).body
    metadata = created["metadata"] | {"creationTimestamp": "2001-01-01T00:00:00Z", "generation": 7}

    changed = (await server.put(server.pods("web"), created | {"metadata": metadata})).body["metadata"]

    assert changed["creationTimestamp"] == created["metadata"]["creationTimestamp"]
    assert changed["generation"] == 1


async def test_a_change_of_the_spec_counts_the_generation_up(server: Server) -> None:
    path = server.path("deployments", group="apps/v1")
    await server.post(path, deployment("a", ("main", "nginx")))

    labelled = await server.patch(f"{path}/a", {"metadata": {"labels": {"on": "yes"}}})
    scaled = await server.patch(f"{path}/a", {"spec": {"replicas": 3}})
    watched = await server.patch(f"{path}/a/status", {"status": {"replicas": 3}})

    assert [answer.body["metadata"]["generation"] for answer in (labelled, scaled, watched)] == [1, 2, 2]


async def test_the_spec_of_a_pod_is_all_but_fixed(server: Server) -> None:
    await server.post(server.pods(), make_pod("web", namespace=server.namespace))

    answer = await server.patch(server.pods("web"), {"spec": {"nodeSelector": {"disk": "ssd"}}})

    assert (answer.code, answer.reason) == (422, "Invalid")
    assert "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`" in answer.message


async def test_the_images_of_a_pod_can_change_and_tolerations_can_be_added(server: Server) -> None:
    created = (await server.post(server.pods(), make_pod("web", namespace=server.namespace))).body
    spec = created["spec"]
    container = spec["containers"][0] | {"image": "nginx:2"}
    tolerations = [*spec["tolerations"], {"key": "extra", "operator": "Exists"}]

    answer = await server.put(
        server.pods("web"), created | {"spec": spec | {"containers": [container], "tolerations": tolerations}}
    )

    assert answer.code == 200
    assert answer.body["spec"]["tolerations"] == tolerations


async def test_a_toleration_cannot_be_taken_from_a_pod(server: Server) -> None:
    pod = make_pod("web", namespace=server.namespace).tolerate("a")
    await server.post(server.pods(), pod)

    answer = await server.patch(server.pods("web"), {"spec": {"tolerations": []}})

    assert answer.code == 422
    assert "spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds" in (
        answer.message
    )


async def test_a_pod_that_comes_back_without_its_admission_fields_keeps_them(server: Server) -> None:
    bare = {"metadata": {"name": "web"}, "spec": {"containers": [{"name": "main", "image": "nginx"}]}}
    created = await server.post(server.pods(), bare)

    answer = await server.put(server.pods("web"), bare)

    assert answer.code == 200
    assert answer.body["spec"] == created.body["spec"]
    assert answer.version == created.version


async def test_a_write_of_the_object_leaves_the_status(server: Server) -> None:
    created = (await server.post(server.pods(), make_pod("web", namespace=server.namespace))).body

    answer = await server.put(server.pods("web"), created | {"status": {"phase": "Running"}})

    assert answer.body["status"] == created["status"]


async def test_a_write_of_the_status_leaves_the_spec(server: Server) -> None:
    created = (await server.post(server.pods(), make_pod("web", namespace=server.namespace))).body
    spec = created["spec"] | {"nodeName": "node-1"}

    answer = await server.put(server.pods("web", "status"), created | {"spec": spec, "status": {"phase": "Running"}})

    assert answer.code == 200
    assert answer.body["status"]["phase"] == "Running"
    assert "nodeName" not in answer.body["spec"]
    assert answer.body["metadata"]["generation"] == 1


async def test_the_status_of_a_custom_resource_is_all_that_a_status_write_changes(server: Server) -> None:
    await server.post(server.pod_groups(), pod_group("gang", minMember=2))
    change = {"metadata": {"labels": {"on": "yes"}}, "spec": {"minMember": 9}, "status": {"phase": "Running"}}

    answer = await server.patch(server.pod_groups("gang", "status"), change)

    assert answer.body["status"] == {"phase": "Running"}
    assert answer.body["spec"] == {"minMember": 2}
    assert "labels" not in answer.body["metadata"]
    assert answer.body["metadata"]["generation"] == 1


async def test_the_status_of_a_custom_resource_comes_only_through_its_subresource(server: Server) -> None:
    created = await server.post(server.pod_groups(), pod_group("gang", minMember=2) | {"status": {"phase": "New"}})
    changed = await server.patch(server.pod_groups("gang"), {"spec": {"minMember": 3}, "status": {"phase": "New"}})

    assert "status" not in created.body
    assert "status" not in changed.body
    assert changed.body["metadata"]["generation"] == 2


async def test_a_node_brings_its_status_but_changes_it_apart(server: Server) -> None:
    name = f"{server.namespace}-node"
    node = {"metadata": {"name": name}, "status": {"capacity": {"cpu": "4"}}}
    created = await server.post("/api/v1/nodes", node)

    plain = await server.patch(f"/api/v1/nodes/{name}", {"status": {"capacity": {"cpu": "8"}}})
    proper = await server.patch(f"/api/v1/nodes/{name}/status", {"status": {"capacity": {"cpu": "8"}}})

    assert created.body["status"]["allocatable"] == {"cpu": "4"}
    assert plain.body["status"]["capacity"] == {"cpu": "4"}
    assert proper.body["status"]["capacity"] == {"cpu": "8"}


async def test_the_value_of_a_priority_class_is_fixed(server: Server) -> None:
    path, name = "/apis/scheduling.k8s.io/v1/priorityclasses", f"{server.namespace}-high"
    await server.post(path, {"metadata": {"name": name}, "value": 5})

    answer = await server.patch(f"{path}/{name}", {"value": 6})

    assert answer.code == 422
    assert "value: Forbidden: may not be changed in an update." in answer.message


async def test_a_dry_run_of_an_update_changes_nothing(server: Server) -> None:
    created = await server.post(server.path("configmaps"), config_map("a", {"key": "old"}))

    answer = await server.put(server.path("configmaps", "a"), config_map("a", {"key": "new"}), dryRun="All")

    assert (answer.code, answer.body["data"]) == (200, {"key": "new"})
    assert (await server.get(server.path("configmaps", "a"))).body == created.body


async def test_a_verb_that_a_path_does_not_have_is_refused(server: Server) -> None:
    answer = await server.put(server.path("configmaps"), {})

    assert (answer.code, answer.reason) == (405, "MethodNotAllowed")
