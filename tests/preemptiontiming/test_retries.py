"""Timed retries: who is tried when, without a scheduler."""

import pytest

from muster.framework.contract import CycleState, EvictionWait, PodDecision, PodInfo, Status
from muster.plugins.preemptiontiming.plugin import PreemptionTiming
from muster.testing import Cluster
from muster.testing.cluster import info
from tests.preemptiontiming.world import high


class Waiting:
    """The plugin, and preemptors whose decisions it follows."""

    def __init__(self) -> None:
        self.cluster = Cluster()
        self.plugin = self.cluster.plugin(PreemptionTiming)

    def decided(self, pod: PodInfo, seconds: float | None, *, shared: bool = True) -> None:
        """The pod was refused, and waits only for so many seconds; None if it does not wait for time."""
        state = CycleState()
        if seconds is not None:
            state.write(EvictionWait.KEY, EvictionWait(self.cluster.clock.wall() + seconds, shared))
        self.plugin.on_pod_decision(PodDecision(pod, state, "", Status.unschedulable("full")))

    def tried(self, seconds: float) -> list[str]:
        """The names of the pods that are tried while so much time passes."""
        before = len(self.cluster.activated)
        self.cluster.clock.move_to(self.cluster.clock.now() + seconds)
        return [key.removeprefix("default/") for key in self.cluster.activated[before:]]


@pytest.fixture
def waiting() -> Waiting:
    return Waiting()


A, B, C = (info(high(name)) for name in "abc")


def test_a_pod_is_tried_when_its_own_delay_has_passed(waiting: Waiting) -> None:
    waiting.decided(A, 5, shared=False)
    waiting.decided(B, 7, shared=False)
    assert waiting.tried(4.9) == []
    assert waiting.tried(0.5) == ["a"]
    assert waiting.tried(100) == ["b"]


def test_a_later_decision_replaces_the_time(waiting: Waiting) -> None:
    waiting.decided(A, 5, shared=False)
    waiting.decided(A, 10, shared=False)
    assert waiting.tried(9) == []
    assert waiting.tried(2) == ["a"]
    waiting.decided(A, 5, shared=False)
    waiting.decided(A, None)
    assert waiting.tried(100) == []


def test_of_equal_pods_one_is_tried_for_all_until_it_no_longer_waits(waiting: Waiting) -> None:
    for pod in (A, B, C):
        waiting.decided(pod, 5)
    assert waiting.tried(6) == ["a"]
    waiting.decided(A, 5)
    assert waiting.tried(6) == ["a"]
    waiting.decided(A, None)
    assert waiting.tried(0.1) == ["b"]
    waiting.plugin.on_pod(B, None)
    assert waiting.tried(0.1) == ["c"]
    waiting.plugin.on_pre_enqueue(C, Status.unresolvable("gated"))
    assert waiting.tried(100) == []


def test_victims_that_become_free_one_by_one_cause_two_attempts_a_second_at_most(waiting: Waiting) -> None:
    tried = 0
    waiting.decided(A, 0.01)
    for _ in range(100):
        if waiting.tried(0.1):
            tried += 1
            waiting.decided(A, 0.01)
    assert 15 < tried <= 20


def test_pods_that_wait_for_different_victims_do_not_wait_for_one_another(waiting: Waiting) -> None:
    other = info(high("other", cpu="1"))
    waiting.decided(A, 5)
    waiting.decided(other, 5)
    assert waiting.tried(6) == ["a", "other"]


def test_a_changed_priority_class_retries_all_that_wait_once(waiting: Waiting) -> None:
    waiting.decided(A, 1000)
    waiting.decided(B, 1000)
    waiting.decided(C, 1000, shared=False)
    waiting.cluster.keep({"kind": "PriorityClass", "metadata": {"name": "x", "annotations": {}}})
    assert sorted(waiting.tried(2)) == ["a", "c"]
    assert waiting.tried(2) == []
