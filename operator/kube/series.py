"""Series of events: client-go's rules for combining repetitions into one Event with a count. Pure.

An event is written at its first occurrence; the second is written as a series of two. Further ones are only counted,
and the count is written every 30 minutes and when the series has been quiet for 6. After that the event counts as new.
There is one difference from client-go: its notes are not part of an event's identity, so a pod's new reason is never
shown; here a changed note is a new event.

The recorder owns a table, calls `observe` for each event, and calls `sweep` every few minutes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .references import ObjectReference

QUIET = 360.0
REFRESH = 1800.0


class EventKey(NamedTuple):
    """The properties that two events of a series share."""

    type: str
    reason: str
    action: str
    note: str
    controller: str
    regarding: ObjectReference
    related: ObjectReference | None


@dataclass(slots=True)
class Sighting:
    """The occurrences of an event.

    Attributes:
        key: the properties that its occurrences share.
        name: the name of the Event object.
        first_seen, last_seen: seconds since the epoch.
        count: the number of its occurrences.
        written_count, written_at: the count that was last written to the API, and when.
    """

    key: EventKey
    name: str
    first_seen: float
    last_seen: float
    count: int = 1
    written_count: int = 1
    written_at: float = 0.0


class SeriesTable:
    """The events of the last minutes, at most `capacity`; the event that has been quiet longest is removed first."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._sightings: dict[EventKey, Sighting] = {}

    def __len__(self) -> int:
        return len(self._sightings)

    def observe(self, key: EventKey, *, name: str, now: float) -> list[Sighting]:
        """Record an occurrence; `name` is the name of a new Event. Returns the Event to write now, if any."""
        due: list[Sighting] = []
        known = self._sightings.pop(key, None)
        if known is not None and now - known.last_seen >= QUIET:
            due += _closing(known)
            known = None
        if known is None:
            known = Sighting(key, name, first_seen=now, last_seen=now, written_at=now)
            due.append(known)
        else:
            known.count += 1
            known.last_seen = now
            if known.count == 2:
                due.append(_written(known, now))
        self._sightings[key] = known  # re-inserted, so the dict is in the order of the last occurrences
        if len(self._sightings) > self._capacity:
            due += _closing(self._sightings.pop(next(iter(self._sightings))))
        return due

    def sweep(self, *, now: float) -> list[Sighting]:
        """Remove series that have been quiet for long. Returns the series whose count has to be written."""
        due: list[Sighting] = []
        for key, sighting in list(self._sightings.items()):
            if now - sighting.last_seen >= QUIET:
                del self._sightings[key]
                due += _closing(sighting)
            elif sighting.count > sighting.written_count and now - sighting.written_at >= REFRESH:
                due.append(_written(sighting, now))
        return due


def _closing(sighting: Sighting) -> list[Sighting]:
    return [sighting] if sighting.count > sighting.written_count else []


def _written(sighting: Sighting, now: float) -> Sighting:
    sighting.written_count = sighting.count
    sighting.written_at = now
    return sighting
