"""Pods that wait at Permit: settled once, by the last allowance, the first rejection or the first timer that ends."""

import asyncio

import pytest

from muster.framework.contract import MAX_WAIT_SECONDS, Status
from muster.framework.embedded.clock import VirtualClock
from muster.framework.runtime.standstill import Standstill
from muster.framework.runtime.waiting_pods import PermitWait, PodAtPermit, PodsAtPermit
from tests.builders import make_pod
from tests.cache.objects import pod as typed_pod

POD = typed_pod(make_pod("web"))


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


def wait_at_permit(clock: VirtualClock, **seconds: float) -> PodAtPermit:
    return PodAtPermit(POD, "one", {plugin: PermitWait(each) for plugin, each in seconds.items()}, clock)


async def verdict(waiting: PodAtPermit) -> Status | None:
    """What the wait came to; it must be over."""
    async with asyncio.timeout(1):
        return await waiting.wait()


async def test_a_pod_at_permit_goes_on_when_every_plugin_has_allowed_it(clock: VirtualClock) -> None:
    waiting = wait_at_permit(clock, a=10, b=10)

    waiting.allow("a")
    assert waiting.pending_plugins == {"b"}
    waiting.allow("b")

    assert await verdict(waiting) is None
    assert clock.next_due() is None


async def test_the_first_rejection_counts(clock: VirtualClock) -> None:
    waiting = wait_at_permit(clock, a=10, b=10)

    waiting.reject("b", "not with me")
    waiting.reject("a", "nor with me")
    waiting.allow("a")

    assert await verdict(waiting) == Status.unschedulable("not with me").by("b")
    assert clock.next_due() is None


async def test_a_plugin_that_does_not_hold_it_has_no_say_in_letting_it_go(clock: VirtualClock) -> None:
    waiting = wait_at_permit(clock, a=10)

    waiting.allow("b")

    assert waiting.pending_plugins == {"a"}


async def test_the_shortest_time_ends_the_wait(clock: VirtualClock) -> None:
    waiting = wait_at_permit(clock, patient=90, hasty=2.5)

    clock.move_to(clock.now() + 2.5)

    text = "rejected due to timeout after waiting 2.5s at plugin hasty"
    assert await verdict(waiting) == Status.unschedulable(text).by("hasty")


async def test_the_time_of_a_plugin_that_allowed_it_counts_no_more(clock: VirtualClock) -> None:
    waiting = wait_at_permit(clock, patient=90, hasty=2.5)

    waiting.allow("hasty")
    clock.move_to(clock.now() + 90)

    text = "rejected due to timeout after waiting 1m30s at plugin patient"
    assert await verdict(waiting) == Status.unschedulable(text).by("patient")


async def test_no_pod_waits_at_permit_longer_than_a_quarter_of_an_hour(clock: VirtualClock) -> None:
    waiting = wait_at_permit(clock, a=MAX_WAIT_SECONDS + 1)

    clock.move_to(clock.now() + MAX_WAIT_SECONDS)

    text = "rejected due to timeout after waiting 15m0s at plugin a"
    assert await verdict(waiting) == Status.unschedulable(text).by("a")


async def test_an_end_of_the_engines_own_counts_unless_the_wait_is_over(clock: VirtualClock) -> None:
    ended, let_go = wait_at_permit(clock, a=10), wait_at_permit(clock, a=10)
    let_go.allow("a")

    for waiting in (ended, let_go):
        waiting.fail(Status.unschedulable("removed"))

    assert await verdict(ended) == Status.unschedulable("removed")
    assert await verdict(let_go) is None


def test_waiting_pods_may_be_rejected_while_iterating(clock: VirtualClock) -> None:
    pods = PodsAtPermit(Standstill())
    pods.add(wait_at_permit(clock, a=10))

    for waiting in pods:
        pods.discard(waiting.pod.uid)

    assert len(pods) == 0
    assert pods.get(POD.uid) is None
