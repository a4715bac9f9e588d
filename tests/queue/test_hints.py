"""The pods that an event helps."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.framework.contract.events import (
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    NODE_ADD,
    UNSCHEDULABLE_TIMEOUT,
    Action,
    ClusterEvent,
    EventRegistration,
    EventResource,
    Hint,
)
from muster.framework.error_log import ErrorLog
from muster.framework.model.pod_info import PodInfo
from muster.framework.queue.entity import QueuedEntity, QueuedPodInfo, Rejection
from muster.framework.queue.hints import InFlightEvents, ObjectEvent, QueueingHints
from muster.framework.queue.transitions import Place
from tests.builders import make_pod
from tests.queue.harness import Harness, pending_on, pod, rejected_by

ANY_POD = ClusterEvent(EventResource.POD, Action.ADD | Action.DELETE)
ANYTHING = ClusterEvent(EventResource.WILDCARD, Action.ALL)


@dataclass(frozen=True)
class Registrations:
    """Implements `Registered`."""

    registrations: Mapping[str, Mapping[str, Sequence[EventRegistration]]]


def answering(hint: Hint) -> Callable[[PodInfo, object, object], Hint]:
    return lambda pod, old, new: hint


def broken(pod: PodInfo, old: object, new: object) -> Hint:
    raise RuntimeError("bug in the hint")


def forbidden(pod: PodInfo, old: object, new: object) -> Hint:
    raise AssertionError("nobody may ask")


def test_an_event_that_the_rejecting_plugin_registered_moves_the_pod_to_backoff() -> None:
    harness = Harness({"P": [EventRegistration(NODE_ADD)]})
    [info] = harness.wait(rejected_by("P"), "a")
    assert harness.place(info) is Place.UNSCHEDULABLE

    harness.queue.move_all(NODE_ADD, None, object())

    assert harness.place(info) is Place.BACKOFF
    assert harness.metrics.pods["backoff", "NodeAdd"] == 1


def test_a_pod_whose_backoff_is_over_goes_straight_to_active() -> None:
    harness = Harness({"P": [EventRegistration(NODE_ADD)]})
    [info] = harness.wait(rejected_by("P"), "a")
    harness.clock.time += 3

    harness.queue.move_all(NODE_ADD, None, object())

    assert harness.place(info) is Place.ACTIVE


def test_an_event_helps_a_pending_plugin_at_once() -> None:
    harness = Harness({"P": [EventRegistration(NODE_ADD)]})
    [info] = harness.wait(pending_on("P"), "a")

    harness.queue.move_all(NODE_ADD, None, object())

    assert harness.place(info) is Place.ACTIVE


def test_a_pending_plugin_that_is_not_helped_does_not_speed_up_another_that_is() -> None:
    harness = Harness(
        {"Pending": [EventRegistration(NODE_ADD, answering(Hint.SKIP))], "Other": [EventRegistration(NODE_ADD)]}
    )
    [info] = harness.add("a")
    harness.fail(harness.pop(), Rejection(frozenset({"Other"}), frozenset({"Pending"})))

    harness.queue.move_all(NODE_ADD, None, object())

    assert harness.place(info) is Place.BACKOFF


@pytest.mark.parametrize("waits", [rejected_by, pending_on])
def test_hints_are_asked_in_the_same_order_in_every_process(waits: Callable[..., Rejection]) -> None:
    """Python's hashes of strings, and so the order in a set, are others in each process."""
    asked: list[str] = []

    def hint_of(plugin: str) -> Callable[[PodInfo, object, object], Hint]:
        def hint(pod: PodInfo, old: object, new: object) -> Hint:
            asked.append(plugin)
            return Hint.SKIP

        return hint

    plugins = "FGHABCDE"
    harness = Harness({plugin: [EventRegistration(NODE_ADD, hint_of(plugin))] for plugin in plugins})
    harness.wait(waits(*plugins), "a")

    harness.queue.move_all(NODE_ADD, None, object())

    assert asked == sorted(plugins)


@pytest.mark.parametrize(
    ("registered", "happened", "helps"),
    [
        (NODE_ADD, NODE_ADD, True),
        (NODE_ADD, ASSIGNED_POD_ADD, False),
        (ASSIGNED_POD_DELETE, ASSIGNED_POD_ADD, False),
        (ANY_POD, ASSIGNED_POD_ADD, True),
        (ANYTHING, NODE_ADD, True),
        (NODE_ADD, UNSCHEDULABLE_TIMEOUT, True),
    ],
)
def test_registrations_match_by_resource_and_action(
    registered: ClusterEvent, happened: ClusterEvent, helps: bool
) -> None:
    harness = Harness({"P": [EventRegistration(registered)]})
    [info] = harness.wait(rejected_by("P"), "a")

    harness.queue.move_all(happened, None, None)

    assert (harness.place(info) is Place.BACKOFF) == helps


def test_a_hint_gets_the_pod_and_both_versions_and_may_skip() -> None:
    asked: list[tuple[str, object, object]] = []

    def hint(pod: PodInfo, old: object, new: object) -> Hint:
        asked.append((pod.name, old, new))
        return Hint.SKIP

    harness = Harness({"P": [EventRegistration(NODE_ADD, hint)]})
    [info] = harness.wait(rejected_by("P"), "a")

    harness.queue.move_all(NODE_ADD, "before", "after")

    assert asked == [("a", "before", "after")]
    assert harness.place(info) is Place.UNSCHEDULABLE


