"""The parts of the waitlist that hold entries, and the order in them.

The waitlist decides where an entry goes; this puts it there and hands out the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..contract.queued_pod import QueuedPod
from .backoff import Backoff
from .entry import Entry, Place
from .heap import LazyHeap
from .hints import HintTable
from .rules import SortKey
from .unschedulable import Unschedulable


class Parts:
    """Active, backing off and unschedulable entries. An entry is in the one part that its place names."""

    __slots__ = ("_sort_key", "active", "backoff", "unschedulable")

    def __init__(self, sort_key: SortKey, hints: HintTable) -> None:
        self._sort_key = sort_key
        self.active: LazyHeap[Entry] = LazyHeap()
        self.backoff = Backoff()
        self.unschedulable = Unschedulable(hints)

    def put(self, entry: Entry, place: Place) -> None:
        """Put an entry that is in no part into one."""
        entry.place = place
        if place is Place.UNSCHEDULABLE:
            self.unschedulable.add(entry)
        else:
            self._push(entry)

    def take(self, entry: Entry) -> None:
        """Take an entry out of its part."""
        if entry.place is Place.ACTIVE:
            self.active.discard(entry)
        elif entry.place is Place.UNSCHEDULABLE:
            self.unschedulable.discard(entry)
        else:
            self.backoff.discard(entry)

    def advance(self, entry: Entry, pods: Iterable[QueuedPod]) -> None:
        """Move an entry forward if one of these pods, which joined it or changed, should go before it."""
        if entry.place is not Place.UNSCHEDULABLE and min(map(self._sort_key, pods)) < entry.sort_key:
            self.take(entry)
            self._push(entry)

    def pop(self) -> Entry | None:
        """Take out the entry to be tried next: the first active one, else the first rejected one that backs off."""
        return self._first(self.active.pop) or self._first(self.backoff.pop)

    def counts(self) -> dict[str, int]:
        """Entries by part, named as in metrics."""
        return {
            Place.ACTIVE.queue: len(self.active),
            Place.BACKOFF.queue: len(self.backoff),
            Place.UNSCHEDULABLE.queue: len(self.unschedulable),
        }

    def _first(self, pop: Callable[[], Entry | None]) -> Entry | None:
        # Without the member that left, a stale entry may belong further back.
        while (entry := pop()) is not None and entry.stale:
            self._push(entry)
        return entry

    def _push(self, entry: Entry) -> None:
        entry.sort_key = min(map(self._sort_key, entry.members.values()))
        entry.stale = False
        if entry.place is Place.ACTIVE:
            self.active.push(entry.sort_key, entry)
        else:
            self.backoff.add(entry)
