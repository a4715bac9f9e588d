"""Events: the same objects under two API versions."""

from typing import Any

import pytest

from tests.api_behaviour.objects import event, new_event
from tests.api_behaviour.server import Server

_NEW = "events.k8s.io/v1"


def _new(server: Server, *below: str) -> str:
    return server.path("events", *below, group=_NEW)


async def test_an_old_event_is_seen_as_a_new_one(server: Server) -> None:
    times = {"firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-02T00:00:00Z"}
    await server.post(server.path("events"), event("a", server.namespace, count=3, source={"component": "me"}, **times))

    seen = (await server.get(_new(server, "a"))).body

    assert seen["apiVersion"] == _NEW
    assert seen["note"] == "it works"
    assert seen["regarding"]["name"] == "web"
    assert seen["deprecatedCount"] == 3
    assert seen["deprecatedSource"] == {"component": "me"}
    assert seen["deprecatedFirstTimestamp"] == times["firstTimestamp"]
    assert seen["deprecatedLastTimestamp"] == times["lastTimestamp"]


async def test_times_that_an_event_does_not_have_are_null(server: Server) -> None:
    await server.post(_new(server), new_event("a", server.namespace))
    await server.post(server.path("events"), event("b", server.namespace))

    old, other = [(await server.get(server.path("events", name))).body for name in ("a", "b")]
    new = (await server.get(_new(server, "a"))).body

    assert (old["firstTimestamp"], old["lastTimestamp"]) == (None, None)
    assert (other["firstTimestamp"], other["lastTimestamp"], other["eventTime"]) == (None, None, None)
    assert (new["deprecatedFirstTimestamp"], new["deprecatedLastTimestamp"]) == (None, None)


async def test_a_new_event_is_seen_as_an_old_one(server: Server) -> None:
    await server.post(_new(server), new_event("a", server.namespace))

    seen = (await server.get(server.path("events", "a"))).body

    assert seen["apiVersion"] == "v1"
    assert seen["message"] == "it works"
    assert seen["involvedObject"]["name"] == "web"
    assert seen["reportingComponent"] == "muster"
    assert seen["eventTime"] == "2026-01-01T00:00:00.123456Z"


async def test_both_views_are_watched_and_listed(server: Server) -> None:
    version = (await server.get(_new(server))).version

    async with server.watch(_new(server), resourceVersion=version) as watch:
        await server.post(server.path("events"), event("a", server.namespace))
        kind, seen = await watch.next()

    assert (kind, seen["note"]) == ("ADDED", "it works")
    assert (await server.get(_new(server))).names == ["a"]
    assert (await server.get(server.path("events"))).names == ["a"]


@pytest.mark.parametrize(
    ("new", "selector", "expected"),
    [
        (False, "involvedObject.name=web,involvedObject.kind=Pod", ["a", "b"]),
        (False, "involvedObject.name=db", []),
        (False, "reason=Tested,type=Warning", ["b"]),
        (False, "reportingComponent=muster", ["b"]),
        (True, "regarding.name=web", ["a", "b"]),
        (True, "reportingController=muster", ["b"]),
    ],
)
async def test_events_are_selected_by_what_they_are_about(
    server: Server, new: bool, selector: str, expected: list[str]
) -> None:
    await server.post(server.path("events"), event("a", server.namespace))
    await server.post(_new(server), new_event("b", server.namespace, type="Warning"))

    answer = await server.get(_new(server) if new else server.path("events"), fieldSelector=selector)

    assert answer.names == expected


async def test_each_view_has_its_own_field_names(server: Server) -> None:
    answer = await server.get(_new(server), fieldSelector="involvedObject.name=web")

    assert (answer.code, answer.message) == (400, "field label not supported: involvedObject.name")


async def test_a_series_grows_by_patches(server: Server) -> None:
    await server.post(_new(server), new_event("a", server.namespace))
    series = {"count": 2, "lastObservedTime": "2026-01-01T00:01:00.000000Z"}

    answer = await server.patch(_new(server, "a"), {"series": series})

    assert (answer.code, answer.body["series"]) == (200, series)


async def test_nothing_else_of_a_new_event_changes(server: Server) -> None:
    await server.post(_new(server), new_event("a", server.namespace))

    answer = await server.patch(_new(server, "a"), {"note": "changed"})

    assert answer.code == 422
    assert answer.message == 'Event "a" is invalid: message: Invalid value: "changed": field is immutable'


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"eventTime": None}, "eventTime: Required value"),
        ({"action": ""}, "action: Required value"),
        ({"reportingInstance": ""}, "reportingInstance: Required value"),
        ({"type": "Odd"}, 'type: Invalid value: "": has invalid value: Odd'),
        ({"note": "x" * 1025}, 'message: Invalid value: "": can have at most 1024 characters'),
        (
            {"series": {"count": 1, "lastObservedTime": "2026-01-01T00:00:00.000000Z"}},
            'series.count: Invalid value: "": should be at least 2',
        ),
    ],
)
async def test_new_events_are_held_to_more(server: Server, fields: dict[str, Any], message: str) -> None:
    answer = await server.post(_new(server), new_event("a", server.namespace, **fields))

    assert (answer.code, answer.message) == (422, f'Event "a" is invalid: {message}')


async def test_an_event_is_about_something_in_its_own_namespace(server: Server) -> None:
    answer = await server.post(server.path("events"), event("a", "elsewhere"))

    assert answer.code == 422
    assert 'involvedObject.namespace: Invalid value: "elsewhere": does not match event.namespace' in answer.message
