"""Watches: the events that they deliver, from which version on, and their end."""

import pytest

from tests.api_behaviour.objects import binding, config_map, pod_group
from tests.api_behaviour.server import TABLE, Server
from tests.builders import make_pod

_LONG_GONE = "1"


async def _list_version(server: Server, path: str) -> str:
    return (await server.get(path)).version


async def test_a_watch_goes_on_where_a_list_ended(server: Server) -> None:
    path = server.path("configmaps")
    await server.post(path, config_map("before", {}))
    version = await _list_version(server, path)

    async with server.watch(path, resourceVersion=version) as watch:
        await server.post(path, config_map("a", {}))
        await server.patch(f"{path}/a", {"data": {"key": "value"}})
        await server.delete(f"{path}/a")
        events = [await watch.next_name() for _ in range(3)]

    assert events == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]


async def test_changes_between_the_list_and_the_watch_are_seen_too(server: Server) -> None:
    path = server.path("configmaps")
    version = await _list_version(server, path)
    await server.post(path, config_map("a", {}))
    await server.delete(f"{path}/a")

    async with server.watch(path, resourceVersion=version) as watch:
        events = [await watch.next_name() for _ in range(2)]

    assert events == [("ADDED", "a"), ("DELETED", "a")]


async def test_events_carry_whole_objects_with_growing_versions(server: Server) -> None:
    path = server.pods()
    version = await _list_version(server, path)

    async with server.watch(path, resourceVersion=version) as watch:
        await server.post(path, make_pod("web", namespace=server.namespace))
        await server.post(server.pods("web", "binding"), binding("web", "node-1"))
        (_, added), (_, modified) = await watch.next(), await watch.next()

    assert (added["kind"], added["apiVersion"]) == ("Pod", "v1")
    assert modified["spec"]["nodeName"] == "node-1"
    versions = [int(text) for text in (version, *(pod["metadata"]["resourceVersion"] for pod in (added, modified)))]
    assert versions == sorted(set(versions))


async def test_a_deleted_object_comes_with_the_version_of_its_deletion(server: Server) -> None:
    path = server.path("configmaps")
    created = await server.post(path, config_map("a", {"key": "value"}))

    async with server.watch(path, resourceVersion=created.version) as watch:
        await server.delete(f"{path}/a")
        kind, obj = await watch.next()

    assert (kind, obj["data"]) == ("DELETED", {"key": "value"})
    assert int(obj["metadata"]["resourceVersion"]) > int(created.version)


async def test_a_pod_that_no_node_has_is_marked_before_it_goes(server: Server) -> None:
    created = await server.post(server.pods(), make_pod("web", namespace=server.namespace))

    async with server.watch(server.pods(), resourceVersion=created.version) as watch:
        await server.delete(server.pods("web"))
        (first, marked), (second, gone) = await watch.next(), await watch.next()

    assert (first, second) == ("MODIFIED", "DELETED")
    assert marked["metadata"]["deletionGracePeriodSeconds"] == 0
    assert gone["metadata"]["deletionTimestamp"] == marked["metadata"]["deletionTimestamp"]


async def test_a_write_that_changes_nothing_is_no_event(server: Server) -> None:
    path = server.path("configmaps")
    created = await server.post(path, config_map("a", {"key": "value"}))

    async with server.watch(path, resourceVersion=created.version) as watch:
        unchanged = await server.patch(f"{path}/a", {"data": {"key": "value"}})
        await server.patch(f"{path}/a", {"data": {"key": "other"}})
        _, obj = await watch.next()

    assert unchanged.version == created.version
    assert obj["data"] == {"key": "other"}


@pytest.mark.parametrize("version", [None, "0"])
async def test_a_watch_without_a_version_starts_with_what_there_is(server: Server, version: str | None) -> None:
    path = server.path("configmaps")
    await server.post(path, config_map("a", {}))
    await server.post(path, config_map("b", {}))
    query = {} if version is None else {"resourceVersion": version}

    async with server.watch(path, **query) as watch:
        events = {await watch.next_name() for _ in range(2)}
        await server.post(path, config_map("c", {}))
        later = await watch.next_name()

    assert events == {("ADDED", "a"), ("ADDED", "b")}
    assert later == ("ADDED", "c")


async def test_a_watcher_sees_a_deletion_when_an_object_leaves_its_selection(server: Server) -> None:
    path = server.pods()
    version = await _list_version(server, path)

    async with server.watch(path, resourceVersion=version, fieldSelector="spec.nodeName=") as watch:
        await server.post(path, make_pod("web", namespace=server.namespace))
        bound = await server.post(server.pods("web", "binding"), binding("web", "node-1"))
        added, deleted = await watch.next_name(), await watch.next()

    assert bound.code == 201
    assert added == ("ADDED", "web")
    assert deleted[0] == "DELETED"
    assert "nodeName" not in deleted[1]["spec"]
    assert deleted[1]["metadata"]["resourceVersion"] == (await server.get(server.pods("web"))).version


