"""Waiting for what other processes do: by looking again until a deadline, never by guessing how long it takes."""

import time
from collections.abc import Callable
from typing import TypeVar

from tests.controlplane.api import ApiError

T = TypeVar("T")

WITHIN_SECONDS = 30.0
LOOK_EVERY_SECONDS = 0.02


def eventually(probe: Callable[[], T], *, within: float = WITHIN_SECONDS) -> T:
    """The first answer of `probe` that is true; what is not there yet (`ApiError`) counts as false.

    Raises AssertionError, with the last answer, when there is none `within` so many seconds.
    """
    deadline = time.monotonic() + within
    while True:
        try:
            answer = probe()
        except ApiError as error:
            last = str(error)
        else:
            if answer:
                return answer
            last = repr(answer)
        if time.monotonic() > deadline:
            raise AssertionError(f"not so within {within:g} s; the last answer is {last}")
        time.sleep(LOOK_EVERY_SECONDS)
