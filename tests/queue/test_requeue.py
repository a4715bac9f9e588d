"""How pods come back from an attempt, and what they missed meanwhile."""

from functools import partial

import pytest

from muster.framework.contract.events import ASSIGNED_POD_DELETE, NODE_ADD, EventRegistration, Hint
from muster.framework.contract.plugin import QueuedPod
from muster.framework.model.pod_info import PodInfo
from muster.framework.queue.entity import Rejection
from muster.framework.queue.transitions import Place
from muster.testing.slices import slices_of
from tests.queue.harness import ERROR, Harness, pending_on, pod, rejected_by

ON_NODE_ADD = {"P": [EventRegistration(NODE_ADD)]}


def test_a_rejected_pod_waits_for_an_event() -> None:
    harness = Harness(ON_NODE_ADD)
    [info] = harness.wait(rejected_by("P"), "a")

    assert harness.place(info) is Place.UNSCHEDULABLE
    assert harness.metrics.pods["unschedulable", "ScheduleAttemptFailure"] == 1


def test_a_rejection_that_names_no_plugin_backs_off_as_an_error_does() -> None:
    harness = Harness()
    [info] = harness.wait(rejected_by(), "a")

    assert harness.place(info) is Place.ERROR_BACKOFF


def test_an_error_backs_off_though_plugins_rejected_the_pod_too() -> None:
    harness = Harness(ON_NODE_ADD)
    [info] = harness.add("a")
    harness.fail(harness.pop(), Rejection(frozenset({"P"}), error=True))

    assert harness.place(info) is Place.ERROR_BACKOFF


def test_an_event_that_came_while_the_pod_was_in_flight_counts_when_it_comes_back() -> None:
    harness = Harness(ON_NODE_ADD)
    [info] = harness.add("a")
    entry = harness.pop()
    harness.queue.move_all(NODE_ADD, None, object())
    harness.fail(entry, rejected_by("P"))

    assert harness.place(info) is Place.BACKOFF
    assert harness.metrics.pods["backoff", "ScheduleAttemptFailure"] == 1


def test_a_pending_plugin_helped_in_flight_brings_the_pod_back_active() -> None:
    harness = Harness(ON_NODE_ADD)
    [info] = harness.add("a")
    entry = harness.pop()
    harness.queue.move_all(NODE_ADD, None, object())
    harness.fail(entry, pending_on("P"))

    assert harness.place(info) is Place.ACTIVE


def test_events_from_before_the_pop_do_not_count() -> None:
    harness = Harness(ON_NODE_ADD)
    harness.add("first", "second")
    harness.pop()
    harness.queue.move_all(NODE_ADD, None, object())
    entry = harness.pop()
    harness.fail(entry, rejected_by("P"))

    assert harness.queue.contents.place_of(next(iter(entry.pods))) is Place.UNSCHEDULABLE


def test_missed_events_are_judged_by_the_hints_in_order_until_one_helps() -> None:
    asked: list[object] = []

    def hint(pod: PodInfo, old: object, new: object) -> Hint:
        asked.append(new)
        return Hint.QUEUE if new == 2 else Hint.SKIP

    harness = Harness({"P": [EventRegistration(NODE_ADD, hint)]})
    harness.add("a")
    entry = harness.pop()
    for number in range(4):
        harness.queue.move_all(NODE_ADD, None, number)
    harness.fail(entry, rejected_by("P"))

    assert asked == [0, 1, 2]


def test_missed_events_are_forgotten_after_the_last_pod_in_flight() -> None:
    harness = Harness({"P": [EventRegistration(NODE_ADD), EventRegistration(ASSIGNED_POD_DELETE)]})
    harness.add("early", "late")
    early = harness.pop()
    for _ in range(5):
        harness.queue.move_all(NODE_ADD, None, None)
    late = harness.pop()
    harness.queue.move_all(ASSIGNED_POD_DELETE, None, None)

    in_flight = harness.queue._in_flight
    assert in_flight.kept_events == 6
    harness.queue.done(next(iter(early.pods)))
    assert in_flight.kept_events == 1
    harness.queue.done(next(iter(late.pods)))
    assert in_flight.kept_events == 0