async def test_an_object_that_enters_the_selection_is_added_to_the_watcher(server: Server) -> None:
    path = server.path("configmaps")
    await server.post(path, config_map("a", {}))
    version = await _list_version(server, path)

    async with server.watch(path, resourceVersion=version, labelSelector="on=yes") as watch:
        await server.patch(f"{path}/a", {"metadata": {"labels": {"on": "yes"}}})
        await server.patch(f"{path}/a", {"data": {"key": "value"}})
        await server.patch(f"{path}/a", {"metadata": {"labels": {"on": "no"}}})
        events = [await watch.next_name() for _ in range(3)]

    assert events == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]


async def test_a_watch_of_one_namespace_sees_no_other(server: Server) -> None:
    version = await _list_version(server, server.path("configmaps"))

    async with server.watch(server.path("configmaps"), resourceVersion=version) as watch:
        elsewhere = server.path("configmaps", namespace="default")
        await server.post(elsewhere, config_map(server.namespace, {}))
        await server.delete(f"{elsewhere}/{server.namespace}")
        await server.post(server.path("configmaps"), config_map("a", {}))
        event = await watch.next_name()

    assert event == ("ADDED", "a")


async def test_a_watch_of_one_object_by_name(server: Server) -> None:
    version = await _list_version(server, server.path("configmaps"))

    query = {"resourceVersion": version, "fieldSelector": "metadata.name=b"}
    async with server.watch(server.path("configmaps"), **query) as watch:
        await server.post(server.path("configmaps"), config_map("a", {}))
        await server.post(server.path("configmaps"), config_map("b", {}))
        event = await watch.next_name()

    assert event == ("ADDED", "b")


async def test_initial_events_end_with_a_bookmark(server: Server) -> None:
    path = server.path("configmaps")
    await server.post(path, config_map("a", {}))
    query = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}

    async with server.watch(path, **query) as watch:
        first = await watch.next_name()
        kind, bookmark = await watch.next()
        await server.post(path, config_map("b", {}))
        later = await watch.next_name()

    assert first == ("ADDED", "a")
    assert (kind, bookmark["kind"], bookmark["apiVersion"]) == ("BOOKMARK", "ConfigMap", "v1")
    assert bookmark["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert int(bookmark["metadata"]["resourceVersion"]) > 0
    assert later == ("ADDED", "b")


async def test_initial_events_need_a_match(server: Server) -> None:
    answer = await server.get(server.path("configmaps"), watch="true", sendInitialEvents="true")

    assert (answer.code, answer.reason) == (422, "Invalid")
    assert "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan" in answer.message


async def test_a_version_from_long_ago_is_gone(server: Server) -> None:
    await server.post(server.pod_groups(), pod_group("gang", minMember=1))

    async with server.watch(server.pod_groups(), resourceVersion=_LONG_GONE) as watch:
        kind, status = await watch.next()
        rest = await watch.rest()

    assert watch.code == 200
    assert kind == "ERROR"
    assert (status["kind"], status["code"], status["reason"]) == ("Status", 410, "Expired")
    assert status["message"].startswith("too old resource version: 1 (")
    assert rest == []


async def test_a_watch_ends_when_its_time_is_up(server: Server) -> None:
    path = server.path("configmaps")
    version = await _list_version(server, path)

    async with server.watch(path, resourceVersion=version, timeoutSeconds=1) as watch:
        assert await watch.rest() == []


async def test_a_watch_that_takes_bookmarks_gets_one_before_its_time_is_up(server: Server) -> None:
    path = server.path("configmaps")
    created = await server.post(path, config_map("a", {}))

    since = created.version
    async with server.watch(path, resourceVersion=since, allowWatchBookmarks="true", timeoutSeconds=3) as watch:
        await server.delete(f"{path}/a")
        (first, gone), (second, bookmark) = await watch.next(), await watch.next()
        rest = await watch.rest()

    assert (first, second) == ("DELETED", "BOOKMARK")
    assert set(rest) <= {"BOOKMARK"}
    assert int(bookmark["metadata"]["resourceVersion"]) >= int(gone["metadata"]["resourceVersion"])
    assert "annotations" not in bookmark["metadata"]


async def test_a_watch_can_be_seen_as_a_table(server: Server) -> None:
    path = server.pods()
    version = await _list_version(server, path)

    async with server.watch(path, accept=TABLE, resourceVersion=version) as watch:
        await server.post(path, make_pod("web", namespace=server.namespace))
        await server.post(server.pods("web", "binding"), binding("web", "node-1"))
        (_, first), (_, second) = await watch.next(), await watch.next()

    assert [column["name"] for column in first["columnDefinitions"]][:3] == ["Name", "Ready", "Status"]
    assert first["rows"][0]["cells"][:3] == ["web", "0/1", "Pending"]
    assert not second.get("columnDefinitions")
    assert second["rows"][0]["cells"][6] == "node-1"
