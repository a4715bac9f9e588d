"""Groups: pods that wait as one entry."""

import pytest

from muster.framework.contract.events import (
    NODE_ADD,
    UNSCHEDULED_POD_ADD,
    EventRegistration,
    Hint,
)
from muster.framework.model.pod_info import PodInfo
from muster.framework.queue.entity import Place, Rejection
from tests.builders import make_pod
from tests.queue.harness import ERROR, GROUP, Harness, pending_on, pod, rejected_by


def same_group(waiting: PodInfo, old: object, new: object) -> Hint:
    """What a gang plugin says when a pod appears."""
    assert isinstance(new, PodInfo)
    return Hint.QUEUE if new.labels.get(GROUP) == waiting.labels.get(GROUP) else Hint.SKIP


ON_SIBLING = {"Gang": [EventRegistration(UNSCHEDULED_POD_ADD, same_group)], "Fit": [EventRegistration(NODE_ADD)]}


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
    assert harness.queue.place_of("pod-default-g1") is Place.BACKOFF
    harness.add("g2", group="g")

    assert harness.queue.place_of("pod-default-g1") is Place.ACTIVE


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


def test_a_pod_of_another_group_wakes_nobody() -> None:
    harness = Harness(ON_SIBLING)
    [first] = harness.wait(rejected_by("Gang"), "g1", group="g")
    [stranger] = harness.add("h1", group="h")
    harness.queue.move_all(UNSCHEDULED_POD_ADD, None, stranger)

    assert harness.place(first) is Place.UNSCHEDULABLE


def test_a_gated_sibling_is_no_member_until_it_is_let_in() -> None:
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


def test_a_group_whose_members_are_all_gated_is_gone_until_one_is_let_in() -> None:
    harness = Harness({**ON_SIBLING, "Gate": [EventRegistration(NODE_ADD)]})
    infos = harness.wait(rejected_by("Fit"), "g1", "g2", group="g")
    harness.closed["Gate"] = {"g1", "g2"}
    harness.queue.move_all(NODE_ADD, None, None)
    assert {harness.place(info) for info in infos} == {Place.GATED}
    assert harness.queue.entity_counts()["backoff", "podgroup"] == 0

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


def test_members_that_fail_one_after_another_come_back_as_one_entry() -> None:
    harness = Harness(ON_SIBLING)
    harness.add("g1", "g2", "g3", group="g")
    for member in harness.pop().pods.values():
        harness.queue.requeue([member], ERROR)
        harness.clock.time += 0.2

    assert harness.queue.entity_counts()["backoff", "podgroup"] == 1
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
    assert harness.observer.held == {"Gang": 2, "Fit": 2}

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
    assert harness.observer.held == {"Fit": 0}
    harness.at(5)
    assert harness.drain() == [["g1", "g2"]]


def test_what_a_late_member_missed_wakes_the_group_it_joins() -> None:
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


def test_a_sibling_that_arrives_in_flight_is_tried_on_its_own() -> None:
    harness = Harness()
    harness.add("g1", group="g")
    harness.pop()
    harness.add("g2", group="g")

    assert harness.drain() == [["g2"]]


def test_a_group_goes_when_its_last_pod_is_deleted() -> None:
    harness = Harness()
    first, second = harness.wait(rejected_by("P"), "g1", "g2", group="g")
    harness.queue.delete(first)
    assert harness.queue.entity_counts()["unschedulable", "podgroup"] == 1
    harness.queue.delete(second)

    assert harness.queue.entity_counts()["unschedulable", "podgroup"] == 0
    harness.add("g3", group="g")
    assert harness.pop().unschedulable_count == 0


def replica(name: str, rank: str) -> PodInfo:
    """A member whose spec is that of its siblings; only a label differs."""
    return pod(make_pod(name).labels({"rank": rank}), group="g")


def rank_zero(info: PodInfo, old: object, new: object) -> Hint:
    return Hint.QUEUE if info.labels["rank"] == "0" else Hint.SKIP


def test_a_hint_that_may_go_by_more_than_the_spec_is_asked_about_every_pod_of_a_group() -> None:
    harness = Harness({"P": [EventRegistration(NODE_ADD, rank_zero)]})
    members = [replica(f"g{rank}", str(rank)) for rank in (2, 1, 0)]
    for member in members:
        harness.queue.add(member)
    harness.fail(harness.pop(), rejected_by("P"))

    harness.queue.move_all(NODE_ADD, None, None)

    assert {harness.place(member) for member in members} == {Place.BACKOFF}


def test_a_hint_that_was_missed_in_flight_is_asked_about_every_pod_of_a_group() -> None:
    harness = Harness({"P": [EventRegistration(NODE_ADD, rank_zero)]})
    members = [replica(f"g{rank}", str(rank)) for rank in (2, 1, 0)]
    for member in members:
        harness.queue.add(member)
    entity = harness.pop()
    harness.queue.move_all(NODE_ADD, None, None)

    harness.fail(entity, rejected_by("P"))

    assert {harness.place(member) for member in members} == {Place.BACKOFF}


@pytest.mark.parametrize(
    ("scope", "questions"),
    [
        ({"by_signature": True}, ["leader", "worker-1"]),
        ({"by_group": True}, ["worker-1"]),
        ({}, ["leader", "worker-1", "worker-2"]),
    ],
)
def test_a_hint_is_asked_about_as_many_pods_of_a_group_as_may_have_answers_of_their_own(
    scope: dict[str, bool], questions: list[str]
) -> None:
    asked: list[str] = []

    def skip(pod: PodInfo, old: object, new: object) -> Hint:
        asked.append(pod.name)
        return Hint.SKIP

    harness = Harness({"P": [EventRegistration(NODE_ADD, skip, **scope)]})
    harness.add("leader", group="g", priority=1)
    harness.add("worker-1", "worker-2", group="g")
    harness.fail(harness.pop(), rejected_by("P"))
    harness.queue.move_all(NODE_ADD, None, None)

    assert sorted(asked) == questions


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
    assert harness.observer.pods["active", "JoinedGroup"] == 1


def test_a_pod_that_came_before_its_group_makes_the_waiting_group_ready() -> None:
    harness = Harness({"P": []})
    harness.wait(rejected_by("P"), "g2", group="g")
    harness.unknown = {"g"}
    harness.add("g1", group="g")
    harness.unknown.clear()

    assert harness.drain() == [["g2", "g1"]]
    assert harness.observer.held == {"P": 0}


def test_a_pod_whose_group_is_unknown_is_popped_by_itself() -> None:
    harness = Harness()
    harness.unknown = {"g"}
    harness.add("g1", "g2", group="g")

    assert harness.drain() == [["g1"], ["g2"]]
