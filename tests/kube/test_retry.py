"""Writes are tried as often as kube-scheduler tries them."""

import pytest

from muster.operator.kube.errors import (
    ApiError,
    Conflict,
    ConnectionRefused,
    Forbidden,
    NotFound,
    ServerError,
    TimedOut,
    TooManyRequests,
    Unreachable,
)
from muster.operator.kube.retry import Retrier

from .conftest import Time

INTERNAL = ServerError("boom", status=500, reason="InternalError")
UNAVAILABLE = ServerError("not now", status=503, reason="ServiceUnavailable")
REFUSED = ConnectionRefused("refused")
CONFLICT = Conflict("conflict", status=409, reason="Conflict")


class Write:
    """Fails with these errors in turn, then succeeds."""

    def __init__(self, *failures: ApiError) -> None:
        self._failures = list(failures)
        self.tries = 0

    async def __call__(self) -> str:
        self.tries += 1
        if self._failures:
            raise self._failures.pop(0)
        return "written"


def retrier(time: Time, *, random: float = 0.0) -> Retrier:
    return Retrier(sleep=time.sleep, random=lambda: random)


@pytest.mark.parametrize("failure", [INTERNAL, UNAVAILABLE, REFUSED, ServerError("<html>", status=503)])
async def test_a_failure_that_will_likely_pass_is_tried_again_with_growing_waits(time: Time, failure: ApiError) -> None:
    write = Write(failure, failure, failure)
    assert await retrier(time).run(write) == "written"
    assert time.slept == pytest.approx([0.01, 0.05, 0.25])


async def test_the_fourth_failure_is_raised(time: Time) -> None:
    write = Write(INTERNAL, INTERNAL, REFUSED, UNAVAILABLE)
    with pytest.raises(ServerError, match="not now"):
        await retrier(time).run(write)
    assert write.tries == 4


async def test_waits_are_lengthened_by_up_to_a_tenth(time: Time) -> None:
    await retrier(time, random=1.0).run(Write(INTERNAL, INTERNAL))
    assert time.slept == pytest.approx([0.011, 0.055])


@pytest.mark.parametrize(
    "failure",
    [
        CONFLICT,
        NotFound("gone", status=404),
        Forbidden("no", status=403),
        TimedOut("slow"),
        Unreachable("broken"),
        ServerError("timeout", status=504, reason="Timeout"),
        TooManyRequests("busy", status=429),
    ],
)
async def test_a_write_that_would_fail_again_or_may_have_been_done_is_not_repeated(
    time: Time, failure: ApiError
) -> None:
    write = Write(failure)
    with pytest.raises(type(failure)):
        await retrier(time).run(write)
    assert write.tries == 1


async def test_a_conflict_is_retried_where_that_helps(time: Time) -> None:
    assert await retrier(time).run(Write(CONFLICT, INTERNAL), conflicts=True) == "written"
    assert time.slept == pytest.approx([0.01, 0.05])


async def test_a_wait_that_the_server_asks_for_is_not_one_of_the_tries(time: Time) -> None:
    busy = TooManyRequests("busy", status=429, retry_after=2)
    write = Write(busy, INTERNAL, busy, INTERNAL, INTERNAL)
    assert await retrier(time).run(write) == "written"
    assert time.slept == pytest.approx([2, 0.01, 2, 0.05, 0.25])


async def test_a_server_that_asks_to_wait_for_ever_is_obeyed_ten_times(time: Time) -> None:
    write = Write(*[TooManyRequests("busy", status=429, retry_after=1)] * 20)
    with pytest.raises(TooManyRequests):
        await retrier(time).run(write)
    assert write.tries == 11