def test_one_of_several_registrations_for_the_same_event_is_enough() -> None:
    harness = Harness({"P": [EventRegistration(NODE_ADD, answering(Hint.SKIP)), EventRegistration(NODE_ADD)]})
    [info] = harness.wait(rejected_by("P"), "a")

    harness.queue.move_all(NODE_ADD, None, None)

    assert harness.place(info) is Place.BACKOFF


def test_a_broken_hint_counts_as_queue_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    harness = Harness({"P": [EventRegistration(NODE_ADD, broken)]})
    [info] = harness.wait(rejected_by("P"), "a")

    harness.queue.move_all(NODE_ADD, None, None)

    assert harness.place(info) is Place.BACKOFF
    assert [record.message for record in caplog.records] == ["QueueingHintFn returns error"]
    assert caplog.records[0].exc_info is not None


def test_a_plugin_without_registrations_is_helped_by_every_event() -> None:
    harness = Harness({"Other": []})
    [info] = harness.wait(rejected_by("P"), "a")

    harness.queue.move_all(NODE_ADD, None, None)

    assert harness.place(info) is Place.BACKOFF


def test_a_plugin_that_registers_nothing_is_helped_by_the_wildcard_only() -> None:
    harness = Harness({"P": []})
    [info] = harness.wait(rejected_by("P"), "a")

    harness.queue.move_all(NODE_ADD, None, None)
    assert harness.place(info) is Place.UNSCHEDULABLE
    harness.queue.move_all(UNSCHEDULABLE_TIMEOUT, None, None)
    assert harness.place(info) is Place.BACKOFF


@pytest.mark.parametrize(("by_signature", "questions"), [(True, 2), (False, 4)])
def test_a_hint_that_goes_by_the_shape_is_asked_once_about_pods_of_one(by_signature: bool, questions: int) -> None:
    asked: list[str] = []

    def hint(pod: PodInfo, old: object, new: object) -> Hint:
        asked.append(pod.name)
        return Hint.QUEUE if pod.signature.requests.get("cpu") else Hint.SKIP

    harness = Harness({"P": [EventRegistration(NODE_ADD, hint, by_signature=by_signature)]})
    plain = harness.add("a", "b")
    large = [pod(make_pod(name).requests(cpu="1")) for name in ("c", "d")]
    for info in large:
        harness.queue.add(info)
    for entry in [harness.pop() for _ in range(4)]:
        harness.fail(entry, rejected_by("P"))
    harness.queue.move_all(NODE_ADD, None, None)

    assert len(asked) == questions
    assert {harness.place(info) for info in plain} == {Place.UNSCHEDULABLE}
    assert {harness.place(info) for info in large} == {Place.BACKOFF}


def test_only_the_plugins_that_rejected_a_pod_are_asked() -> None:
    harness = Harness({"P": [EventRegistration(NODE_ADD)], "Q": [EventRegistration(NODE_ADD, forbidden)]})
    [info] = harness.wait(rejected_by("P"), "a")

    harness.queue.move_all(NODE_ADD, None, None)

    assert harness.place(info) is Place.BACKOFF


def test_an_event_without_a_registered_plugin_calls_no_hint() -> None:
    harness = Harness({"P": [EventRegistration(NODE_ADD, forbidden)]})
    infos = harness.wait(rejected_by("P"), *(f"pod-{number}" for number in range(100)))

    harness.queue.move_all(ASSIGNED_POD_ADD, None, None)

    assert {harness.place(info) for info in infos} == {Place.UNSCHEDULABLE}


def test_each_pod_is_asked_about_once_though_two_plugins_rejected_it() -> None:
    asked: list[str] = []

    def hint(pod: PodInfo, old: object, new: object) -> Hint:
        asked.append(pod.name)
        return Hint.QUEUE

    harness = Harness({"P": [EventRegistration(NODE_ADD, hint)], "Q": [EventRegistration(NODE_ADD, hint)]})
    harness.wait(rejected_by("P", "Q"), "a", "b")

    harness.queue.move_all(NODE_ADD, None, None)

    assert asked == ["a", "b"]


@given(data=st.data())
def test_a_single_pod_is_helped_as_one_of_a_series_of_events_would_help_it(data: st.DataObject) -> None:
    events = st.sampled_from((NODE_ADD, ASSIGNED_POD_ADD, ASSIGNED_POD_DELETE, ANY_POD, ANYTHING))
    hints = st.sampled_from((None, broken, answering(Hint.QUEUE), answering(Hint.SKIP)))
    one = st.builds(EventRegistration, events, hints, by_signature=st.booleans(), by_group=st.booleans())
    registered = data.draw(st.dictionaries(st.sampled_from("PQR"), st.lists(one, max_size=3)))
    queueing = QueueingHints(Registrations({"muster": registered}), ErrorLog(logging.getLogger("ignored"), lambda: 0.0))
    info = pod("a")
    entity = QueuedEntity.of(QueuedPodInfo(info, 0.0, 0.0), None, 0.0, Place.NOWHERE)
    plugins = st.frozensets(st.sampled_from("PQRS"))
    entity.unschedulable_plugins, entity.pending_plugins = data.draw(plugins), data.draw(plugins)
    kind, target = data.draw(events), data.draw(st.sampled_from((None, info.uid, "another")))

    event, again = (ObjectEvent(kind, None, object(), target) for _ in range(2))

    expected = queueing.strategy_after(entity, (InFlightEvents(kind, target, (again,)),))
    assert queueing.strategy(entity, event) is expected
