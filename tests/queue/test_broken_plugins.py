"""A plugin's error at queue entry delays its pod alone, is reported, and loses no pod."""

import logging
import math
from asyncio import CancelledError
from collections.abc import Callable
from itertools import pairwise

import pytest

from muster.framework.contract.events import NODE_ADD, EventRegistration
from muster.framework.contract.plugin import QueuedPod
from muster.framework.contract.status import Status
from muster.framework.queue.policy import BackoffPolicy
from muster.framework.queue.transitions import Place
from tests.queue.harness import GROUP, Harness, rejected_by, sort_key

BUG = RuntimeError("a bug")


def raising(error: BaseException) -> Callable[[object], object]:
    def function(_: object) -> object:
        raise error

    return function


def answering(answer: object) -> Callable[[object], object]:
    return lambda _: answer


SORT_KEYS = {
    "raises": (raising(BUG), "a bug"),
    "is cancelled": (raising(CancelledError("gone")), "gone"),
    "answers None": (answering(None), "answered NoneType instead of a tuple"),
    "answers no tuple": (answering([0, 1.0, "a"]), "answered list instead of a tuple"),
    "holds None": (
        answering((0, None, "a")),
        "the sort key (0, None, 'a') cannot be compared with those of other pods",
    ),
    "is too short": (answering((0,)), "the sort key (0,) cannot be compared with those of other pods"),
    "is empty": (answering(()), "the sort key () cannot be compared with those of other pods"),
    "mixes kinds": (answering(("a", 0, 0)), "the sort key ('a', 0, 0) cannot be compared with those of other pods"),
    "has no order": (answering((0, math.nan, "a")), "the sort key (0, nan, 'a') has no order"),
}


def sorting(harness: Harness, about: str, answer: Callable[[object], object]) -> None:
    """Have QueueSort fail about one pod from now on."""

    def broken(queued: QueuedPod) -> object:
        return answer(queued) if queued.info.name == about else sort_key(queued)

    harness.sort_key = broken  # type: ignore[assignment]  # a plugin that breaks its contract


@pytest.mark.parametrize(("answer", "reason"), SORT_KEYS.values(), ids=list(SORT_KEYS))
def test_a_pod_without_a_sort_key_is_retried_after_backoff_and_delays_no_other_pod(
    answer: Callable[[object], object], reason: str
) -> None:
    harness = Harness()
    harness.add("before")
    sorting(harness, "bad", answer)
    [bad] = harness.add("bad")
    harness.add("after")
    harness.at(0)

    assert harness.place(bad) is Place.ERROR_BACKOFF
    assert harness.reported == [("bad", f'running QueueSort plugin "Sort": {reason}')]
    harness.at(2)
    assert harness.place(bad) is Place.ERROR_BACKOFF
    assert harness.drain() == [["before"], ["after"]]

    harness.sort_key = sort_key
    harness.at(4)
    assert harness.drain() == [["bad"]]


def test_keys_of_another_kind_are_as_good_once_no_other_is_in_use() -> None:
    harness = Harness()
    sorting(harness, "first", answering(("text",)))
    harness.add("first")
    [second] = harness.add("second")
    assert harness.place(second) is Place.ERROR_BACKOFF
    assert harness.pop_names() == ["first"]

    harness.at(2)
    assert harness.pop_names() == ["second"]


def test_a_pod_whose_sort_key_breaks_while_it_backs_off_is_not_lost() -> None:
    harness = Harness({"P": [EventRegistration(NODE_ADD)]})
    [info] = harness.wait(rejected_by("P"), "bad")
    harness.queue.move_all(NODE_ADD, None, None)
    sorting(harness, "bad", raising(BUG))

    harness.at(3)

    assert harness.place(info) is Place.ERROR_BACKOFF


def test_a_group_is_tried_though_one_member_has_no_sort_key() -> None:
    harness = Harness()
    sorting(harness, "g2", raising(BUG))
    harness.add("g1", "g2", "g3", group="g")

    assert harness.drain() == [["g1", "g2", "g3"]]


GATES = {
    "raises": (raising(BUG), "running PreEnqueue plugins: a bug"),
    "answers a word": (answering("no"), "running PreEnqueue plugins: answered str instead of a Status"),
    "says that it failed": (answering(Status.failure(error=BUG).by("Gate")), "a bug"),
}


