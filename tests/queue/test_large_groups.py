"""A large group becomes ready in steps, each of which asks plugins about one of its pods. Nothing else differs."""

from collections.abc import Iterable
from functools import partial

import pytest
from hypothesis import settings

from muster.framework.contract.events import NODE_ADD, ClusterEvent, EventRegistration, Hint
from muster.framework.contract.plugin import QueuedPod
from muster.framework.model.pod_info import PodInfo
from muster.framework.queue.entity import QueuedEntity, Rejection
from muster.framework.queue.scheduling_queue import SchedulingQueue
from muster.framework.queue.transitions import Place
from muster.testing.slices import slices_of
from tests.queue.harness import ERROR, ON_SIBLING, Harness, pending_on, pod, rejected_by
from tests.queue.test_invariants import REGISTRATIONS, QueueMachine

pytestmark = pytest.mark.slow

ON_NODE = {"Fit": [EventRegistration(NODE_ADD)]}
NAMES = [f"m{number}" for number in range(6)]


NO_NODE = rejected_by("Fit")


def large(rejection: Rejection = NO_NODE) -> tuple[Harness, list[PodInfo]]:
    """A group of six that failed, where more than three are many."""
    harness = Harness(ON_NODE, most_at_once=3)
    infos = harness.wait(rejection, *NAMES, group="g")
    harness.settle()
    harness.asked.clear()
    return harness, infos


def places(harness: Harness, infos: list[PodInfo]) -> set[Place | None]:
    return {harness.place(info) for info in infos}


def test_an_event_calls_no_hint_before_settle() -> None:
    harness, infos = large()
    harness.queue.move_all(NODE_ADD, None, None)
    assert (harness.asked, places(harness, infos)) == ([], {Place.UNSCHEDULABLE})
    assert (harness.queue.is_unsettled, harness.queue.pop_is_due()) == (True, True)

    questions = []
    for _ in slices_of(harness.queue.settle):
        questions.append(len(harness.asked))
        harness.asked.clear()
    assert max(questions) == 1
    assert sum(questions) == len(NAMES)
    assert (harness.queue.is_unsettled, places(harness, infos)) == (False, {Place.BACKOFF})
    assert harness.metrics.pods["backoff", "NodeAdd"] == len(NAMES)
    assert harness.drain() == [NAMES]


def test_on_ready_is_called_for_a_large_group_that_is_due() -> None:
    harness, _ = large()
    woken = harness.woken
    harness.queue.move_all(NODE_ADD, None, None)
    assert harness.woken > woken


def test_keys_are_asked_for_one_in_each_step_when_its_backoff_is_over() -> None:
    harness, infos = large(ERROR)
    assert places(harness, infos) == {Place.ERROR_BACKOFF}
    keys: list[str] = []
    order = harness.sort_key

    def noted(queued: QueuedPod) -> tuple[int, float, str]:
        keys.append(queued.info.name)
        return order(queued)

    harness.sort_key = noted
    harness.at(2)
    assert (keys, harness.asked) == ([], [])
    for position, _ in enumerate(slices_of(harness.queue.settle), start=1):
        assert len(keys) == position
    assert (sorted(keys), harness.asked) == (NAMES, [])
    assert places(harness, infos) == {Place.ACTIVE}


def test_a_gated_pod_of_a_large_group_waits_by_itself() -> None:
    harness, infos = large()
    harness.closed["Gate"] = {"m2"}
    harness.queue.move_all(NODE_ADD, None, None)
    harness.settle()

    assert harness.place(infos[2]) is Place.GATED
    assert harness.metrics.held == {"Fit": len(NAMES) - 1, "Gate": 1}
    assert harness.drain() == [[name for name in NAMES if name != "m2"]]


def test_steps_that_are_given_up_are_taken_anew() -> None:
    for taken in range(2 * len(NAMES)):
        harness, infos = large()
        harness.closed["Gate"] = {"m0"}
        harness.queue.move_all(NODE_ADD, None, None)
        steps = slices_of(harness.queue.settle)
        for _ in range(taken):
            next(steps)
        del steps
        assert harness.queue.is_unsettled
        harness.settle()
        assert harness.place(infos[0]) is Place.GATED
        assert places(harness, infos[1:]) == {Place.BACKOFF}


def test_nothing_is_due_for_a_group_of_which_every_member_is_gated_also_if_given_up_on_the_way() -> None:
    for taken in range(2 * len(NAMES)):
        harness, infos = large()
        harness.closed["Gate"] = {*NAMES}
        harness.queue.move_all(NODE_ADD, None, None)
        steps = slices_of(harness.queue.settle)
        for _ in range(taken):
            next(steps, None)
        del steps
        harness.settle()
        assert (places(harness, infos), harness.queue.is_unsettled) == ({Place.GATED}, False)


def test_nothing_is_due_for_pods_that_are_gone() -> None:
    harness, infos = large()
    harness.queue.move_all(NODE_ADD, None, None)
    harness.queue.activate(infos)
    for info in infos:
        harness.queue.remove(info)
    assert not harness.queue.is_unsettled
    assert harness.settle() == 0


def test_many_that_are_activated_are_made_ready_in_steps() -> None:
    harness, infos = large()
    harness.queue.activate(infos)
    assert (harness.asked, places(harness, infos)) == ([], {Place.UNSCHEDULABLE})
    assert harness.settle() >= 2 * len(NAMES)
    assert places(harness, infos) == {Place.ACTIVE}


def test_many_that_wait_for_their_group_join_it_in_steps() -> None:
    harness = Harness({"Gate": []}, most_at_once=3)
    harness.closed["Gate"] = {*NAMES}
    infos = harness.add(*NAMES, group="g")
    harness.open("Gate")
    harness.queue.activate(infos)
    assert places(harness, infos) == {Place.GATED}
    harness.settle()
    assert harness.drain() == [NAMES]


