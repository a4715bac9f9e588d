"""The heaps of the queue: one that can remove any item without a search, and backoffQ, which consists of two.

activeQ and batches are plain heaps. backoffQ counts time in windows of one second: all entities whose backoff ends
within a window come out together when the window ends, ordered as in activeQ (upstream:
`backoffQOrderingWindowDuration`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import count
from math import floor, sqrt
from typing import Any, Generic, Protocol, TypeVar

from .entity import NO_BACKOFF, QueuedEntity
from .transitions import Place

WINDOW_SECONDS = 1.0
_MOST_DOUBLINGS = 62
_JITTER = 0.5


class Ticketed(Protocol):
    """An item that remembers its slot. It is in at most one heap at a time."""

    ticket: int


T = TypeVar("T", bound=Ticketed)

_tickets = count(1)  # shared by all heaps: an item's new slot here must not make an old one there valid again
_TOLERATED = 64


class LazyHeap(Generic[T]):
    """Items by key, smallest first; equal keys in the order they were pushed. All keys have the same length.

    Removing an item from the middle only makes its slot void. Void slots are dropped when they reach the top, and all
    at once when they outnumber the others.
    """

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
        if not self._live:
            self._slots.clear()  # keys of another kind may follow, which cannot be compared with these
        elif len(self._slots) > 2 * self._live + _TOLERATED:
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


@dataclass(frozen=True, slots=True)
class BackoffPolicy:
    """`podInitialBackoffSeconds` and `podMaxBackoffSeconds`. A maximum of 0 switches backoff off.

    After an error, backoff is up to half as long again, by `jitter`, a number in [0, 1): when the API fails, it fails
    for thousands of pods at once, which must not all be retried at once.
    """

    initial_seconds: float = 1.0
    max_seconds: float = 10.0
    jitter: Callable[[], float] = lambda: 0.0

    def seconds(self, failures: int, pods: int = 1) -> float:
        """The backoff, in seconds, of an entity with `pods` pods after `failures` (`calculateBackoffDuration`).

        Backoff doubles with each failure up to the maximum, which grows with the square root of a group's size.
        """
        if failures == 0:
            return 0.0
        limit = self.max_seconds * sqrt(pods)
        return min(self.initial_seconds * 2.0 ** min(failures - 1, _MOST_DOUBLINGS), limit)

    def until(self, entity: QueuedEntity) -> float:
        """Start of the window in which the entity's backoff ends, in whole seconds on the engine's clock.

        `NO_BACKOFF` if the entity does not back off.
        """
        if self.max_seconds == 0 or entity.failures == 0:
            return NO_BACKOFF
        seconds = self.seconds(entity.failures, len(entity.pods))
        if entity.consecutive_errors:
            seconds *= 1.0 + _JITTER * self.jitter()
        return float(floor(entity.timestamp + seconds))


def backing_off(entity: QueuedEntity, now: float) -> bool:
    """Whether the window in which the entity's backoff ends has not ended yet (`isEntityBackingoff`)."""
    return entity.backoff_until >= floor(now)


class BackoffQueue:
    """Two heaps, as in kube-scheduler: entities that plugins rejected may be tried early, those with an error may not.

    Both heaps are ordered by the window in which backoff ends; entities that may be tried early, within a window also
    by their sort keys.
    """

    __slots__ = ("_heaps",)

    def __init__(self) -> None:
        self._heaps: dict[Place, LazyHeap[QueuedEntity]] = {Place.BACKOFF: LazyHeap(), Place.ERROR_BACKOFF: LazyHeap()}

    def __len__(self) -> int:
        return sum(map(len, self._heaps.values()))

    def count(self, place: Place) -> int:
        """The number of entities in this place."""
        return len(self._heaps[place])

    def add(self, entity: QueuedEntity) -> None:
        """Add an entity to the heap that its place names."""
        order = entity.sort_key if entity.place is Place.BACKOFF else ()
        self._heaps[entity.place].push((entity.backoff_until, *order), entity)

    def discard(self, entity: QueuedEntity) -> None:
        """Take out an entity that is here."""
        self._heaps[entity.place].discard(entity)

    def first(self) -> QueuedEntity | None:
        """The rejected entity that is tried next if nothing is ready; it stays in the heap. None if there is none."""
        return self._heaps[Place.BACKOFF].peek()

    def completed(self, now: float) -> QueuedEntity | None:
        """An entity whose backoff is over; it stays in its heap. None if there is none."""
        for heap in self._heaps.values():
            entity = heap.peek()
            if entity is not None and not backing_off(entity, now):
                return entity
        return None

    def next_completion(self) -> float | None:
        """When the next backoff is over, seconds on the engine's clock; None if no entity backs off."""
        ends = [entity.backoff_until for heap in self._heaps.values() if (entity := heap.peek()) is not None]
        return min(ends) + WINDOW_SECONDS if ends else None
