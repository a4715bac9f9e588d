"""Groups: pods that wait as one entry."""

from muster.framework.contract.events import NODE_ADD, UNSCHEDULED_POD_ADD, EventRegistration
from muster.framework.queue.entity import Rejection
from muster.framework.queue.transitions import Place
from tests.queue.harness import ERROR, ON_SIBLING, Harness, pending_on, rejected_by


def test_pods_of_a_group_are_popped_together() -> None:
    harness = Harness()
    harness.add("g1", "g2", "g3", group="g")
    entry = harness.pop()

    assert (entry.key, entry.group) == ("group/g", "g")
    assert [member.info.name for member in entry.pods.values()] == ["g1", "g2", "g3"]
    assert harness.queue.pop() is None


def test_a_pod_by_itself_is_an_entry_of_its_own() -> None:
    harness = Harness()
    harness.add("a")
    entry = harness.pop()

    assert (entry.key, entry.group, entry.profile) == ("pod/default/a", None, "muster")


def test_a_group_that_was_rejected_waits_as_one_and_wakes_as_one() -> None:
    harness = Harness(ON_SIBLING)
    infos = harness.wait(rejected_by("Fit"), "g1", "g2", group="g")
    assert {harness.place(info) for info in infos} == {Place.UNSCHEDULABLE}

    harness.queue.move_all(NODE_ADD, None, None)
    assert {harness.place(info) for info in infos} == {Place.BACKOFF}
    assert harness.drain() == [["g1", "g2"]]


def test_a_sibling_that_arrives_wakes_the_group_through_its_rejecting_plugins() -> None:
    harness = Harness(ON_SIBLING)
    [first] = harness.wait(rejected_by("Gang"), "g1", group="g")
    [second] = harness.add("g2", group="g")

    assert harness.place(first) is harness.place(second) is Place.BACKOFF
    assert harness.drain() == [["g1", "g2"]]


def test_a_sibling_wakes_a_group_whose_plugin_is_pending_at_once() -> None:
    harness = Harness(ON_SIBLING)
    [first] = harness.wait(pending_on("Gang"), "g1", group="g")
    harness.add("g2", group="g")

    assert harness.place(first) is Place.ACTIVE


def test_a_sibling_ends_the_backoff_of_a_group_whose_plugin_is_pending() -> None:
    harness = Harness(ON_SIBLING)
    harness.add("g1", group="g")
    entry = harness.pop()
    harness.queue.move_all(NODE_ADD, None, None)
    harness.fail(entry, Rejection(frozenset({"Fit"}), frozenset({"Gang"})))
    assert harness.queue.contents.place_of("pod-default-g1") is Place.BACKOFF
    harness.add("g2", group="g")

    assert harness.queue.contents.place_of("pod-default-g1") is Place.ACTIVE


def test_a_sibling_joins_a_group_whose_plugins_do_not_care_without_waking_it() -> None:
    harness = Harness(ON_SIBLING)
    harness.wait(rejected_by("Fit"), "g1", group="g")
    [second] = harness.add("g2", group="g")

    assert harness.place(second) is Place.UNSCHEDULABLE
    harness.queue.move_all(NODE_ADD, None, None)
    assert harness.drain() == [["g1", "g2"]]


def test_a_sibling_joins_a_group_that_backs_off() -> None:
    harness = Harness()
    harness.wait(ERROR, "g1", group="g")
    [second] = harness.add("g2", group="g")
    assert harness.place(second) is Place.ERROR_BACKOFF
    harness.at(3)

    assert harness.drain() == [["g1", "g2"]]


def test_a_pod_of_another_group_wakes_no_member() -> None:
    harness = Harness(ON_SIBLING)
    [first] = harness.wait(rejected_by("Gang"), "g1", group="g")
    [stranger] = harness.add("h1", group="h")
    harness.queue.move_all(UNSCHEDULED_POD_ADD, None, stranger)

    assert harness.place(first) is Place.UNSCHEDULABLE


def test_a_gated_sibling_is_no_member_until_it_is_ungated() -> None:
    harness = Harness({**ON_SIBLING, "Gate": [EventRegistration(NODE_ADD)]})
    harness.closed["Gate"] = {"g2"}
    first, second = harness.add("g1", "g2", group="g")
    assert harness.place(second) is Place.GATED
    harness.fail(harness.pop(), rejected_by("Gang"))

    harness.open("Gate")
    harness.queue.move_all(NODE_ADD, None, None)
    assert harness.place(first) is harness.place(second) is Place.BACKOFF
    assert harness.drain() == [["g1", "g2"]]


