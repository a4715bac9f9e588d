"""The pods in flight, and the events that occur meanwhile.

An event that would have helped a waiting pod must not be lost because the pod is being tried: while any attempt runs,
the queue records events here, and reads those that a pod missed when it returns.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import takewhile

from ..contract.events import ClusterEvent
from .entity import QueuedEntity, QueuedPodInfo
from .hints import InFlightEvents, ObjectEvent, QueueingHints


class _Flight:
    """A popped entity: how many of its pods are still in flight, and how many events had been recorded before."""

    __slots__ = ("entity", "pods", "position")

    def __init__(self, entity: QueuedEntity, position: int) -> None:
        self.entity = entity
        self.pods = len(entity.pods)
        self.position = position


class InFlightPods:
    """Pods in flight by UID, and the events since each was popped (upstream: `inFlightPods`, `inFlightEvents`).

    An event is kept until every entity that was popped before it has returned.
    """

    __slots__ = ("_events", "_flights", "_hints", "_next", "_pods")

    def __init__(self, hints: QueueingHints) -> None:
        self._hints = hints
        self._pods: dict[str, _Flight] = {}
        self._flights: dict[_Flight, None] = {}  # in the order they were popped
        self._events: dict[tuple[ClusterEvent, str | None], deque[tuple[int, ObjectEvent]]] = {}
        self._next = 0  # the position of the next event that is kept, counted over all kinds

    def __len__(self) -> int:
        return len(self._pods)

    def __iter__(self) -> Iterator[tuple[QueuedPodInfo, QueuedEntity]]:
        """Every pod with the entity in which it was popped."""
        return ((flight.entity.pods[uid], flight.entity) for uid, flight in self._pods.items())

    @property
    def kept_events(self) -> int:
        """The number of events that are kept."""
        return sum(map(len, self._events.values()))

    def get(self, uid: str) -> QueuedPodInfo | None:
        """The pod, if it is in flight."""
        flight = self._pods.get(uid)
        return None if flight is None else flight.entity.pods[uid]

    def begin(self, entity: QueuedEntity) -> None:
        """The entity was popped."""
        flight = _Flight(entity, self._next)
        self._flights[flight] = None
        for uid in entity.pods:
            self._pods[uid] = flight

    def end(self, uid: str) -> None:
        """The pod, if it is in flight, is no longer."""
        flight = self._pods.pop(uid, None)
        if flight is None:
            return
        flight.pods -= 1
        if flight.pods == 0:
            del self._flights[flight]
            if self._events:
                self._prune()

    def record(self, event: ObjectEvent) -> None:
        """Record an event that occurred while pods are in flight."""
        if self._hints.of_interest(event.event):
            events = self._events.setdefault((event.event, event.target), deque())
            events.append((self._next, event))
            self._next += 1

    def missed(self, uids: Iterable[str], concerns: Callable[[ClusterEvent], bool]) -> list[InFlightEvents]:
        """The events for which `concerns` is true since the first of these pods, all in flight, was popped."""
        start = min((self._pods[uid].position for uid in uids), default=self._next)
        found: list[InFlightEvents] = []
        for (kind, target), events in self._events.items():
            if events[-1][0] >= start and concerns(kind):
                since = [event for _, event in takewhile(lambda kept: kept[0] >= start, reversed(events))]
                found.append(InFlightEvents(kind, target, since[::-1]))
        return found

    def _prune(self) -> None:
        if not self._flights:
            self._events.clear()
            return
        needed = next(iter(self._flights)).position
        for kind, events in [*self._events.items()]:
            while events and events[0][0] < needed:
                events.popleft()
            if not events:
                del self._events[kind]
