"""Backoff: how long a failed entry is held off, and the two heaps of entries that are.

Time is counted in whole-second windows, as kube-scheduler does: all entries whose backoff ends within a window come out
together when it is over, and inside a window they are ordered as active ones are. The parts of the queue own the heaps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import floor, sqrt

from .entry import NO_BACKOFF, Entry, Place
from .heap import LazyHeap

WINDOW_SECONDS = 1.0
_MOST_DOUBLINGS = 62


@dataclass(frozen=True, slots=True)
class BackoffPolicy:
    """`podInitialBackoffSeconds` and `podMaxBackoffSeconds`. A maximum of 0 switches backoff off."""

    initial_seconds: float = 1.0
    max_seconds: float = 10.0

    def seconds(self, failures: int, pods: int = 1) -> float:
        """How long an entry of so many pods is held off after so many failures.

        It doubles with each failure up to the maximum, which for a group grows with the square root of its size.
        """
        if failures == 0:
            return 0.0
        limit = self.max_seconds * sqrt(pods)
        return min(self.initial_seconds * 2.0 ** min(failures - 1, _MOST_DOUBLINGS), limit)

    def until(self, entry: Entry) -> float:
        """Start of the window in which the entry's backoff ends; `NO_BACKOFF` if it need not wait."""
        if self.max_seconds == 0 or entry.failures == 0:
            return NO_BACKOFF
        return float(floor(entry.timestamp + self.seconds(entry.failures, len(entry.members))))


def backing_off(entry: Entry, now: float) -> bool:
    """Whether the window in which the entry's backoff ends is not over yet."""
    return entry.backoff_until >= floor(now)


class Backoff:
    """Entries that are held off.

    Rejected ones and those struck by an error are kept apart: only the former may be tried before their time.
    """

    __slots__ = ("_heaps",)

    def __init__(self) -> None:
        self._heaps: dict[Place, LazyHeap[Entry]] = {Place.BACKOFF: LazyHeap(), Place.ERROR_BACKOFF: LazyHeap()}

    def __len__(self) -> int:
        return sum(map(len, self._heaps.values()))

    def add(self, entry: Entry) -> None:
        """Hold an entry off; its place says in which heap."""
        self._heaps[entry.place].push((entry.backoff_until, *entry.sort_key), entry)

    def discard(self, entry: Entry) -> None:
        """Take out an entry that is here."""
        self._heaps[entry.place].discard(entry)

    def pop(self) -> Entry | None:
        """Take out the rejected entry whose turn is next, although it is held off."""
        return self._heaps[Place.BACKOFF].pop()

    def completed(self, now: float) -> Iterator[Entry]:
        """Take out the entries whose backoff is over."""
        for heap in self._heaps.values():
            while (entry := heap.peek()) is not None and not backing_off(entry, now):
                heap.discard(entry)
                yield entry

    def next_completion(self) -> float | None:
        """When the next backoff is over; None when nothing is held off."""
        ends = [entry.backoff_until for heap in self._heaps.values() if (entry := heap.peek()) is not None]
        return min(ends) + WINDOW_SECONDS if ends else None