def test_a_gate_that_closes_for_one_member_does_not_hold_the_others() -> None:
    harness = Harness(ON_SIBLING)
    first, second = harness.wait(rejected_by("Fit"), "g1", "g2", group="g")
    harness.closed["Gate"] = {"g1"}
    harness.queue.move_all(NODE_ADD, None, None)

    assert harness.place(first) is Place.GATED
    assert harness.place(second) is Place.BACKOFF
    assert harness.drain() == [["g2"]]


def test_a_group_whose_members_are_all_gated_is_not_queued_until_one_is_ungated() -> None:
    harness = Harness({**ON_SIBLING, "Gate": [EventRegistration(NODE_ADD)]})
    infos = harness.wait(rejected_by("Fit"), "g1", "g2", group="g")
    harness.closed["Gate"] = {"g1", "g2"}
    harness.queue.move_all(NODE_ADD, None, None)
    assert {harness.place(info) for info in infos} == {Place.GATED}
    assert harness.queue.contents.entity_counts()["backoff", "podgroup"] == 0

    harness.open("Gate")
    harness.clock.time += 5
    harness.queue.move_all(NODE_ADD, None, None)
    entry = harness.pop()
    assert [member.info.name for member in entry.pods.values()] == ["g1", "g2"]
    assert entry.unschedulable_count == 1


def test_a_group_counts_one_failure_however_many_of_its_pods_failed() -> None:
    harness = Harness()
    harness.wait(ERROR, "g1", "g2", "g3", group="g")
    harness.at(5)

    assert harness.pop().consecutive_errors == 1


def test_a_sibling_that_arrives_in_flight_is_tried_on_its_own() -> None:
    harness = Harness()
    harness.add("g1", group="g")
    harness.pop()
    harness.add("g2", group="g")

    assert harness.drain() == [["g2"]]


def test_a_group_goes_when_its_last_pod_is_deleted() -> None:
    harness = Harness()
    first, second = harness.wait(rejected_by("P"), "g1", "g2", group="g")
    harness.queue.remove(first)
    assert harness.queue.contents.entity_counts()["unschedulable", "podgroup"] == 1
    harness.queue.remove(second)

    assert harness.queue.contents.entity_counts()["unschedulable", "podgroup"] == 0
    harness.add("g3", group="g")
    assert harness.pop().unschedulable_count == 0


def test_members_keep_their_own_attempts() -> None:
    harness = Harness()
    harness.wait(ERROR, "g1", group="g")
    harness.add("g2", group="g")
    harness.at(5)

    assert [member.attempts for member in harness.pop().pods.values()] == [2, 1]


def test_activating_pods_that_came_before_their_group_makes_them_one_entry() -> None:
    harness = Harness()
    harness.unknown = {"g"}
    infos = harness.wait(ERROR, "g1", group="g") + harness.add("g2", "g3", group="g")
    harness.unknown.clear()
    harness.queue.activate(infos)

    assert harness.drain() == [["g1", "g2", "g3"]]


def test_activating_pods_whose_group_is_dissolved_makes_each_an_entry() -> None:
    harness = Harness({"P": []})
    infos = harness.wait(rejected_by("P"), "g1", "g2", group="g")
    harness.unknown = {"g"}
    harness.queue.activate(infos)

    assert harness.drain() == [["g1"], ["g2"]]


def test_activating_a_pod_at_its_gate_makes_the_waiting_group_ready() -> None:
    harness = Harness({"P": []})
    harness.wait(rejected_by("P"), "g1", group="g")
    harness.closed["Gate"] = {"g2"}
    [gated] = harness.add("g2", group="g")
    harness.open("Gate")
    harness.queue.activate([gated])

    assert harness.drain() == [["g1", "g2"]]


def test_a_pod_that_came_before_its_group_is_not_tried_without_it() -> None:
    harness = Harness()
    harness.unknown = {"g"}
    harness.add("g1", group="g")
    harness.unknown.clear()
    harness.add("g2", group="g")

    assert harness.drain() == [["g2", "g1"]]
    assert harness.metrics.pods["active", "JoinedGroup"] == 1


def test_a_pod_that_came_before_its_group_makes_the_waiting_group_ready() -> None:
    harness = Harness({"P": []})
    harness.wait(rejected_by("P"), "g2", group="g")
    harness.unknown = {"g"}
    harness.add("g1", group="g")
    harness.unknown.clear()

    assert harness.drain() == [["g2", "g1"]]
    assert harness.metrics.held == {"P": 0}


def test_a_pod_whose_group_is_unknown_is_popped_by_itself() -> None:
    harness = Harness()
    harness.unknown = {"g"}
    harness.add("g1", "g2", group="g")

    assert harness.drain() == [["g1"], ["g2"]]
