"""Members of a group that fail one after another, or late: what comes back joins what its siblings have become."""

from muster.framework.contract.events import NODE_ADD
from muster.framework.queue.transitions import Place
from tests.queue.harness import ERROR, ON_SIBLING, Harness, pending_on, rejected_by


def test_members_that_fail_one_after_another_come_back_as_one_entry() -> None:
    harness = Harness(ON_SIBLING)
    harness.add("g1", "g2", "g3", group="g")
    for member in harness.pop().pods.values():
        harness.queue.requeue([member], ERROR)
        harness.clock.time += 0.2

    assert harness.queue.contents.entity_counts()["backoff", "podgroup"] == 1
    harness.at(5)
    entry = harness.pop()
    assert len(entry.pods) == 3
    assert entry.consecutive_errors == 1


def test_a_member_that_fails_late_joins_its_siblings_in_backoff() -> None:
    harness = Harness()
    harness.add("g1", "g2", group="g")
    first, second = harness.pop().pods.values()
    harness.queue.done(first.info.uid)
    harness.queue.done(second.info.uid)
    harness.queue.requeue([first], ERROR)
    harness.clock.time += 0.5
    harness.queue.requeue([second], rejected_by("Fit"))

    assert harness.place(first.info) is harness.place(second.info) is Place.ERROR_BACKOFF


def test_a_member_that_fails_late_joins_its_siblings_in_the_active_queue() -> None:
    harness = Harness()
    harness.add("g1", "g2", group="g")
    first, second = harness.pop().pods.values()
    harness.queue.requeue([first], ERROR)
    harness.at(5)
    harness.queue.requeue([second], rejected_by("Fit"))

    assert harness.drain() == [["g1", "g2"]]


def test_a_member_that_fails_late_makes_a_new_entry_when_its_siblings_are_done() -> None:
    harness = Harness()
    harness.add("g1", "g2", group="g")
    first, second = harness.pop().pods.values()
    harness.queue.done(first.info.uid)
    harness.queue.requeue([second], ERROR)
    harness.at(5)

    assert harness.drain() == [["g2"]]


def test_rejections_of_members_one_after_another_add_up() -> None:
    harness = Harness(ON_SIBLING)
    harness.add("g1", "g2", group="g")
    first, second = harness.pop().pods.values()
    harness.queue.requeue([first], rejected_by("Gang"))
    harness.queue.requeue([second], rejected_by("Fit"))
    assert harness.place(first.info) is Place.UNSCHEDULABLE
    assert harness.metrics.held == {"Gang": 2, "Fit": 2}

    harness.queue.move_all(NODE_ADD, None, None)
    assert harness.place(first.info) is harness.place(second.info) is Place.BACKOFF


def test_the_last_failure_of_a_member_counts_for_the_groups_backoff_and_time_limit() -> None:
    harness = Harness({**ON_SIBLING, "Never": []})
    harness.add("g1", "g2", group="g")
    first, second = harness.pop().pods.values()
    harness.queue.requeue([first], rejected_by("Never"))
    harness.at(100)
    harness.queue.requeue([second], rejected_by("Fit"))
    harness.at(250)
    assert harness.place(first.info) is Place.UNSCHEDULABLE
    harness.at(60)
    assert harness.place(first.info) is Place.ACTIVE

    harness.pop()
    harness.queue.requeue([first], rejected_by("Never"))
    harness.at(10)
    harness.queue.requeue([second], rejected_by("Fit"))
    harness.queue.move_all(NODE_ADD, None, None)
    assert harness.place(first.info) is Place.BACKOFF


def test_an_error_of_one_member_makes_the_waiting_group_try_again_after_backoff() -> None:
    harness = Harness(ON_SIBLING)
    harness.add("g1", "g2", group="g")
    first, second = harness.pop().pods.values()
    harness.queue.requeue([first], rejected_by("Fit"))
    harness.queue.requeue([second], ERROR)

    assert harness.place(first.info) is harness.place(second.info) is Place.ERROR_BACKOFF
    assert harness.metrics.held == {"Fit": 0}
    harness.at(5)
    assert harness.drain() == [["g1", "g2"]]


def test_an_event_that_a_late_member_missed_wakes_the_group_that_it_joins() -> None:
    harness = Harness(ON_SIBLING)
    harness.add("g1", "g2", group="g")
    first, second = harness.pop().pods.values()
    harness.queue.requeue([first], rejected_by("Gang"))
    harness.queue.move_all(NODE_ADD, None, None)
    harness.queue.requeue([second], rejected_by("Fit"))

    assert harness.place(first.info) is harness.place(second.info) is Place.BACKOFF


def test_a_late_member_whose_pending_plugin_was_helped_hurries_the_group() -> None:
    harness = Harness(ON_SIBLING)
    harness.add("g1", "g2", group="g")
    first, second = harness.pop().pods.values()
    harness.queue.move_all(NODE_ADD, None, None)
    harness.queue.requeue([first], rejected_by("Fit"))
    assert harness.place(first.info) is Place.BACKOFF
    harness.queue.requeue([second], pending_on("Fit"))

    assert harness.place(first.info) is harness.place(second.info) is Place.ACTIVE


def test_a_late_member_that_is_gated_by_then_does_not_join() -> None:
    harness = Harness()
    harness.add("g1", "g2", group="g")
    first, second = harness.pop().pods.values()
    harness.queue.requeue([first], ERROR)
    harness.closed["Gate"] = {"g2"}
    harness.queue.requeue([second], ERROR)

    assert harness.place(first.info) is Place.ERROR_BACKOFF
    assert harness.place(second.info) is Place.GATED
