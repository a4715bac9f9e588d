"""Entries that wait for an event.

The queue keeps here what plugins rejected, and asks who an event or the clock concerns.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..contract.events import ClusterEvent
from .entry import Entry
from .hints import HintTable, Rejector
from .rejectors import RejectorIndex


class Unschedulable:
    """Entries by the plugins that rejected them. An entry's rejectors must not change while it is here."""

    __slots__ = ("_entries", "_hints", "_index")

    def __init__(self, hints: HintTable) -> None:
        self._hints = hints
        self._entries: dict[Entry, None] = {}
        self._index: RejectorIndex[Entry] = RejectorIndex()

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, entry: Entry) -> None:
        """Let an entry wait."""
        self._entries[entry] = None
        self._index.add(entry, _rejectors(entry))

    def discard(self, entry: Entry) -> None:
        """Take out an entry that is here."""
        del self._entries[entry]
        self._index.discard(entry, _rejectors(entry))

    def concerned_by(self, event: ClusterEvent) -> list[Entry]:
        """Entries with a rejector that registered for the event."""
        return self._index.where(lambda rejector: self._hints.concerns(rejector, event))

    def since_before(self, moment: float) -> list[Entry]:
        """Entries whose last attempt ended before `moment`."""
        return [entry for entry in self._entries if entry.timestamp < moment]


def _rejectors(entry: Entry) -> Iterator[Rejector]:
    return ((entry.profile, plugin) for plugin in entry.rejectors)
