"""How objects end."""

from typing import Any

from tests.api_behaviour.objects import config_map, pod_group
from tests.api_behaviour.server import Server
from tests.builders import make_pod

_OTHER_UID = "00000000-0000-4000-8000-000000000000"
_HOLD = "example.com/hold"


async def _bound_pod(server: Server, name: str = "web") -> None:
    created = await server.post(server.pods(), make_pod(name, namespace=server.namespace))
    bound = await server.bind(name, "node-1")
    assert (created.code, bound.code) == (201, 201), (created.body, bound.body)


async def test_a_deleted_object_is_gone_and_the_answer_names_it(server: Server) -> None:
    created = await server.post(server.pod_groups(), pod_group("gang", minMember=1))

    answer = await server.delete(server.pod_groups("gang"))

    assert (answer.code, answer.body["status"]) == (200, "Success")
    assert answer.body["details"] == {
        "name": "gang",
        "group": "scheduling.x-k8s.io",
        "kind": "podgroups",
        "uid": created.body["metadata"]["uid"],
    }
    assert (await server.get(server.pod_groups("gang"))).code == 404


async def test_a_deleted_pod_is_the_answer_itself(server: Server) -> None:
    await server.post(server.pods(), make_pod("web", namespace=server.namespace))

    answer = await server.delete(server.pods("web"))

    assert (answer.code, answer.body["kind"]) == (200, "Pod")
    assert (await server.get(server.pods("web"))).code == 404


async def test_an_object_that_does_not_exist_cannot_be_deleted(server: Server) -> None:
    answer = await server.delete(server.pods("web"))

    assert (answer.code, answer.reason) == (404, "NotFound")


async def test_a_bound_pod_gets_the_time_that_it_asks_for(server: Server) -> None:
    await _bound_pod(server)

    answer = await server.delete(server.pods("web"))

    metadata = answer.body["metadata"]
    assert answer.code == 200
    assert metadata["deletionGracePeriodSeconds"] == 30
    assert metadata["deletionTimestamp"] > metadata["creationTimestamp"]
    assert metadata["generation"] == 2
    assert (await server.get(server.pods("web"))).body["metadata"] == metadata


async def test_the_time_of_a_pod_can_only_be_shortened(server: Server) -> None:
    await _bound_pod(server)

    periods = []
    queries: tuple[dict[str, Any], ...] = (
        {"gracePeriodSeconds": 20},
        {"gracePeriodSeconds": 25},
        {},
        {"gracePeriodSeconds": 10},
    )
    for query in queries:
        answer = await server.delete(server.pods("web"), **query)
        assert answer.code == 200, answer.body
        periods.append(answer.body["metadata"]["deletionGracePeriodSeconds"])

    assert periods == [20, 20, 20, 10]


async def test_a_pod_that_is_given_no_time_is_gone_at_once(server: Server) -> None:
    await _bound_pod(server)

    await server.delete(server.pods("web"), {"gracePeriodSeconds": 0})

    assert (await server.get(server.pods("web"))).code == 404


async def test_a_pod_that_has_ended_needs_no_time(server: Server) -> None:
    await _bound_pod(server)
    await server.patch(server.pods("web", "status"), {"status": {"phase": "Succeeded"}})

    await server.delete(server.pods("web"))

    assert (await server.get(server.pods("web"))).code == 404


async def test_finalizers_hold_an_object(server: Server) -> None:
    path = server.path("configmaps", "a")
    await server.post(server.path("configmaps"), config_map("a", {}, finalizers=[_HOLD]))

    held = await server.delete(path)
    still = await server.get(path)
    await server.patch(path, {"metadata": {"finalizers": None}})

    assert held.body["metadata"]["deletionTimestamp"]
    assert held.body["metadata"]["finalizers"] == [_HOLD]
    assert still.body == held.body
    assert (await server.get(path)).code == 404


async def test_an_object_that_is_going_takes_no_new_finalizers(server: Server) -> None:
    path = server.path("configmaps", "a")
    await server.post(server.path("configmaps"), config_map("a", {}, finalizers=[_HOLD]))
    await server.delete(path)

    answer = await server.patch(path, {"metadata": {"finalizers": [_HOLD, "example.com/more"]}})

    assert answer.code == 422
    assert "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted" in (
        answer.message
    )


async def test_a_deletion_cannot_be_taken_back(server: Server) -> None:
    path = server.path("configmaps", "a")
    await server.post(server.path("configmaps"), config_map("a", {}, finalizers=[_HOLD]))
    deleted = await server.delete(path)

    answer = await server.patch(path, {"metadata": {"deletionTimestamp": None}, "data": {"key": "value"}})

    assert answer.code == 200
    assert answer.body["metadata"]["deletionTimestamp"] == deleted.body["metadata"]["deletionTimestamp"]


async def test_a_delete_can_insist_on_the_uid(server: Server) -> None:
    uid = (await server.post(server.pods(), make_pod("web", namespace=server.namespace))).body["metadata"]["uid"]

    wrong = await server.delete(server.pods("web"), {"preconditions": {"uid": _OTHER_UID}})
    right = await server.delete(server.pods("web"), {"preconditions": {"uid": uid}})

    assert (wrong.code, wrong.reason, right.code) == (409, "Conflict", 200)
    assert wrong.message == (
        f'Operation cannot be fulfilled on Pod "web": the UID in the precondition ({_OTHER_UID}) does not match the '
        f"UID in record ({uid}). The object might have been deleted and then recreated"
    )


async def test_a_delete_can_insist_on_the_version(server: Server) -> None:
    await server.post(server.path("configmaps"), config_map("a", {}))

    answer = await server.delete(server.path("configmaps", "a"), {"preconditions": {"resourceVersion": "1"}})

    assert answer.code == 409
    assert "the ResourceVersion in the precondition (1) does not match" in answer.message


async def test_a_dry_run_of_a_delete_deletes_nothing(server: Server) -> None:
    await server.post(server.path("configmaps"), config_map("a", {}))

    answer = await server.delete(server.path("configmaps", "a"), dryRun="All")

    assert answer.code == 200
    assert (await server.get(server.path("configmaps", "a"))).code == 200


async def test_a_collection_is_deleted_as_selected(server: Server) -> None:
    for name, labels in (("a", {"go": "yes"}), ("b", {"go": "yes"}), ("c", {"go": "no"})):
        await server.post(server.path("configmaps"), config_map(name, {}, labels=labels))

    answer = await server.delete(server.path("configmaps"), labelSelector="go=yes")

    assert (answer.code, answer.body["kind"]) == (200, "ConfigMapList")
    assert answer.names == ["a", "b"]
    assert (await server.get(server.path("configmaps"), labelSelector="go")).names == ["c"]


async def test_a_namespace_goes_when_it_is_empty_and_not_before(server: Server) -> None:
    answer = await server.delete(f"/api/v1/namespaces/{server.namespace}")

    assert answer.code == 200
    assert answer.body["status"]["phase"] == "Terminating"
    assert (await server.get(f"/api/v1/namespaces/{server.namespace}")).body["metadata"]["deletionTimestamp"]


async def test_the_default_namespace_cannot_go(server: Server) -> None:
    answer = await server.delete("/api/v1/namespaces/default")

    assert (answer.code, answer.reason) == (403, "Forbidden")
    assert answer.message == 'namespaces "default" is forbidden: this namespace may not be deleted'
