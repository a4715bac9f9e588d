"""Time limits, deadlines, and waking the caller that pops."""

from collections.abc import Callable

import pytest

from muster.framework.contract.events import NODE_ADD, EventRegistration
from muster.framework.queue.transitions import Place
from tests.queue.harness import ERROR, Harness, pending_on, pod, rejected_by

NEVER_HELPED: dict[str, list[EventRegistration]] = {"P": [], "Gate": []}


def test_an_unschedulable_entry_is_tried_again_after_five_minutes() -> None:
    harness = Harness(NEVER_HELPED)
    [info] = harness.wait(rejected_by("P"), "a")
    harness.at(0)
    harness.at(300)
    assert harness.place(info) is Place.UNSCHEDULABLE
    harness.at(30)
    assert harness.place(info) is Place.ACTIVE
    assert harness.metrics.pods["active", "UnschedulableTimeout"] == 1


def test_an_entry_that_the_time_limit_brought_out_is_marked_until_it_fails_again() -> None:
    harness = Harness(NEVER_HELPED)
    harness.wait(rejected_by("P"), "a")
    harness.at(331)
    entry = harness.pop()
    assert entry.flushed
    harness.fail(entry, ERROR)
    harness.at(10)

    assert not harness.pop().flushed


def test_the_longest_unschedulable_time_is_checked_every_thirty_seconds() -> None:
    harness = Harness(NEVER_HELPED)
    harness.clock.time += 10
    [info] = harness.wait(rejected_by("P"), "a")
    harness.at(0)
    assert harness.queue.next_deadline() == pytest.approx(harness.clock.time + 30)

    harness.at(299)
    assert harness.place(info) is Place.UNSCHEDULABLE
    deadline = harness.queue.next_deadline()
    assert deadline is not None
    harness.at(deadline - harness.clock.time)
    assert harness.place(info) is Place.ACTIVE


def test_the_limit_counts_from_the_last_attempt() -> None:
    harness = Harness(NEVER_HELPED)
    [info] = harness.wait(rejected_by("P"), "a")
    harness.at(200)
    harness.queue.activate([info])
    harness.fail(harness.pop(), rejected_by("P"))
    harness.at(150)
    assert harness.place(info) is Place.UNSCHEDULABLE
    harness.at(200)
    assert harness.place(info) is Place.ACTIVE


def test_an_entry_that_still_backs_off_goes_to_backoff_when_its_limit_is_over() -> None:
    harness = Harness(NEVER_HELPED, most_at_once=2500)
    infos = harness.wait(rejected_by("P"), *(f"g{number}" for number in range(2500)), group="g")
    for _ in range(12):
        harness.queue.activate(infos[:1])
        harness.fail(harness.pop(), rejected_by("P"))
    harness.at(331)

    assert harness.place(infos[0]) is Place.BACKOFF  # the longest backoff of 2,500 pods is 500 s


def test_a_gated_pod_is_asked_about_after_five_minutes_and_every_five_minutes_after() -> None:
    harness = Harness(NEVER_HELPED)
    harness.closed["Gate"] = {"a"}
    harness.add("a")
    harness.asked.clear()
    asked_at = []
    for _ in range(40):
        harness.at(30)
        asked_at += [round(harness.clock.time - 1000)] * len(harness.asked)
        harness.asked.clear()

    assert asked_at == [300, 630, 960]  # the first looks after more than 300 s


def test_a_pending_plugin_does_not_make_the_time_limit_skip_backoff() -> None:
    harness = Harness(NEVER_HELPED)
    [info] = harness.wait(pending_on("P"), "a")
    harness.at(331)

    assert harness.place(info) is Place.ACTIVE


def test_an_empty_or_merely_active_queue_has_no_deadline() -> None:
    harness = Harness()
    assert harness.queue.next_deadline() is None
    harness.add("a")
    assert harness.queue.next_deadline() is None
    harness.pop()
    assert harness.queue.next_deadline() is None


def test_the_next_deadline_is_the_earliest_of_all() -> None:
    harness = Harness(NEVER_HELPED)
    harness.at(0)
    harness.wait(rejected_by("P"), "a")
    assert harness.queue.next_deadline() == 1030.0
    harness.wait(ERROR, "b")
    assert harness.queue.next_deadline() == 1002.0


def test_flushing_at_the_deadline_is_enough_to_bring_everything_back() -> None:
    harness = Harness(NEVER_HELPED)
    harness.wait(rejected_by("P"), "a", "b")
    harness.wait(ERROR, "c")
    popped = []
    while (deadline := harness.queue.next_deadline()) is not None:
        harness.at(max(0.0, deadline - harness.clock.time))
        popped += harness.drain()

    assert popped == [["c"], ["a"], ["b"]]


def test_on_ready_is_called_when_an_entity_enters_a_sub_queue() -> None:
    harness = Harness({"P": [EventRegistration(NODE_ADD)]})

    def woken_by(action: Callable[[], object]) -> bool:
        before = harness.woken
        action()
        return harness.woken > before

    assert woken_by(lambda: harness.add("a"))
    entry = harness.pop()
    assert woken_by(lambda: harness.fail(entry, rejected_by("P")))
    assert woken_by(lambda: harness.queue.move_all(NODE_ADD, None, None))
    assert woken_by(lambda: harness.queue.activate([pod("a")]))
    harness.closed["Gate"] = {"b"}
    assert woken_by(lambda: harness.add("b"))


def test_on_ready_is_not_called_without_a_new_entity() -> None:
    harness = Harness({"P": []})
    [info] = harness.wait(rejected_by("P"), "a")
    before = harness.woken
    harness.queue.move_all(NODE_ADD, None, None)
    harness.queue.flush(harness.clock.time)
    harness.queue.remove(info)

    assert harness.woken == before


def test_activating_moves_an_entry_from_any_part() -> None:
    harness = Harness(NEVER_HELPED)
    [unschedulable] = harness.wait(rejected_by("P"), "a")
    [struck] = harness.wait(ERROR, "b")
    [active] = harness.add("c")
    harness.queue.activate([unschedulable, struck, active, pod("unknown")])

    assert harness.queue.contents.counts()["active"] == 3
    assert harness.metrics.pods["active", "ForceActivate"] == 2


def test_activating_a_pod_activates_its_group() -> None:
    harness = Harness(NEVER_HELPED)
    _, second = harness.wait(rejected_by("P"), "g1", "g2", group="g")
    harness.queue.activate([second])

    assert harness.drain() == [["g1", "g2"]]


def test_a_pod_activated_in_flight_does_not_wait_for_an_event_afterwards() -> None:
    harness = Harness(NEVER_HELPED)
    activated, other = harness.add("a", "b")
    entries = [harness.pop(), harness.pop()]
    harness.queue.activate([activated])
    for entry in entries:
        harness.fail(entry, rejected_by("P"))

    assert harness.place(activated) is Place.BACKOFF
    assert harness.place(other) is Place.UNSCHEDULABLE
