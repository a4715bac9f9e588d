"""Wording that texts for users share: counts with their nouns, and messages that differ only in a pod's name.

`why`, `simulate` and the demo use it to give equal pods one row, and to write singular and plural.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

T = TypeVar("T")


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 pod`, `2 pods`."""
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"


def nameless(message: str, name: str) -> str:
    """The message without the pod's name, so that the messages of equal pods are equal."""
    return re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)", "", message) if name else message


def alike(items: Iterable[T], key: Callable[[T], Hashable]) -> list[list[T]]:
    """The items grouped by key, in the order in which the keys first occur."""
    found: dict[Hashable, list[T]] = {}
    for each in items:
        found.setdefault(key(each), []).append(each)
    return [*found.values()]
