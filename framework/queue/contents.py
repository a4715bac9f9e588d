"""What is in the queue: where each pod is and how many wait where. Nothing here changes anything.

The scheduler and the event handlers look here for a pod, the process counts for its metrics, and dumps for people.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from ..contract.plugin import QueuedPod
from ..metrics import EntityType
from .entity import QueuedEntity, QueuedPodInfo
from .in_flight import InFlightPods
from .pending_pods import DumpLine, dump_lines
from .sub_queues import SubQueues
from .transitions import Place
from .unschedulable_pods import Waiting


class QueueContents:
    """The pods of a queue, waiting and in flight, to be read."""

    def __init__(self, sub_queues: SubQueues, in_flight: InFlightPods) -> None:
        self._sub_queues = sub_queues
        self._in_flight = in_flight

    def __iter__(self) -> Iterator[tuple[QueuedPodInfo, QueuedEntity]]:
        """Every pod with the entity that it waits or is tried in."""
        return chain(self._sub_queues, self._in_flight)

    def get(self, uid: str) -> QueuedPod | None:
        """The pod, waiting or in flight."""
        return self._in_flight.get(uid) or self._sub_queues.get(uid)

    def place_of(self, uid: str) -> Place | None:
        """The pod's place; None if it is not in the queue."""
        if self._in_flight.get(uid) is not None:
            return Place.IN_FLIGHT
        entity = self._sub_queues.entity_of.get(uid)
        return None if entity is None else entity.place

    def is_unschedulable(self, uid: str) -> bool:
        """Whether the pod waits for an event."""
        return self.place_of(uid) is Place.UNSCHEDULABLE

    def was_never_let_in(self, uid: str) -> bool:
        """Whether PreEnqueue plugins have kept the pod out ever since it came."""
        entity = self._sub_queues.entity_of.get(uid)
        return entity is not None and entity.place is Place.GATED and entity.pods[uid].attempts == 0

    def unschedulable(self) -> Waiting:
        """All that waits for an event. Its parts are the queue's own: to be read, and given to its `try_again`."""
        return self._sub_queues.unschedulable_pods.since_before(float("inf"), Place.UNSCHEDULABLE)

    @property
    def has_ready(self) -> bool:
        """Whether any pod is ready to be tried."""
        return bool(self._sub_queues.active_q)

    def counts(self) -> dict[str, int]:
        """Pods by where they wait: active, backoff, unschedulable, gated."""
        return self._sub_queues.count_pods()

    def entity_counts(self) -> dict[tuple[str, EntityType], int]:
        """Entities by where they wait and by what they are. A gated pod is one of its own."""
        return self._sub_queues.count_entities()

    def dump(self) -> list[DumpLine]:
        """A line for every pod, sorted by place and entity."""
        return dump_lines(self)
