"""Pods that PreEnqueue keeps out."""

import pytest

from muster.framework.contract import events
from muster.framework.contract.events import NODE_ADD, UNSCHEDULABLE_TIMEOUT, EventRegistration, Hint
from muster.framework.model.pod_info import PodInfo
from muster.framework.queue.transitions import Place
from tests.builders import make_pod
from tests.queue.harness import ERROR, Harness, pod, rejected_by


def gated(registrations: dict[str, list[EventRegistration]] | None = None) -> tuple[Harness, PodInfo]:
    harness = Harness({**(registrations or {"Gate": [EventRegistration(NODE_ADD)]})})
    harness.closed["Gate"] = {"a"}
    [info] = harness.add("a")
    harness.asked.clear()
    return harness, info


def test_a_gated_pod_is_not_popped() -> None:
    harness, info = gated()

    assert harness.place(info) is Place.GATED
    assert harness.drain() == []
    assert harness.metrics.pods["unschedulable", "UnscheduledPodAdd"] == 1


def test_an_event_of_the_gating_plugin_has_it_asked_again_and_first() -> None:
    harness, info = gated()
    harness.queue.move_all(NODE_ADD, None, None)
    assert harness.asked == [("a", "Gate")]
    assert harness.place(info) is Place.GATED

    harness.open("Gate")
    harness.queue.move_all(NODE_ADD, None, None)
    assert harness.place(info) is Place.ACTIVE
    assert harness.metrics.pods["active", "NodeAdd"] == 1


def test_events_that_the_gating_plugin_did_not_register_for_call_no_hint() -> None:
    harness, info = gated({"Gate": [], "Other": [EventRegistration(NODE_ADD)]})
    harness.open("Gate")
    harness.queue.move_all(NODE_ADD, None, None)

    assert harness.asked == []
    assert harness.place(info) is Place.GATED


def test_events_for_rejected_pods_call_no_hint_for_gated_pods() -> None:
    harness, info = gated({"Gate": [EventRegistration(NODE_ADD, of_gated=False)]})
    harness.open("Gate")
    harness.queue.move_all(NODE_ADD, None, None)

    assert harness.asked == []
    assert harness.place(info) is Place.GATED

    harness.closed.clear()
    [refused] = harness.wait(rejected_by("Gate"), "b")
    harness.queue.move_all(NODE_ADD, None, None)
    assert harness.place(refused) is Place.BACKOFF


def test_a_hint_of_the_gating_plugin_may_skip() -> None:
    def skip(pod: PodInfo, old: object, new: object) -> Hint:
        return Hint.SKIP

    harness, info = gated({"Gate": [EventRegistration(NODE_ADD, skip)]})
    harness.open("Gate")
    harness.queue.move_all(NODE_ADD, None, None)

    assert harness.asked == []
    assert harness.place(info) is Place.GATED


def test_a_wildcard_has_every_gated_pod_asked() -> None:
    harness, info = gated({"Gate": []})
    harness.open("Gate")
    harness.queue.move_all(UNSCHEDULABLE_TIMEOUT, None, None)

    assert harness.place(info) is Place.ACTIVE


def test_a_change_of_the_pod_itself_may_let_it_in() -> None:
    harness, info = gated({"Gate": [EventRegistration(events.TARGET_POD_LABEL)]})
    harness.open("Gate")
    newer = pod(make_pod("a").labels(ready="yes"))
    harness.queue.update(info, newer)

    assert harness.place(info) is Place.ACTIVE
    [member] = harness.pop().pods.values()
    assert member.info is newer


def test_a_change_that_does_not_let_it_in_is_kept() -> None:
    harness, info = gated()
    newer = pod(make_pod("a").labels(ready="no"))
    harness.queue.update(info, newer)

    queued = harness.queue.contents.get(info.uid)
    assert harness.place(info) is Place.GATED
    assert queued is not None
    assert queued.info is newer


def test_a_pod_that_passes_one_gate_may_stand_at_the_next() -> None:
    harness, info = gated({"Gate": [EventRegistration(NODE_ADD)], "Next": [EventRegistration(events.TARGET_POD_LABEL)]})
    harness.closed["Next"] = harness.closed.pop("Gate")
    harness.queue.move_all(NODE_ADD, None, None)
    assert harness.place(info) is Place.GATED
    assert harness.metrics.held == {"Gate": 0, "Next": 1}

    harness.open("Next")
    harness.queue.move_all(NODE_ADD, None, None)
    assert harness.place(info) is Place.GATED
    harness.queue.update(info, pod(make_pod("a").labels(ready="yes")))
    assert harness.place(info) is Place.ACTIVE


def test_waiting_at_a_gate_is_not_waiting_in_the_queue() -> None:
    harness, _ = gated()
    harness.clock.time = 2000.0
    harness.open("Gate")
    harness.queue.move_all(NODE_ADD, None, None)
    [member] = harness.pop().pods.values()

    assert member.first_seen == 2000.0
    assert member.timestamp == 1000.0


def test_a_gate_that_closes_after_an_attempt_keeps_the_pods_counts() -> None:
    harness = Harness({"Gate": [EventRegistration(NODE_ADD)]})
    [info] = harness.add("a")
    entry = harness.pop()
    harness.closed["Gate"] = {"a"}
    harness.fail(entry, ERROR)
    assert harness.place(info) is Place.GATED

    harness.open("Gate")
    harness.queue.move_all(NODE_ADD, None, None)
    assert harness.place(info) is Place.ERROR_BACKOFF
    harness.at(5)
    again = harness.pop()
    assert again.consecutive_errors == 1
    assert next(iter(again.pods.values())).first_seen == 1000.0


def test_pre_enqueue_is_asked_on_entering_backoff_and_not_on_leaving_it() -> None:
    harness = Harness()
    harness.wait(rejected_by("P"), "a")
    harness.asked.clear()
    harness.queue.move_all(NODE_ADD, None, None)
    assert harness.asked == [("a", "")]
    harness.at(5)

    assert harness.asked == [("a", "")]
    assert harness.drain() == [["a"]]


def test_a_rejected_pod_that_just_waits_is_not_asked_about() -> None:
    harness = Harness()
    harness.add("a")
    entry = harness.pop()
    harness.asked.clear()
    harness.fail(entry, rejected_by("P"))

    assert harness.asked == []


def test_a_gated_pod_can_be_deleted() -> None:
    harness, info = gated()
    harness.queue.remove(info)

    assert harness.place(info) is None
    assert harness.queue.contents.counts()["gated"] == 0
    assert harness.metrics.held == {"Gate": 0}


@pytest.mark.parametrize("is_open", [False, True])
def test_activating_a_gated_pod_asks_again(is_open: bool) -> None:
    harness, info = gated()
    if is_open:
        harness.open("Gate")
    harness.queue.activate([info])

    assert harness.asked == [("a", "Gate")]
    assert harness.place(info) is (Place.ACTIVE if is_open else Place.GATED)