def test_events_without_a_registered_plugin_are_not_kept() -> None:
    harness = Harness(ON_NODE_ADD)
    harness.add("a")
    harness.pop()
    for _ in range(5):
        harness.queue.move_all(ASSIGNED_POD_DELETE, None, None)

    assert harness.queue._in_flight.kept_events == 0


def test_a_pod_that_is_activated_in_flight_backs_off_even_without_registered_events() -> None:
    harness = Harness({})
    [info] = harness.add("a")
    entry = harness.pop()
    harness.queue.activate([info])
    harness.fail(entry, rejected_by("P"))

    assert harness.place(info) is Place.BACKOFF


def test_missed_events_without_a_registration_of_the_rejecting_plugin_call_no_hint() -> None:
    def forbidden(pod: PodInfo, old: object, new: object) -> Hint:
        raise AssertionError("nobody may ask")

    harness = Harness({**ON_NODE_ADD, "Q": [EventRegistration(ASSIGNED_POD_DELETE, forbidden)]})
    [info] = harness.add("a")
    entry = harness.pop()
    harness.queue.move_all(ASSIGNED_POD_DELETE, None, None)
    assert harness.queue._in_flight.missed([info.uid], lambda event: event is NODE_ADD) == []
    harness.fail(entry, rejected_by("P"))

    assert harness.place(info) is Place.UNSCHEDULABLE


def test_events_of_several_kinds_that_were_missed_count_each() -> None:
    harness = Harness(
        {
            "P": [EventRegistration(NODE_ADD, lambda pod, old, new: Hint.SKIP)],
            "Q": [EventRegistration(ASSIGNED_POD_DELETE)],
        }
    )
    first, second = harness.add("a", "b")
    entries = [harness.pop(), harness.pop()]
    harness.queue.move_all(NODE_ADD, None, None)
    harness.queue.move_all(ASSIGNED_POD_DELETE, None, None)
    harness.fail(entries[0], rejected_by("P"))
    harness.fail(entries[1], Rejection(frozenset({"P"}), frozenset({"Q"})))

    assert (harness.place(first), harness.place(second)) == (Place.UNSCHEDULABLE, Place.ACTIVE)


def test_a_hint_that_goes_by_the_shape_is_asked_once_about_missed_events_of_alike_pods() -> None:
    asked: list[object] = []

    def hint(pod: PodInfo, old: object, new: object) -> Hint:
        asked.append(new)
        return Hint.SKIP

    harness = Harness({"P": [EventRegistration(NODE_ADD, hint, by_signature=True)]})
    infos = harness.add("a", "b", "c")
    entries = [harness.pop() for _ in infos]
    harness.queue.move_all(NODE_ADD, None, 1)
    harness.queue.move_all(NODE_ADD, None, 2)
    for entry in entries:
        harness.fail(entry, rejected_by("P"))

    assert asked == [1, 2]
    assert {harness.place(info) for info in infos} == {Place.UNSCHEDULABLE}


def test_nothing_is_logged_while_nothing_is_in_flight() -> None:
    harness = Harness(ON_NODE_ADD)
    harness.wait(rejected_by("Q"), "a")
    harness.queue.move_all(ASSIGNED_POD_DELETE, None, None)

    assert harness.queue._in_flight.kept_events == 0


def test_a_pod_that_fails_after_done_comes_back_without_its_missed_events() -> None:
    harness = Harness(ON_NODE_ADD)
    [info] = harness.add("a")
    entry = harness.pop()
    harness.queue.done(info.uid)
    assert harness.place(info) is None
    harness.queue.move_all(NODE_ADD, None, None)
    harness.fail(entry, rejected_by("P"))

    assert harness.place(info) is Place.UNSCHEDULABLE


def test_counts_go_on_after_done() -> None:
    harness = Harness()
    harness.add("a")
    for _ in range(3):
        entry = harness.pop()
        for uid in entry.pods:
            harness.queue.done(uid)
        harness.fail(entry, ERROR)
        harness.at(20)

    assert harness.pop().consecutive_errors == 3


def test_a_pod_that_was_deleted_in_flight_does_not_come_back() -> None:
    harness = Harness()
    [info] = harness.add("a")
    entry = harness.pop()
    harness.queue.remove(info)
    harness.fail(entry, ERROR)

    assert harness.place(info) is None
    assert harness.queue.contents.counts() == {"active": 0, "backoff": 0, "unschedulable": 0, "gated": 0}


