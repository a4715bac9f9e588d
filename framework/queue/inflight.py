"""Pods in flight, and the events that they may have missed.

The queue logs events here while any attempt runs, and reads them back when a pod returns: what would have helped it had
it been waiting must not be lost. An event is kept until every entry that was popped before it has come to an end.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import NamedTuple

from ..contract.events import ClusterEvent, HintFunction
from ..model.pod_info import PodSignature
from .entry import Entry, Member


@dataclass(slots=True, eq=False)
class Happening:
    """An event with what it happened to.

    Attributes:
        event: what happened.
        old: the object before; None for an add.
        new: the object after; None for a delete.
        target: the UID of the only pod it concerns; None when it concerns all.
        said: whether it helps pods of a signature, by hints that go by the signature.
    """

    event: ClusterEvent
    old: object
    new: object
    target: str | None = None
    said: dict[tuple[HintFunction, PodSignature], bool] = field(default_factory=dict)


class Missed(NamedTuple):
    """Happenings of one kind and, unless they concern all, to one pod; in order."""

    event: ClusterEvent
    target: str | None
    happenings: Sequence[Happening]


class _Flight:
    """A popped entry: its pods that are still in flight, and where in the log it took off."""

    __slots__ = ("entry", "pods", "position")

    def __init__(self, entry: Entry, position: int) -> None:
        self.entry = entry
        self.pods = len(entry.members)
        self.position = position


class Flights:
    """Pods in flight by UID, and what has happened since each took off."""

    __slots__ = ("_flights", "_keeps", "_logs", "_next", "_pods")

    def __init__(self, keeps: Callable[[ClusterEvent], bool]) -> None:
        """`keeps` says which events are worth being kept."""
        self._keeps = keeps
        self._pods: dict[str, _Flight] = {}
        self._flights: dict[_Flight, None] = {}  # in the order they took off
        self._logs: dict[tuple[ClusterEvent, str | None], deque[tuple[int, Happening]]] = {}
        self._next = 0  # the position of what is kept next, in all logs together

    def __len__(self) -> int:
        return len(self._pods)

    def __iter__(self) -> Iterator[tuple[Member, Entry]]:
        """Every pod with the entry it was popped in."""
        return ((flight.entry.members[uid], flight.entry) for uid, flight in self._pods.items())

    @property
    def logged(self) -> int:
        """How many events are kept."""
        return sum(map(len, self._logs.values()))

    def get(self, uid: str) -> Member | None:
        """The pod, if it is in flight."""
        flight = self._pods.get(uid)
        return None if flight is None else flight.entry.members[uid]

    def begin(self, entry: Entry) -> None:
        """The entry's pods take off now."""
        flight = _Flight(entry, self._next)
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
            if self._logs:
                self._prune()

    def record(self, happening: Happening) -> None:
        """Something happened while pods are in flight."""
        if self._keeps(happening.event):
            log = self._logs.setdefault((happening.event, happening.target), deque())
            log.append((self._next, happening))
            self._next += 1

    def missed(self, uids: Iterable[str], concerns: Callable[[ClusterEvent], bool]) -> list[Missed]:
        """What has happened since the first of these pods, all in flight, took off, as far as it concerns somebody."""
        start = min((self._pods[uid].position for uid in uids), default=self._next)
        found: list[Missed] = []
        for (event, target), log in self._logs.items():
            if log[-1][0] >= start and concerns(event):
                since = [happening for _, happening in takewhile(lambda kept: kept[0] >= start, reversed(log))]
                found.append(Missed(event, target, since[::-1]))
        return found

    def _prune(self) -> None:
        if not self._flights:
            self._logs.clear()
            return
        needed = next(iter(self._flights)).position
        for kind, log in [*self._logs.items()]:
            while log and log[0][0] < needed:
                log.popleft()
            if not log:
                del self._logs[kind]
