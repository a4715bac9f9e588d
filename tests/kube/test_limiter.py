"""The token bucket keeps the rate that was set."""

import asyncio

import pytest

from muster.operator.kube.limiter import TokenBucket

from .conftest import Time


async def test_a_burst_passes_and_the_rest_waits_its_turn(time: Time) -> None:
    bucket = TokenBucket(qps=10, burst=3, clock=time.clock, sleep=time.sleep)
    for _ in range(3):
        await bucket.acquire()
    assert time.slept == []
    await bucket.acquire()
    await bucket.acquire()
    assert time.slept == pytest.approx([0.1, 0.1])


async def test_a_pause_fills_the_bucket_but_not_beyond_the_burst(time: Time) -> None:
    bucket = TokenBucket(qps=10, burst=2, clock=time.clock, sleep=time.sleep)
    await bucket.acquire()
    await bucket.acquire()
    time.now += 1000
    await bucket.acquire()
    await bucket.acquire()
    assert time.slept == []
    await bucket.acquire()
    assert time.slept == pytest.approx([0.1])


async def test_concurrent_callers_are_admitted_one_after_another(time: Time) -> None:
    waits: list[float] = []

    async def stand_still(seconds: float) -> None:
        waits.append(seconds)

    bucket = TokenBucket(qps=2, burst=1, clock=time.clock, sleep=stand_still)
    await asyncio.gather(*(bucket.acquire() for _ in range(4)))
    assert waits == [0.5, 1.0, 1.5]


async def test_a_cancelled_caller_leaves_its_slot_to_others(time: Time) -> None:
    async def interrupted(seconds: float) -> None:
        raise asyncio.CancelledError

    bucket = TokenBucket(qps=2, burst=1, clock=time.clock, sleep=interrupted)
    await bucket.acquire()
    for _ in range(5):
        with pytest.raises(asyncio.CancelledError):
            await bucket.acquire()
    time.now += 0.5
    await bucket.acquire()


@pytest.mark.parametrize(("qps", "burst"), [(0, 1), (-1, 1), (5, 0)])
def test_limits_that_let_nothing_through_are_refused(qps: float, burst: int) -> None:
    with pytest.raises(ValueError, match="must be positive"):
        TokenBucket(qps=qps, burst=burst)