def test_a_pod_recreated_while_its_old_self_is_in_flight_is_there_once() -> None:
    harness = Harness()
    [info] = harness.add("a")
    entry = harness.pop()
    harness.queue.remove(info)
    harness.queue.add(info)
    harness.fail(entry, ERROR)

    assert harness.place(info) is Place.ACTIVE
    assert harness.drain() == [["a"]]


def test_the_old_attempt_of_a_recreated_pod_does_not_end_the_new_one() -> None:
    harness = Harness()
    [info] = harness.add("a")
    old = harness.pop()
    harness.queue.remove(info)
    harness.queue.add(info)
    new = harness.pop()
    harness.fail(old, ERROR)
    assert harness.place(info) is Place.IN_FLIGHT
    harness.fail(new, ERROR)

    assert harness.place(info) is Place.ERROR_BACKOFF


def test_a_pod_that_came_back_already_does_not_come_back_again() -> None:
    harness = Harness()
    harness.add("a")
    entry = harness.pop()
    harness.fail(entry, ERROR)
    harness.fail(entry, rejected_by("P"))

    assert harness.queue.contents.counts()["backoff"] == 1
    assert harness.queue.contents.counts()["unschedulable"] == 0


def test_the_same_pod_named_twice_comes_back_once() -> None:
    harness = Harness()
    harness.add("a")
    [member] = harness.pop().pods.values()
    harness.queue.requeue([member, member], ERROR)

    assert harness.queue.contents.counts()["backoff"] == 1
    harness.at(5)
    assert harness.pop().consecutive_errors == 1


def test_only_pods_that_were_popped_can_come_back() -> None:
    harness = Harness()
    info = pod("a")

    with pytest.raises(TypeError, match="pod default/a was not handed out by the queue"):
        harness.queue.requeue([QueuedPod(info, 0.0, 0.0)], ERROR)


def test_every_pop_counts_as_an_attempt_and_first_seen_stays() -> None:
    harness = Harness()
    harness.add("a")
    first = next(iter(harness.pop().pods.values()))
    assert (first.attempts, first.first_seen, first.timestamp) == (1, 1000.0, 1000.0)
    harness.clock.time = 1007.5
    harness.queue.requeue([first], ERROR)
    harness.at(5)
    again = next(iter(harness.pop().pods.values()))

    assert (again.attempts, again.first_seen, again.timestamp) == (2, 1000.0, 1007.5)


def test_a_popped_entry_names_no_rejectors_any_more() -> None:
    harness = Harness()
    [info] = harness.wait(rejected_by("P"), "a")
    harness.queue.activate([info])
    entry = harness.pop()

    assert not entry.rejectors
    assert entry.unschedulable_count == 1


def test_one_pod_of_a_batch_does_not_hide_what_another_missed() -> None:
    harness = Harness(ON_NODE_ADD)
    first, second = harness.add("a", "b")
    entries = [harness.pop()]
    harness.queue.move_all(NODE_ADD, None, None)
    entries.append(harness.pop())
    harness.queue.requeue([m for e in reversed(entries) for m in e.pods.values()], rejected_by("P"))

    assert {harness.place(first), harness.place(second)} == {Place.BACKOFF}


def test_done_of_a_pod_that_is_not_in_flight_changes_nothing() -> None:
    harness = Harness()
    [info] = harness.add("a")
    harness.queue.done(info.uid)
    harness.queue.done("unknown")
    assert harness.place(info) is Place.ACTIVE
    harness.pop()
    harness.queue.done(info.uid)
    harness.queue.done(info.uid)

    assert harness.place(info) is None


def test_many_come_back_in_steps_and_are_in_one_place_at_each() -> None:
    harness = Harness()
    harness.add(*(f"p{number}" for number in range(6)), group="gang")
    members = [*harness.pop().pods.values()]
    steps = 0
    for _ in slices_of(partial(harness.queue.requeue, members, rejected_by("Fit"))):
        steps += 1
        assert [line.pod for line in harness.queue.contents.dump()] == [f"default/p{number}" for number in range(6)]
    assert steps >= 2 * len(members)
    assert harness.queue.contents.counts()["unschedulable"] == 6
