"""A heap from which any item can be taken without searching for it.

The parts of the queue use it. Taking an item out of the middle only makes its slot void; void slots are dropped when
they come to the top, and all at once when they outnumber the rest.
"""

from __future__ import annotations

from collections.abc import Hashable
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Any, Generic, Protocol, TypeVar


class Ticketed(Protocol):
    """An item that remembers its slot. It is in at most one heap at a time."""

    ticket: int


T = TypeVar("T", bound=Ticketed)

_tickets = count(1)  # shared by all heaps: an item's new slot here must not make an old one there valid again
_TOLERATED = 64


class LazyHeap(Generic[T]):
    """Items by key, smallest first; equal keys in the order they were pushed. All keys have the same length."""

    __slots__ = ("_live", "_slots")

    def __init__(self) -> None:
        self._slots: list[tuple[Any, ...]] = []  # (*key, ticket, item): comparing one flat tuple is fastest
        self._live = 0

    def __len__(self) -> int:
        return self._live

    def push(self, key: tuple[Hashable, ...], item: T) -> None:
        """Add an item that is in no heap."""
        item.ticket = ticket = next(_tickets)
        heappush(self._slots, (*key, ticket, item))
        self._live += 1

    def discard(self, item: T) -> None:
        """Take out an item that is in this heap."""
        item.ticket = 0
        self._live -= 1
        if len(self._slots) > 2 * self._live + _TOLERATED:
            self._slots = [slot for slot in self._slots if slot[-1].ticket == slot[-2]]
            heapify(self._slots)

    def pop(self) -> T | None:
        """Take out the item with the smallest key; None when there is none."""
        slots = self._slots
        while slots:
            slot = heappop(slots)
            item: T = slot[-1]
            if item.ticket == slot[-2]:
                item.ticket = 0
                self._live -= 1
                return item
        return None

    def peek(self) -> T | None:
        """The item with the smallest key, left where it is; None when there is none."""
        while self._slots:
            slot = self._slots[0]
            item: T = slot[-1]
            if item.ticket == slot[-2]:
                return item
            heappop(self._slots)
        return None
