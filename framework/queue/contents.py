"""The contents of the queue: where each pod is, and how many pods are in each place. This module changes nothing.

The scheduler and the event handlers look up pods here; the process counts pods for metrics, and logs them on demand.
"""

from __future__ import annotations

from ..contract.plugin import QueuedPod
from ..metrics import EntityType
from .in_flight import InFlightPods
from .pending_pods import DumpLine, dump_lines
from .sub_queues import SubQueues
from .transitions import Place
from .unschedulable_pods import WaitingEntities


class QueueContents:
    """The pods of a queue, waiting and in flight, for reading."""

    def __init__(self, sub_queues: SubQueues, in_flight: InFlightPods) -> None:
        self._sub_queues = sub_queues
        self._in_flight = in_flight

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
        """Whether PreEnqueue plugins have gated the pod since it was added."""
        entity = self._sub_queues.entity_of.get(uid)
        return entity is not None and entity.place is Place.GATED and entity.pods[uid].attempts == 0

    def unschedulable(self) -> WaitingEntities:
        """All batches and entities that wait for an event. Callers only read them, and pass them to `try_again`."""
        return self._sub_queues.unschedulable_pods.since_before(float("inf"), Place.UNSCHEDULABLE)

    @property
    def has_ready(self) -> bool:
        """Whether any pod is ready to be tried."""
        return bool(self._sub_queues.active_q)

    def counts(self) -> dict[str, int]:
        """The number of waiting pods by sub-queue: active, backoff, unschedulable, gated."""
        return self._sub_queues.count_pods()

    def entity_counts(self) -> dict[tuple[str, EntityType], int]:
        """The number of waiting entities by sub-queue and type. A gated pod is an entity of its own."""
        return self._sub_queues.count_entities()

    def dump(self) -> list[DumpLine]:
        """A line for every pod, sorted by place and entity."""
        return dump_lines((*self._sub_queues, *self._in_flight))
