"""Pods in flight, and the events that they may have missed.

The queue logs events here while any attempt runs, and reads them back when a pod returns: what would have helped it had
it been waiting must not be lost. An event is kept until every entry that was popped before it has come to an end.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from ..contract.events import ClusterEvent
from .entry import Entry, Member


class Happening(NamedTuple):
    """An event with what it happened to.

    Attributes:
        event: what happened.
        old: the object before; None for an add.
        new: the object after; None for a delete.
        target: the UID of the only pod it concerns; None when it concerns all.
    """

    event: ClusterEvent
    old: object
    new: object
    target: str | None = None


class _Flight:
    """A popped entry: its pods that are still in flight, and where in the log it took off."""

    __slots__ = ("entry", "pods", "position")

    def __init__(self, entry: Entry, position: int) -> None:
        self.entry = entry
        self.pods = len(entry.members)
        self.position = position


class Flights:
    """Pods in flight by UID, and what has happened since each took off."""

    __slots__ = ("_dropped", "_flights", "_log", "_pods")

    def __init__(self) -> None:
        self._pods: dict[str, _Flight] = {}
        self._flights: dict[_Flight, None] = {}  # in the order they took off
        self._log: deque[Happening] = deque()
        self._dropped = 0

    def __len__(self) -> int:
        return len(self._pods)

    def __iter__(self) -> Iterator[tuple[Member, Entry]]:
        """Every pod with the entry it was popped in."""
        return ((flight.entry.members[uid], flight.entry) for uid, flight in self._pods.items())

    @property
    def logged(self) -> int:
        """How many events are kept."""
        return len(self._log)

    def get(self, uid: str) -> Member | None:
        """The pod, if it is in flight."""
        flight = self._pods.get(uid)
        return None if flight is None else flight.entry.members[uid]

    def begin(self, entry: Entry) -> None:
        """The entry's pods take off now."""
        flight = _Flight(entry, self._dropped + len(self._log))
        self._flights[flight] = None
        for uid in entry.members:
            self._pods[uid] = flight

    def end(self, uid: str) -> None:
        """The pod, if it is in flight, has come to an end."""
        flight = self._pods.pop(uid, None)
        if flight is None:
            return
        flight.pods -= 1
        if flight.pods == 0:
            del self._flights[flight]
            if self._log:
                self._prune()

    def record(self, happening: Happening) -> None:
        """Something happened while pods are in flight."""
        self._log.append(happening)

    def missed(self, uids: Iterable[str]) -> Sequence[Happening]:
        """What has happened since the first of these pods, all in flight, took off; in order."""
        end = self._dropped + len(self._log)
        start = min((self._pods[uid].position for uid in uids), default=end)
        return tuple(islice(self._log, start - self._dropped, None)) if start < end else ()

    def _prune(self) -> None:
        if not self._flights:
            self._dropped += len(self._log)
            self._log.clear()
            return
        needed = next(iter(self._flights)).position
        while self._dropped < needed:
            self._log.popleft()
            self._dropped += 1