@pytest.mark.parametrize(("answer", "message"), GATES.values(), ids=list(GATES))
def test_a_pod_whose_pre_enqueue_fails_is_retried_after_backoff_and_delays_no_other_pod(
    answer: Callable[[object], Status], message: str
) -> None:
    harness = Harness()
    harness.gate = lambda info: answer(info) if info.name == "bad" else None
    [bad] = harness.add("bad", group="g")
    harness.add("good")
    harness.at(0)

    assert harness.place(bad) is Place.ERROR_BACKOFF
    assert harness.reported == [("bad", message)]
    assert harness.queue.contents.counts()["backoff"] == 1
    assert harness.metrics.pods["backoff", "UnscheduledPodAdd"] == 1
    assert harness.drain() == [["good"]]

    harness.gate = lambda info: None
    harness.at(2)
    assert harness.drain() == [["bad"]]


def test_a_broken_gate_is_asked_again_later_and_later() -> None:
    harness = Harness()
    harness.gate = raising(BUG)  # type: ignore[assignment]  # a plugin that breaks its contract
    harness.add("bad")
    asked = []
    for second in range(60):
        before = len(harness.asked)
        harness.at(1)
        if len(harness.asked) > before:
            asked.append(second)

    assert [later - sooner for sooner, later in pairwise(asked)] == [3, 5, 9, 11, 11, 11]


def test_without_backoff_a_broken_gate_is_asked_once_a_second(no_backoff: Harness) -> None:
    no_backoff.gate = raising(BUG)  # type: ignore[assignment]  # a plugin that breaks its contract
    no_backoff.add("bad")
    for _ in range(10):
        no_backoff.at(1)

    assert len(no_backoff.asked) == 11


def test_pre_enqueue_runs_again_for_a_pod_with_an_error_when_it_changes_or_is_activated() -> None:
    harness = Harness()
    harness.gate = raising(BUG)  # type: ignore[assignment]  # a plugin that breaks its contract
    changed, activated = harness.add("changed", "activated")
    harness.gate = lambda info: Status.unresolvable("not yet").by("Gate") if info is changed else None
    harness.queue.update(changed, changed)
    harness.queue.activate([activated])

    assert harness.place(changed) is Place.GATED
    assert harness.place(activated) is Place.ACTIVE


def test_a_pod_with_a_pre_enqueue_error_may_be_gated_next() -> None:
    harness = Harness()
    harness.gate = raising(BUG)  # type: ignore[assignment]  # a plugin that breaks its contract
    [info] = harness.add("bad")
    harness.gate = lambda info: Status.unresolvable("not yet").by("Gate")
    harness.at(2)

    assert harness.place(info) is Place.GATED
    assert harness.metrics.held == {"Gate": 1}
    harness.queue.remove(info)
    assert harness.place(info) is None
    assert harness.metrics.held == {"Gate": 0}


def test_a_member_that_fails_at_a_gate_waits_apart_from_its_group() -> None:
    harness = Harness({"P": [EventRegistration(NODE_ADD)]})
    _, bad = harness.wait(rejected_by("P"), "g1", "bad", group="g")
    harness.gate = lambda info: Status.failure(error=BUG) if info.name == "bad" else None
    harness.queue.move_all(NODE_ADD, None, None)

    assert harness.place(bad) is Place.ERROR_BACKOFF
    assert harness.drain() == [["g1"]]


def test_a_pod_whose_group_cannot_be_determined_comes_back_after_backoff() -> None:
    harness = Harness()
    harness.group_of = raising(BUG)  # type: ignore[assignment]  # a plugin that breaks its contract
    [info] = harness.add("g1", group="g")
    harness.at(0)
    assert harness.place(info) is Place.ERROR_BACKOFF
    assert harness.reported == [("g1", "running group_of plugins: a bug")]

    harness.group_of = lambda info: info.labels.get(GROUP)
    harness.at(2)
    assert harness.pop().group == "g"


def test_pods_that_are_gone_are_not_reported() -> None:
    harness = Harness()
    harness.gate = raising(BUG)  # type: ignore[assignment]  # a plugin that breaks its contract
    [info] = harness.add("bad")
    harness.queue.remove(info)
    harness.at(0)

    assert harness.reported == []


def test_lines_of_one_cause_are_logged_once_in_half_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    harness = Harness()
    harness.gate = raising(BUG)  # type: ignore[assignment]  # a plugin that breaks its contract
    with caplog.at_level(logging.ERROR):
        harness.add(*(f"bad-{number}" for number in range(50)))
        harness.sort_key = raising(BUG)  # type: ignore[assignment]  # a plugin that breaks its contract
        harness.gate = lambda info: None
        harness.add("worse")
        assert len(caplog.records) == 2
        harness.gate = raising(BUG)  # type: ignore[assignment]  # a plugin that breaks its contract
        harness.clock.time += 31
        harness.add("last")

    assert [getattr(record, "pairs", {}).get("notLogged") for record in caplog.records] == [None, None, 49]
    assert all(record.exc_info is not None for record in caplog.records)


@pytest.fixture
def no_backoff() -> Harness:
    return Harness(backoff=BackoffPolicy(max_seconds=0))
