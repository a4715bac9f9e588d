"""The contents of the queue, for reading: where each pod is, how it waits, and how many pods are in each place.

The scheduler and the event handlers look up pods here, and the process counts pods for metrics. `why` and the served
pages show a `QueuePosition`; on SIGUSR2 the process logs a `DumpLine` for each pod. This module changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from ..metrics import EntityType
from .entity import QueuedEntity, QueuedPodInfo
from .in_flight import InFlightPods
from .places import Places
from .sub_queues import WINDOW_SECONDS, Batch
from .transitions import Place


class DumpLine(NamedTuple):
    """One pod in the queue, as the process logs it on SIGUSR2.

    Attributes:
        place: the label of its place.
        entity: the key of the entity in which it waits or is tried; empty for a gated pod.
        pod: `namespace/name`.
        uid: its UID.
        attempts: how often it has been tried.
        since: when it last entered the queue, seconds on the engine's clock.
        plugins: the plugins that rejected or gate it.
    """

    place: str
    entity: str
    pod: str
    uid: str
    attempts: int
    since: float
    plugins: tuple[str, ...]

    def __str__(self) -> str:
        of = f" of {self.entity}" if self.entity.startswith("group/") else ""
        held = f", held back by {', '.join(self.plugins)}" if self.plugins else ""
        return f"{self.place}: {self.pod}{of}, attempts {self.attempts}{held}"


@dataclass(frozen=True, slots=True)
class QueuePosition:
    """How a pod waits, for users. Seconds are relative to now.

    Attributes:
        place: the label of its place.
        waited_seconds: the time since it first entered the queue.
        attempts: how often it was tried.
        ahead: how many waiting pods and groups would be tried before it if all were ready; None for a gated pod.
        next_try_seconds: when it is tried at the latest; 0 for a pod that is ready, None for a gated pod.
        waits_for: the plugins whose events retry it earlier; empty for a pod that is ready.
    """

    place: str
    waited_seconds: float
    attempts: int
    ahead: int | None
    next_try_seconds: float | None
    waits_for: tuple[str, ...]


class QueueContents:
    """The pods of a queue, waiting and in flight."""

    def __init__(self, places: Places, in_flight: InFlightPods) -> None:
        self._places = places
        self._in_flight = in_flight

    def __iter__(self) -> Iterator[tuple[QueuedPodInfo, QueuedEntity]]:
        """Every pod with the entity that it waits or is tried in."""
        waiting = ((entity.pods[uid], entity) for uid, entity in self._places.entity_of.items())
        return chain(waiting, self._in_flight)

    def get(self, uid: str) -> QueuedPodInfo | None:
        """The pod, waiting or in flight."""
        entity = self._places.entity_of.get(uid)
        return self._in_flight.get(uid) if entity is None else entity.pods[uid]

    def place_of(self, uid: str) -> Place | None:
        """The pod's place; None if it is not in the queue."""
        if self._in_flight.get(uid) is not None:
            return Place.IN_FLIGHT
        entity = self._places.entity_of.get(uid)
        return None if entity is None else entity.place

    def is_unschedulable(self, uid: str) -> bool:
        """Whether the pod waits for an event."""
        return self.place_of(uid) is Place.UNSCHEDULABLE

    def gated_since_added(self, uid: str) -> bool:
        """Whether PreEnqueue plugins have gated the pod since it was added."""
        entity = self._places.entity_of.get(uid)
        return entity is not None and entity.place is Place.GATED and entity.pods[uid].attempts == 0

    def unschedulable(self) -> tuple[list[Batch], list[QueuedEntity]]:
        """All batches and entities that wait for an event. Callers only read them, and pass them to `try_again`."""
        return self._places.unschedulable_pods.since_before(float("inf"), Place.UNSCHEDULABLE)

    @property
    def has_ready(self) -> bool:
        """Whether any pod is ready to be tried."""
        return bool(self._places.active_q)

    def counts(self) -> dict[str, int]:
        """The number of waiting pods by sub-queue: active, backoff, unschedulable, gated.

        The cost grows with groups, not with pods.
        """
        pods = self._count()
        for entity in self._places.groups.values():
            pods[entity.place.queue] += len(entity.pods) - 1
        return dict(pods)

    def entity_counts(self) -> dict[tuple[str, EntityType], int]:
        """The number of waiting entities by sub-queue and type. A gated pod is an entity of its own."""
        groups = Counter(entity.place.queue for entity in self._places.groups.values())
        counts: dict[tuple[str, EntityType], int] = {}
        for queue, count in self._count().items():
            counts[queue, "pod"] = count - groups[queue]
            if queue != Place.GATED.queue:
                counts[queue, "podgroup"] = groups[queue]
        return counts

    def position_of(self, uid: str, *, now: float, sweep: float, limit: float) -> QueuePosition | None:
        """How a pod waits; None if it does not.

        `sweep` is the next time, on the engine's clock, at which entities are retried that have waited for an event for
        more than `limit` seconds.
        """
        entity_of = self._places.entity_of
        entity = entity_of.get(uid)
        if entity is None:
            return None
        pod, place, ahead, next_try = entity.pods[uid], entity.place, None, None
        if place is not Place.GATED:
            others = {id(each): each for each in entity_of.values() if each is not entity}.values()
            ahead = sum(1 for each in others if each.place is not Place.GATED and each.sort_key < entity.sort_key)
            next_try = _next_try(entity, now, sweep, limit)
        waits_for = tuple(sorted(entity.rejectors)) if place is not Place.ACTIVE else ()
        return QueuePosition(place.label, now - pod.first_seen, pod.attempts, ahead, next_try, waits_for)

    def dump(self) -> list[DumpLine]:
        """A line for every pod, sorted by place and entity."""
        return sorted(_dump_line(pod, entity) for pod, entity in self)

    def _count(self) -> Counter[str]:
        """The number of waiting entities by sub-queue."""
        waiting = self._places
        return Counter(
            {
                Place.ACTIVE.queue: len(waiting.active_q),
                Place.BACKOFF.queue: len(waiting.backoff_q),
                Place.UNSCHEDULABLE.queue: waiting.unschedulable_pods.count(Place.UNSCHEDULABLE),
                Place.GATED.queue: waiting.unschedulable_pods.count(Place.GATED),
            }
        )


def _dump_line(pod: QueuedPodInfo, entity: QueuedEntity) -> DumpLine:
    key, plugins = entity.key if entity.admitted else "", tuple(sorted(entity.rejectors))
    return DumpLine(entity.place.label, key, pod.info.key, pod.info.uid, pod.attempts, pod.timestamp, plugins)


def _next_try(entity: QueuedEntity, now: float, sweep: float, limit: float) -> float:
    if entity.place is Place.ACTIVE:
        return 0.0
    over = entity.backoff_until + WINDOW_SECONDS
    if entity.place is Place.UNSCHEDULABLE:
        over = max(over, sweep, entity.timestamp + limit)
    return max(0.0, over - now)
