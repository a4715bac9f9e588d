"""How long failed entries are held off, and in which order they come out."""

from random import Random

import pytest

from muster.framework.contract.events import NODE_ADD
from muster.framework.queue.policy import BackoffPolicy
from muster.framework.queue.transitions import Place
from tests.queue.harness import ERROR, Harness, pod, rejected_by


@pytest.mark.parametrize(
    ("failures", "seconds"), [(0, 0), (1, 1), (2, 2), (3, 4), (4, 8), (5, 10), (6, 10), (5000, 10)]
)
def test_backoff_doubles_up_to_the_maximum(failures: int, seconds: float) -> None:
    assert BackoffPolicy(1.0, 10.0).seconds(failures) == seconds


def test_the_longest_backoff_of_a_group_grows_with_the_square_root_of_its_size() -> None:
    policy = BackoffPolicy(1.0, 10.0)

    assert policy.seconds(9, pods=16) == 40
    assert policy.seconds(2, pods=16) == 2


def test_an_initial_backoff_above_the_maximum_is_cut() -> None:
    assert BackoffPolicy(5.0, 2.0).seconds(1) == 2


def test_a_pod_struck_by_an_error_is_held_off_until_the_window_of_its_last_second_is_over() -> None:
    harness = Harness()
    harness.clock.time = 1000.25
    [info] = harness.wait(ERROR, "a")

    assert harness.place(info) is Place.ERROR_BACKOFF
    assert harness.queue.next_deadline() == 1002.0  # 1000.25 s + 1 s is in the window that begins at 1001
    harness.at(1001.999 - harness.clock.time)
    assert harness.place(info) is Place.ERROR_BACKOFF
    harness.at(0.001)
    assert harness.place(info) is Place.ACTIVE


def test_errors_in_a_row_back_off_longer_and_a_rejection_resets_their_count() -> None:
    harness = Harness()
    harness.add("a")
    waits = []
    for rejection in (ERROR, ERROR, ERROR, rejected_by("P"), ERROR):
        harness.fail(harness.pop(), rejection)
        if rejection is not ERROR:
            harness.queue.activate([pod("a")])
            continue
        due = harness.queue.next_deadline()
        assert due is not None
        waits.append(due - harness.clock.time)
        harness.at(due - harness.clock.time)

    assert [round(seconds) for seconds in waits] == [2, 3, 5, 2]


def test_an_error_after_many_rejections_starts_at_the_initial_backoff() -> None:
    harness = Harness()
    harness.add("a")
    for _ in range(4):
        harness.fail(harness.pop(), rejected_by("P"))
        harness.queue.activate([pod("a")])
    entry = harness.pop()
    assert (entry.unschedulable_count, entry.consecutive_errors) == (4, 0)
    harness.fail(entry, ERROR)
    harness.at(2.0)

    again = harness.pop()
    assert (again.unschedulable_count, again.consecutive_errors) == (4, 1)


def test_a_maximum_of_zero_switches_backoff_off() -> None:
    harness = Harness(backoff=BackoffPolicy(1.0, 0.0))
    [info] = harness.wait(ERROR, "a")

    assert harness.place(info) is Place.ACTIVE
    assert harness.queue.next_deadline() is None


def test_an_idle_pop_takes_a_rejected_entry_before_its_time() -> None:
    harness = Harness()  # a plugin without registrations is helped by everything
    [info] = harness.wait(rejected_by("P"), "a")
    harness.queue.move_all(NODE_ADD, None, None)
    assert harness.place(info) is Place.BACKOFF

    assert harness.pop_names() == ["a"]
    assert harness.metrics.pods["active", "PopFromBackoffQ"] == 1


def test_an_idle_pop_leaves_entries_struck_by_an_error_alone() -> None:
    harness = Harness()
    harness.wait(ERROR, "a")

    assert harness.pop_names() == []


def test_active_entries_go_before_any_that_back_off() -> None:
    harness = Harness()
    harness.wait(rejected_by("P"), "urgent")
    harness.queue.move_all(NODE_ADD, None, None)
    harness.add("calm")

    assert harness.drain() == [["calm"], ["urgent"]]


def test_within_a_window_entries_are_ordered_as_active_ones_are() -> None:
    harness = Harness()
    for name, priority in (("low", 1), ("high", 9), ("middle", 5)):
        harness.add(name, priority=priority)
    entries = [harness.pop() for _ in range(3)]
    for entry in entries[::-1]:
        harness.fail(entry, rejected_by("P"))
        harness.clock.time += 0.1
    harness.queue.move_all(NODE_ADD, None, None)

    assert harness.drain() == [["high"], ["middle"], ["low"]]


def test_an_earlier_window_goes_before_a_higher_priority() -> None:
    harness = Harness()
    harness.add("high", priority=9)
    high = harness.pop()
    harness.add("low")
    harness.fail(harness.pop(), rejected_by("P"))
    harness.clock.time += 1.0
    harness.fail(high, rejected_by("P"))
    harness.queue.move_all(NODE_ADD, None, None)

    assert harness.drain() == [["low"], ["high"]]


def test_the_whole_window_comes_out_at_once() -> None:
    harness = Harness()
    harness.wait(ERROR, "a", "b", "c")
    harness.at(2.0)

    assert harness.queue.contents.counts()["active"] == 3
    assert harness.metrics.pods["active", "BackoffComplete"] == 3


def test_pods_that_an_error_strikes_together_do_not_come_back_together() -> None:
    harness = Harness(backoff=BackoffPolicy(max_seconds=60.0, jitter=Random(7).random))
    infos = harness.add(*(f"pod-{number}" for number in range(2000)))
    batch = [harness.pop() for _ in infos]
    for _ in range(5):  # the API fails for a minute
        for entity in batch:
            harness.fail(entity, ERROR)
        batch, came = [], []
        while len(batch) < len(infos):
            harness.at(1)
            before = len(batch)
            while (popped := harness.queue.pop()) is not None:
                batch.append(popped)
            came.append(len(batch) - before)

    assert len({uid for entity in batch for uid in entity.pods}) == len(infos)
    assert max(came) < len(infos) / 4
