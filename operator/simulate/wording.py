"""Words that the texts for people share: counts with their nouns, messages that differ in a pod's name alone, and the
message about a pod to which no profile answers.

`why`, `simulate`, the demo and the web pages use them, to give like pods one row and to read well where there is one of
a kind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from difflib import get_close_matches
from typing import TypeVar

T = TypeVar("T")


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 pod`, `2 pods`."""
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"


def nameless(message: str, name: str) -> str:
    """The message without the pod's name, so that the messages of equal pods are equal."""
    return re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)", "", message) if name else message


def unanswered(wanted: str, profiles: Sequence[str]) -> str:
    """The message about a waiting pod whose schedulerName is that of no profile."""
    meant = "".join(f" (did you mean {name}?)" for name in get_close_matches(wanted, profiles, n=1))
    return f"no profile answers to {wanted}{meant}, so the pod waits for a scheduler of that name"


def alike(items: Iterable[T], key: Callable[[T], Hashable]) -> list[list[T]]:
    """The items grouped by key, in the order in which the keys first occur."""
    found: dict[Hashable, list[T]] = {}
    for each in items:
        found.setdefault(key(each), []).append(each)
    return [*found.values()]
