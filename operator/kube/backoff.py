"""Growing, jittered delays between tries, for the informer and for retried writes."""

from __future__ import annotations

from dataclasses import dataclass
from random import random as _random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class BackoffRule:
    """`base` seconds, times `factor` for each further wait up to `cap`, each lengthened by up to `jitter` of itself."""

    base: float
    factor: float
    jitter: float
    cap: float = float("inf")


class Backoff:
    """The waits of one series of failures."""

    def __init__(self, rule: BackoffRule, *, random: Callable[[], float] = _random) -> None:
        self._rule = rule
        self._random = random
        self._next = rule.base

    def delay(self) -> float:
        """Seconds to wait before the next try; longer with each call."""
        wait = min(self._next, self._rule.cap)
        self._next = min(self._next * self._rule.factor, self._rule.cap)
        return wait * (1 + self._rule.jitter * self._random())

    def reset(self) -> None:
        """Start again with the shortest wait, after a success."""
        self._next = self._rule.base
