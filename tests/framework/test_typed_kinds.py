"""A watched kind carries the type of its objects to its lister and to the hints about its events.

The type checker proves it: `make lint` reports an ignored error that is none.
"""

from typing import assert_type

from muster.framework.contract import (
    Action,
    ClusterEvent,
    EventRegistration,
    EventResource,
    Handle,
    Hint,
    Lister,
    Node,
    ObjectMeta,
    PodInfo,
    WatchedKind,
    Wire,
)


class Permit(Wire):
    metadata: ObjectMeta


PERMITS = WatchedKind("permits.v1.example.com", "/apis/example.com/v1/permits", Permit)


def about_permits(pod: PodInfo, old: Permit | None, new: Permit | None) -> Hint:
    return Hint.queue_if(new is not None)


def about_nodes(pod: PodInfo, old: Node | None, new: Node) -> Hint:
    return Hint.QUEUE


def listed(handle: Handle) -> Lister[Permit]:
    assert_type(handle.lister(PERMITS).get("a/b"), Permit | None)
    return handle.lister(PERMITS)


def test_an_event_of_a_watched_kind_carries_its_resource_and_its_type() -> None:
    event = assert_type(ClusterEvent(PERMITS, Action.ADD), ClusterEvent[Permit])
    assert event == ClusterEvent("permits.v1.example.com", Action.ADD)
    assert EventRegistration(event, about_permits).hint is about_permits


def test_a_hint_about_objects_of_another_type_is_refused_by_the_type_checker() -> None:
    permits, nodes = ClusterEvent(PERMITS, Action.ADD), ClusterEvent(EventResource.NODE, Action.ADD)
    accepted = EventRegistration(permits, about_permits), EventRegistration(nodes, about_nodes)
    refused = (
        EventRegistration(permits, about_nodes),  # type: ignore[arg-type]  # this is the error that is looked for
        EventRegistration(nodes, about_permits),  # type: ignore[arg-type]  # this, too
    )
    assert [each.hint for each in accepted] == [each.hint for each in reversed(refused)]
