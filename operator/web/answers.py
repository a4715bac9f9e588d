"""A cache of answers that take seconds to compute, for the pages of `routes`.

The explanation of a pod of a large cluster takes seconds of a core. Many viewers of one page, or frequent reloads, must
not cost more than one viewer, and pages must not use more than one core: so one answer is computed at a time. If
extenders are called, answers are kept for longer, because an open page repeats its question.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, TypeVar

from cachetools import TTLCache

T = TypeVar("T")

_KEPT = 64
_KEPT_SECONDS = 4.0
_KEPT_SECONDS_OF_EXTENDERS = 30.0
_AT_ONCE = 1


class AnswerCache:
    """Answers by question. `of_extenders`: whether answers may involve extenders, so that they are kept longer."""

    def __init__(self, timer: Callable[[], float], *, of_extenders: bool) -> None:
        seconds = _KEPT_SECONDS_OF_EXTENDERS if of_extenders else _KEPT_SECONDS
        self._found: TTLCache[Hashable, Any] = TTLCache(_KEPT, seconds, timer)
        self._turns = asyncio.Semaphore(_AT_ONCE)

    async def get(self, question: Hashable, ask: Callable[[], Awaitable[T]]) -> T:
        """The answer to a question: from the cache, or computed by `ask`.

        The cache is read in turn, too: a caller that waited while the same question was answered gets that answer.
        """
        async with self._turns:
            if question in self._found:
                kept: T = self._found[question]
                return kept
            answer = await ask()
            self._found[question] = answer
            return answer
