"""Since when pods run, and when they end, as a leader knows it that was not there when they were placed."""

import pytest

from muster.framework.embedded.clock import VirtualClock
from muster.framework.model.run_seconds import RUN_SECONDS
from muster.framework.model.times import rfc3339
from muster.plugins.reservation.ends import KnownEnds
from tests.builders import PodDict, make_pod
from tests.coscheduling.objects import typed_pod
from tests.reservation.jumping_clock import JumpingClock


def placed(clock: VirtualClock, *, created: float, bound: float | None = None, status: str = "True") -> PodDict:
    """A pod with a node that the kubelet has not started; times are so many seconds ago."""
    pod = make_pod("a").node("n")
    pod["metadata"]["creationTimestamp"] = rfc3339(clock.wall() - created)
    if bound is not None:
        since = rfc3339(clock.wall() - bound)
        pod["status"] = {"conditions": [{"type": "PodScheduled", "status": status, "lastTransitionTime": since}]}
    return pod


def test_a_pod_that_has_not_started_began_when_it_was_bound_however_long_it_waited() -> None:
    clock = VirtualClock(5000.0)
    ends = KnownEnds(clock)
    pod = typed_pod(placed(clock, created=3600, bound=10))
    ends.follow(None, pod)
    assert ends.began(pod) == clock.now() - 10


def test_a_pod_of_which_nothing_says_when_it_was_bound_began_when_it_was_created() -> None:
    clock = VirtualClock(5000.0)
    ends = KnownEnds(clock)
    for pod in (
        typed_pod(placed(clock, created=3600)),
        typed_pod(placed(clock, created=3600, bound=20, status="False")),
    ):
        ends.follow(None, pod)
        assert ends.began(pod) == clock.now() - 3600
        ends.follow(pod, None)


def test_a_pod_that_is_late_ends_a_while_after_its_time_and_one_that_is_very_late_may_stay() -> None:
    clock = VirtualClock(5000.0)
    ends, pod = KnownEnds(clock), make_pod("a").node("n").annotations({RUN_SECONDS: "60"})
    pod["status"] = {"startTime": rfc3339(clock.wall() - 70)}
    ends.follow(None, typed_pod(pod))
    assert [ending.at - clock.now() for ending in ends.later_than(clock.now())] == [20.0]
    clock.move_to(clock.now() + 20)
    assert [*ends.later_than(clock.now())] == []


@pytest.mark.parametrize("seconds", [-900.0, 900.0])
def test_a_pod_that_was_seen_to_start_began_then_whatever_the_clock_on_the_wall_says(seconds: float) -> None:
    clock = JumpingClock(5000.0)
    ends, waits, runs = KnownEnds(clock), typed_pod(make_pod("a")), make_pod("a").node("n")
    runs["status"] = {"startTime": rfc3339(clock.wall())}
    ends.follow(None, waits)
    clock.jump = seconds
    ends.follow(waits, typed_pod(runs))
    clock.move_to(5050.0)
    assert ends.began(typed_pod(runs)) == 5000.0


def test_a_pod_that_starts_a_while_after_it_got_its_node_began_when_it_started() -> None:
    clock = VirtualClock(5000.0)
    ends, bound = KnownEnds(clock), placed(clock, created=60, bound=10)
    ends.follow(None, typed_pod(bound))
    runs = bound | {"status": bound["status"] | {"startTime": rfc3339(clock.wall() - 2)}}
    ends.follow(typed_pod(bound), typed_pod(runs))
    assert ends.began(typed_pod(runs)) == 4998.0
