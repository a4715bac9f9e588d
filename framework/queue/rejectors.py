"""An index of what waits by the plugins that made it wait.

An event then costs a look at each plugin that holds anything back, not at each pod. Used for unschedulable entries and
for gated pods.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

from .hints import Rejector

T = TypeVar("T", bound=Hashable)


class RejectorIndex(Generic[T]):
    """Items by rejector, in the order they were added."""

    __slots__ = ("_items",)

    def __init__(self) -> None:
        self._items: dict[Rejector, dict[T, None]] = {}

    def add(self, item: T, rejectors: Iterable[Rejector]) -> None:
        """The item waits for these plugins."""
        for rejector in rejectors:
            self._items.setdefault(rejector, {})[item] = None

    def discard(self, item: T, rejectors: Iterable[Rejector]) -> None:
        """The item, added with the same rejectors, waits no more."""
        for rejector in rejectors:
            items = self._items[rejector]
            del items[item]
            if not items:
                del self._items[rejector]

    def where(self, concerned: Callable[[Rejector], bool]) -> list[T]:
        """The items of each rejector that is concerned, each item once."""
        found: dict[T, None] = {}
        for rejector, items in self._items.items():
            if concerned(rejector):
                found.update(items)
        return list(found)
