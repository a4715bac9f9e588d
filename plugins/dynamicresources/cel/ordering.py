"""Sorting by the natural order of values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cmp_to_key
from typing import Any, TypeVar

from .values import QuantityValue, SemverValue, equal, less

T = TypeVar("T")


def below(left: Any, right: Any) -> bool:
    """Whether `left` sorts before `right`. Raises EvaluationError for values of different types."""
    if isinstance(left, QuantityValue) and isinstance(right, QuantityValue):
        return left < right
    if isinstance(left, SemverValue) and isinstance(right, SemverValue):
        return left < right
    return less(left, right)


def ordered(items: Iterable[T], key: Callable[[T], Any]) -> list[T]:
    """The items in ascending order of their keys."""

    def compare(left: T, right: T) -> int:
        a, b = key(left), key(right)
        return -1 if below(a, b) else 0 if equal(a, b) else 1

    return sorted(items, key=cmp_to_key(compare))
