"""The shortest history that still fails: a failing seed is reduced to it before anyone reads it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def shortest(whole: Sequence[T], fails: Callable[[Sequence[T]], bool]) -> list[T]:
    """A part of `whole` that still `fails`, and does not without any single one of its items.

    Half of it is left out, then quarters, and so on down to single items, as long as what is left fails.
    """
    kept = list(whole)
    size = len(kept) // 2
    while size:
        start, shorter = 0, False
        while start < len(kept):
            left = kept[:start] + kept[start + size :]
            if fails(left):
                kept, shorter = left, True
            else:
                start += size
        if size > 1:
            size //= 2
        elif not shorter:
            break
    return kept
