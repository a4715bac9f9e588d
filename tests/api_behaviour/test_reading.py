"""Reading single objects and lists: selectors and pages."""

import pytest

from tests.api_behaviour.objects import binding, config_map, pod_group
from tests.api_behaviour.server import Answer, Server
from tests.builders import make_pod


async def _make(server: Server, *names: str) -> None:
    for name in names:
        await server.post(server.path("configmaps"), config_map(name, {}, labels={"name": name, "odd": "x"}))


async def test_an_object_is_read_back_as_it_was_written(server: Server) -> None:
    created = await server.post(server.path("configmaps"), config_map("a", {"key": "value"}))

    read = await server.get(server.path("configmaps", "a"))

    assert read == Answer(200, created.body)


async def test_reading_an_object_that_does_not_exist_answers_not_found(server: Server) -> None:
    answer = await server.get(server.pod_groups("nope"))

    assert (answer.code, answer.reason) == (404, "NotFound")
    assert answer.message == 'podgroups.scheduling.x-k8s.io "nope" not found'
    assert answer.body["details"] == {"name": "nope", "group": "scheduling.x-k8s.io", "kind": "podgroups"}


@pytest.mark.parametrize("path", ["/api/v1/nothings", "/apis/no.such.group/v1/things", "/apis/apps/v9/deployments"])
async def test_a_kind_that_is_not_served_is_not_found(server: Server, path: str) -> None:
    assert (await server.get(path)).code == 404


async def test_a_list_is_in_the_order_of_names_and_has_a_version(server: Server) -> None:
    await _make(server, "b", "a-1", "a", "a.b")

    answer = await server.get(server.path("configmaps"))

    assert answer.names == ["a", "a-1", "a.b", "b"]
    assert answer.body["kind"] == "ConfigMapList"
    assert answer.body["apiVersion"] == "v1"
    assert int(answer.version) > 0


async def test_items_of_built_in_kinds_do_not_repeat_their_kind(server: Server) -> None:
    await server.post(server.pods(), make_pod("web", namespace=server.namespace))
    await server.post(server.pod_groups(), pod_group("gang", minMember=1))

    (pod,) = (await server.get(server.pods())).body["items"]
    (group,) = (await server.get(server.pod_groups())).body["items"]

    assert "kind" not in pod
    assert group["kind"] == "PodGroup"


async def test_a_list_over_all_namespaces_holds_this_one_too(server: Server) -> None:
    await _make(server, "a")

    answer = await server.get("/api/v1/configmaps", labelSelector="odd=x")

    here = [item for item in answer.body["items"] if item["metadata"]["namespace"] == server.namespace]
    assert [item["metadata"]["name"] for item in here] == ["a"]


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("name=a", ["a"]),
        ("name==a", ["a"]),
        ("name!=a", ["b", "c", "plain"]),
        ("name in (a, b)", ["a", "b"]),
        ("name notin (a,b)", ["c", "plain"]),
        ("odd", ["a", "b", "c"]),
        ("!odd", ["plain"]),
        ("odd,name!=b", ["a", "c"]),
        ("name=a,name=b", []),
    ],
)
async def test_labels_select(server: Server, selector: str, expected: list[str]) -> None:
    await _make(server, "a", "b", "c")
    await server.post(server.path("configmaps"), config_map("plain", {}))

    answer = await server.get(server.path("configmaps"), labelSelector=selector)

    assert answer.names == expected


async def test_a_label_selector_that_makes_no_sense_is_refused(server: Server) -> None:
    answer = await server.get(server.path("configmaps"), labelSelector="a b")

    assert (answer.code, answer.reason) == (400, "BadRequest")
    assert answer.message.startswith("unable to parse requirement: ")


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("metadata.name=mine", ["mine"]),
        ("metadata.name!=mine", ["bound", "other"]),
        ("spec.schedulerName=muster", ["bound", "mine"]),
        ("spec.nodeName=", ["mine", "other"]),
        ("spec.nodeName=node-1", ["bound"]),
        ("spec.nodeName=,spec.schedulerName=muster", ["mine"]),
        ("status.phase!=Succeeded,status.phase!=Failed", ["bound", "mine", "other"]),
        ("status.phase=Running", []),
        ("status.nominatedNodeName=node-9", []),
    ],
)
async def test_fields_of_pods_select(server: Server, selector: str, expected: list[str]) -> None:
    for name, scheduler in (("mine", "muster"), ("bound", "muster"), ("other", "other-scheduler")):
        await server.post(server.pods(), make_pod(name, namespace=server.namespace).scheduler(scheduler))
    await server.post(server.pods("bound", "binding"), binding("bound", "node-1"))

    answer = await server.get(server.pods(), fieldSelector=selector)

    assert answer.names == expected


@pytest.mark.parametrize("resource", ["pods", "podgroups"])
async def test_a_field_that_cannot_be_selected_by_is_refused(server: Server, resource: str) -> None:
    path = server.pods() if resource == "pods" else server.pod_groups()

    answer = await server.get(path, fieldSelector="spec.nothing=1")

    assert (answer.code, answer.reason) == (400, "BadRequest")
    assert answer.message == "field label not supported: spec.nothing"


async def test_a_list_comes_in_pages(server: Server) -> None:
    await _make(server, "a", "b", "c", "d", "e")
    path = server.path("configmaps")

    first = await server.get(path, limit=2)
    second = await server.get(path, limit=2, **{"continue": first.body["metadata"]["continue"]})
    third = await server.get(path, limit=2, **{"continue": second.body["metadata"]["continue"]})

    assert [page.names for page in (first, second, third)] == [["a", "b"], ["c", "d"], ["e"]]
    assert [page.body["metadata"].get("remainingItemCount") for page in (first, second, third)] == [3, 1, None]
    assert not third.body["metadata"].get("continue")


async def test_all_pages_show_the_moment_of_the_first(server: Server) -> None:
    await _make(server, "a", "c", "d")
    path = server.path("configmaps")

    first = await server.get(path, limit=1)
    await _make(server, "b")
    await server.delete(server.path("configmaps", "d"))
    rest = await server.get(path, **{"continue": first.body["metadata"]["continue"]})

    assert first.names + rest.names == ["a", "c", "d"]
    assert rest.version == first.version


async def test_pages_hold_only_what_is_selected(server: Server) -> None:
    await _make(server, "a", "b", "c", "d")
    path, selector = server.path("configmaps"), "name notin (b)"

    first = await server.get(path, limit=2, labelSelector=selector)
    rest = await server.get(path, limit=2, labelSelector=selector, **{"continue": first.body["metadata"]["continue"]})

    assert (first.names, rest.names) == (["a", "c"], ["d"])
    assert "remainingItemCount" not in first.body["metadata"]


async def test_a_continue_token_that_cannot_be_read_is_refused(server: Server) -> None:
    answer = await server.get(server.path("configmaps"), **{"continue": "nonsense"})

    assert answer.code == 400
    assert "continue key is not valid" in answer.message


async def test_a_match_needs_a_version(server: Server) -> None:
    answer = await server.get(server.path("configmaps"), resourceVersionMatch="Exact")

    assert (answer.code, answer.reason) == (422, "Invalid")
    assert "resourceVersionMatch is forbidden unless resourceVersion is provided" in answer.message