def test_a_pod_that_comes_before_its_steps_are_taken_waits_with_it() -> None:
    harness, _ = large()
    harness.queue.move_all(NODE_ADD, None, None)
    late = pod("late", group="g")
    harness.queue.add(late)
    harness.settle()
    assert harness.drain() == [[*NAMES, "late"]]


def test_many_gated_pods_whose_time_is_up_are_asked_about_one_in_each_step() -> None:
    harness = Harness({"Gate": []}, most_at_once=3)
    harness.closed["Gate"] = {*NAMES}
    infos = harness.add(*NAMES)
    harness.asked.clear()
    harness.closed["Gate"] = {"m2"}
    harness.at(10_000)
    assert (harness.asked, places(harness, infos)) == ([], {Place.GATED})

    for taken, _ in enumerate(slices_of(harness.queue.settle), start=1):
        assert len(harness.asked) == taken
    assert len(harness.asked) == len(NAMES)
    assert {info.name for info in infos if harness.place(info) is Place.GATED} == {"m2"}


def test_one_that_is_activated_is_not_asked_about_twice() -> None:
    harness = Harness({"Gate": []}, most_at_once=3)
    harness.closed["Gate"] = {*NAMES}
    infos = harness.add(*NAMES)
    harness.asked.clear()
    harness.open("Gate")
    harness.queue.activate(infos[1:])
    harness.at(10_000)
    harness.settle()
    assert len(harness.asked) == len(NAMES)
    assert places(harness, infos) == {Place.ACTIVE}


class Asked:
    """A hint that answers QUEUE for one pod, and notes the pods that it was asked about."""

    def __init__(self, helped: str) -> None:
        self.helped = helped
        self.pods: list[str] = []

    def __call__(self, pod: PodInfo, old: object, new: object) -> Hint:
        self.pods.append(pod.name)
        return Hint.QUEUE if pod.name == self.helped else Hint.SKIP


@pytest.mark.parametrize(("helped", "asked", "place"), [("m4", 5, Place.BACKOFF), ("", 6, Place.UNSCHEDULABLE)])
def test_a_hint_is_asked_about_one_member_in_each_step(helped: str, asked: int, place: Place) -> None:
    hint = Asked(helped)
    harness = Harness({"Fit": [EventRegistration(NODE_ADD, hint)]}, most_at_once=3)
    infos = harness.wait(NO_NODE, *NAMES, group="g")
    harness.settle()
    harness.queue.move_all(NODE_ADD, None, None)
    assert (hint.pods, harness.queue.pop_is_due()) == ([], True)

    for taken, _ in enumerate(slices_of(harness.queue.settle), start=1):
        assert len(hint.pods) <= taken
    assert hint.pods == NAMES[:asked]
    assert places(harness, infos) == {place}
    assert not harness.queue.is_unsettled


def test_a_hint_is_asked_about_one_member_in_each_step_when_it_comes_back() -> None:
    hint = Asked("m4")
    harness = Harness({"Fit": [EventRegistration(NODE_ADD, hint)]}, most_at_once=3)
    infos = harness.add(*NAMES, group="g")
    harness.settle()
    entity = harness.queue.pop()
    assert entity is not None
    harness.queue.move_all(NODE_ADD, None, None)

    for taken, _ in enumerate(slices_of(partial(harness.queue.requeue, tuple(entity.pods.values()), NO_NODE)), start=1):
        assert len(hint.pods) <= taken
    harness.settle()
    assert hint.pods == NAMES[:5]
    assert places(harness, infos) == {Place.BACKOFF}


def test_a_sibling_that_a_pending_plugin_awaits_makes_it_active_although_its_backoff_counts_otherwise() -> None:
    harness = Harness(ON_SIBLING, most_at_once=1)
    harness.unknown = {"g"}
    early, late = harness.add("early", "late", group="g")
    harness.unknown.clear()
    harness.fail(harness.pop(), pending_on("Gang"))
    assert harness.queue.pop() is None

    harness.settle()
    assert places(harness, [early, late]) == {Place.ACTIVE}


class Settling(SchedulingQueue):
    """A queue whose steps are taken as soon as they are due."""

    def add(self, info: PodInfo) -> None:
        super().add(info)
        self.settle()

    def update(self, old: PodInfo, new: PodInfo) -> None:
        super().update(old, new)
        self.settle()

    def remove(self, info: PodInfo) -> None:
        super().remove(info)
        self.settle()

    def pop(self) -> QueuedEntity | None:
        found = super().pop()
        while found is None and self.is_unsettled:
            self.settle()
            found = super().pop()
        return found

    def done(self, uid: str) -> None:
        super().done(uid)
        self.settle()

    def requeue(self, pods: Iterable[QueuedPod], rejection: Rejection) -> None:
        super().requeue(pods, rejection)
        self.settle()

    def move_all(self, event: ClusterEvent, old: object, new: object, *, except_uid: str = "") -> None:
        super().move_all(event, old, new, except_uid=except_uid)
        self.settle()

    def activate(self, pods: Iterable[PodInfo]) -> None:
        super().activate(pods)
        self.settle()

    def flush(self, now: float) -> None:
        super().flush(now)
        self.settle()


class LargeQueueMachine(QueueMachine):
    """The invariants of any queue, where every group of more than one pod is large."""

    def new_harness(self) -> Harness:
        return Harness(REGISTRATIONS, most_at_once=1, queue=Settling)


TestLargeQueue = LargeQueueMachine.TestCase
TestLargeQueue.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
