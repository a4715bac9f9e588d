"""A cache for answers that take long, which computes none of them twice at once.

Explaining a pod of a large cluster takes seconds of a core: many viewers of one page, or one who reloads it, must not
cost more than one. If extenders are called, an answer is kept for longer, because an open page asks again and again.
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
    """Answers found, by what was asked; `timer` gives seconds, `of_extenders` says that they take part in all."""

    def __init__(self, timer: Callable[[], float], *, of_extenders: bool) -> None:
        seconds = _KEPT_SECONDS_OF_EXTENDERS if of_extenders else _KEPT_SECONDS
        self._found: TTLCache[Hashable, Any] = TTLCache(_KEPT, seconds, timer)
        self._turns = asyncio.Semaphore(_AT_ONCE)

    async def get(self, question: Hashable, ask: Callable[[], Awaitable[T]]) -> T:
        """The answer, asked for one at a time unless it was found just now."""
        async with self._turns:
            if question in self._found:
                kept: T = self._found[question]
                return kept
            answer = await ask()
            self._found[question] = answer
            return answer
