"""Retries of writes, by kube-scheduler's rule for Bindings and status patches.

4 tries, 10, 50 and 250 ms apart (each up to a tenth longer), for errors that are likely to pass. As in client-go, a
Retry-After of the server is obeyed up to 10 times, and does not count as a try.
"""

from __future__ import annotations

import asyncio
from random import random as _random
from typing import TYPE_CHECKING, TypeVar

from .backoff import Backoff, BackoffRule
from .errors import ApiError, Conflict, ConnectionRefused, ServerError, TooManyRequests, Unreachable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

T = TypeVar("T")

TRIES = 4
RULE = BackoffRule(base=0.01, factor=5, jitter=0.1)
RETRY_AFTERS = 10
PATIENT = BackoffRule(base=0.1, factor=2, jitter=0.1, cap=5)


class Retrier:
    """Repeats writes until success or the last try. All writers of the scheduler share one."""

    def __init__(
        self,
        *,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        random: Callable[[], float] = _random,
    ) -> None:
        self._sleep = sleep
        self._random = random

    async def run(
        self,
        write: Callable[[], Awaitable[T]],
        *,
        conflicts: bool = False,
        given_up: asyncio.Event | None = None,
    ) -> T:
        """The result of `write()`; with `conflicts`, a 409 is retried too. Raises the last ApiError.

        There is no further try once `given_up` is set; a try in progress is awaited.
        """
        waits: Backoff | None = None
        tries, obeyed = 0, 0
        while True:
            try:
                return await write()
            except ApiError as error:
                if error.retry_after is not None and obeyed < RETRY_AFTERS:
                    obeyed += 1
                    wait = error.retry_after
                else:
                    tries += 1
                    if tries == TRIES or not _may_pass(error, conflicts=conflicts):
                        raise
                    waits = waits or Backoff(RULE, random=self._random)
                    wait = waits.delay()
                await self._pause(wait, given_up)
                if given_up is not None and given_up.is_set():
                    raise

    async def answered(self, read: Callable[[], Awaitable[T]]) -> T:
        """The result of `read()`, repeated until a server answers. Raises the ApiError of an answer."""
        waits = Backoff(PATIENT, random=self._random)
        while True:
            try:
                return await read()
            except (Unreachable, ServerError, TooManyRequests) as error:
                await self._sleep(waits.delay() if error.retry_after is None else error.retry_after)

    async def _pause(self, seconds: float, given_up: asyncio.Event | None) -> None:
        """Sleep, at most until `given_up` is set."""
        if given_up is None:
            await self._sleep(seconds)
            return
        ends = asyncio.ensure_future(self._sleep(seconds)), asyncio.ensure_future(given_up.wait())
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for end in ends:
                end.cancel()


def _may_pass(error: ApiError, *, conflicts: bool) -> bool:
    match error:
        case ConnectionRefused():
            return True
        case Conflict():
            return conflicts
        case ServerError(reason=("InternalError" | "ServiceUnavailable")):
            return True
        case ServerError(reason="", status=(500 | 503)):
            return True
        case _:
            return False
