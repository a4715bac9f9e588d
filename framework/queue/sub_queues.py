"""activeQ, backoffQ and unschedulablePods: in which order entities wait, and which of them an event concerns.

activeQ is a plain heap. backoffQ counts time in windows of one second: all entities whose backoff ends within a window
come out together when the window ends, ordered as in activeQ (upstream: `backoffQOrderingWindowDuration`).
unschedulablePods holds entities that wait for an event, and gated pods, by the plugins that rejected or gate them, so
the cost of an event grows with the number of these plugins, not with the number of pods. Equal pods that no node can
take wait there as a batch. `Places` puts entities in and takes them out, `Batching` wakes batches.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Any, Generic, Protocol, TypeVar

from ..contract.events import ClusterEvent
from .entity import BatchKey, QueuedEntity, QueuedPodInfo
from .hints import QueueingHints, QueueingStrategy, Rejector
from .transitions import REVIEW, Cause, Place

WINDOW_SECONDS = 1.0


class Ticketed(Protocol):
    """An item that remembers its slot. It is in at most one heap at a time."""

    ticket: int


T = TypeVar("T", bound=Ticketed)

_tickets = count(1)  # shared by all heaps: an item's new slot here must not make an old one there valid again
_TOLERATED = 64


class LazyHeap(Generic[T]):
    """Items by key, smallest first; equal keys in the order they were pushed. All keys have the same length.

    Removing an item from the middle only makes its slot void. Void slots are dropped when they reach the top, and all
    at once when they outnumber the others.

    Attributes:
        live: the number of items.
    """

    __slots__ = ("_slots", "live")

    def __init__(self) -> None:
        self._slots: list[tuple[Any, ...]] = []  # (*key, ticket, item): comparing one flat tuple is fastest
        self.live = 0

    def push(self, key: tuple[Hashable, ...], item: T) -> None:
        """Add an item that is in no heap."""
        item.ticket = ticket = next(_tickets)
        heappush(self._slots, (*key, ticket, item))
        self.live += 1

    def discard(self, item: T) -> None:
        """Take out an item that is in this heap."""
        item.ticket = 0
        self.live -= 1
        if not self.live:
            self._slots.clear()  # keys of another kind may follow, which cannot be compared with these
        elif len(self._slots) > 2 * self.live + _TOLERATED:
            self._slots = [slot for slot in self._slots if slot[-1].ticket == slot[-2]]
            heapify(self._slots)

    def pop(self) -> T | None:
        """Take out the item with the smallest key; None when there is none."""
        slots = self._slots
        while slots:
            slot = heappop(slots)
            item: T = slot[-1]
            if item.ticket == slot[-2]:
                item.ticket = 0
                self.live -= 1
                return item
        return None

    def items(self) -> Iterator[T]:
        """The items, in no order."""
        return (slot[-1] for slot in self._slots if slot[-1].ticket == slot[-2])

    def peek(self) -> T | None:
        """The item with the smallest key, left where it is; None when there is none."""
        while self._slots:
            slot = self._slots[0]
            item: T = slot[-1]
            if item.ticket == slot[-2]:
                return item
            heappop(self._slots)
        return None


class BackoffQueue:
    """Two heaps, as in kube-scheduler: entities that plugins rejected may be tried early, those with an error may not.

    Both heaps are ordered by the window in which backoff ends; entities that may be tried early, within a window also
    by their sort keys.
    """

    __slots__ = ("_heaps",)

    def __init__(self) -> None:
        self._heaps: dict[Place, LazyHeap[QueuedEntity]] = {Place.BACKOFF: LazyHeap(), Place.ERROR_BACKOFF: LazyHeap()}

    def __len__(self) -> int:
        return sum(heap.live for heap in self._heaps.values())

    def count(self, place: Place) -> int:
        """The number of entities in this place."""
        return self._heaps[place].live

    def add(self, entity: QueuedEntity) -> None:
        """Add an entity to the heap that its place names."""
        order = entity.sort_key if entity.place is Place.BACKOFF else ()
        self._heaps[entity.place].push((entity.backoff_until, *order), entity)

    def discard(self, entity: QueuedEntity) -> None:
        """Remove an entity from this sub-queue."""
        self._heaps[entity.place].discard(entity)

    def first(self) -> QueuedEntity | None:
        """The rejected entity that is tried next if nothing is ready; it stays in the heap. None if there is none."""
        return self._heaps[Place.BACKOFF].peek()

    def completed(self, now: float) -> QueuedEntity | None:
        """An entity whose backoff is over; it stays in its heap. None if there is none."""
        for heap in self._heaps.values():
            if heap.live and (entity := heap.peek()) is not None and not entity.is_backing_off(now):
                return entity
        return None

    def next_completion(self) -> float | None:
        """When the next backoff is over, seconds on the engine's clock; None if no entity backs off."""
        heaps = self._heaps.values()
        ends = [entity.backoff_until for heap in heaps if heap.live and (entity := heap.peek()) is not None]
        return min(ends) + WINDOW_SECONDS if ends else None


@dataclass(slots=True, eq=False)
class Batch:
    """Equal pods without a group, each an entity with a sort key, in the order of activeQ.

    Attributes:
        profile: the schedulerName of the pods.
        key: what the pods have in common.
        unschedulable_plugins: plugins that rejected the pod that was tried last.
        pending_plugins: plugins that answered PENDING for this pod.
        rejected_at: when this pod was rejected, seconds on the engine's clock.
        trying: the pod that is tried for all, if there is one.
        strategy: the strategy of the event that woke the batch.
        cause: this event.
        sort_key: the sort key of the first pod when the batch was woken.
        ticket: the number of its valid item in the heap of woken batches; 0 outside of the heap.
        tenant: the tenant under which it is in that heap.
    """

    profile: str
    key: BatchKey
    unschedulable_plugins: frozenset[str] = frozenset()
    pending_plugins: frozenset[str] = frozenset()
    rejected_at: float = 0.0
    trying: QueuedPodInfo | None = None
    strategy: QueueingStrategy = QueueingStrategy.AFTER_BACKOFF
    cause: Cause = REVIEW
    sort_key: tuple[Hashable, ...] = ()
    ticket: int = 0
    tenant: str = ""
    _ready: LazyHeap[QueuedEntity] = field(default_factory=LazyHeap)
    _backing_off: LazyHeap[QueuedEntity] = field(default_factory=LazyHeap)
    _heap_of: dict[QueuedEntity, LazyHeap[QueuedEntity]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._heap_of)

    def __iter__(self) -> Iterator[QueuedEntity]:
        """The entities of the batch, in no order."""
        return iter(self._heap_of)

    @property
    def rejectors(self) -> frozenset[str]:
        """Every plugin that rejected the pod that was tried last."""
        return self.unschedulable_plugins | self.pending_plugins

    def add(self, entity: QueuedEntity) -> None:
        """Add a pod. Its backoff counts as not over until `first` is called."""
        self._heap_of[entity] = self._backing_off
        self._backing_off.push((entity.backoff_until, *entity.sort_key), entity)

    def discard(self, entity: QueuedEntity) -> None:
        """Remove an entity from this sub-queue."""
        self._heap_of.pop(entity).discard(entity)

    def first(self, now: float) -> QueuedEntity:
        """The entity to try next: the first whose backoff is over at `now`, else the one whose backoff ends first.

        Raises LookupError if the batch is empty.
        """
        while (entity := self._backing_off.peek()) is not None and not entity.is_backing_off(now):
            self._backing_off.discard(entity)
            self._heap_of[entity] = self._ready
            self._ready.push(entity.sort_key, entity)
        first = self._ready.peek() or entity
        if first is None:
            raise LookupError("the batch is empty")
        return first


class UnschedulablePods:
    """Entities and batches by the plugins that rejected or gate them.

    An entity's plugins must not change while it is here; a batch's change when a pod of it is rejected.
    """

    __slots__ = ("_batched", "_batches", "_by_rejector", "_entities", "_hints")

    def __init__(self, hints: QueueingHints) -> None:
        self._hints = hints
        self._entities: dict[Place, dict[QueuedEntity, None]] = {Place.UNSCHEDULABLE: {}, Place.GATED: {}}
        self._batches: dict[BatchKey, Batch] = {}
        self._batched = 0
        self._by_rejector: dict[tuple[Place, Rejector], dict[QueuedEntity | Batch, None]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._entities.values())) + self._batched

    def __bool__(self) -> bool:
        """Whether anything waits here. Called at each event."""
        return self._batched > 0 or any(self._entities.values())

    @property
    def has_batches(self) -> bool:
        """Whether any pods wait as a batch."""
        return bool(self._batches)

    def count(self, place: Place) -> int:
        """The number of entities that are unschedulable, or gated."""
        return len(self._entities[place]) + (self._batched if place is Place.UNSCHEDULABLE else 0)

    def batch_of(self, entity: QueuedEntity) -> Batch | None:
        """The batch that the entity belongs to; None if it belongs to none, or no pod waits in the batch."""
        return None if entity.batched_by is None else self._batches.get(entity.batched_by)

    def add(self, entity: QueuedEntity) -> None:
        """Add an entity; its place says whether it is gated, `batched_by` whether it belongs to a batch."""
        if entity.place is Place.UNSCHEDULABLE and entity.batched_by is not None:
            self._add_to_batch(entity, entity.batched_by)
            return
        self._entities[entity.place][entity] = None
        self._index(entity, entity.place)

    def discard(self, entity: QueuedEntity) -> None:
        """Remove an entity from this sub-queue."""
        batch = self.batch_of(entity) if entity.place is Place.UNSCHEDULABLE else None
        if batch is None:
            del self._entities[entity.place][entity]
            self._unindex(entity, entity.place)
            return
        batch.discard(entity)
        self._batched -= 1
        if not batch:
            del self._batches[batch.key]
            self._unindex(batch, Place.UNSCHEDULABLE)

    def concerned_by(self, event: ClusterEvent, place: Place) -> tuple[list[Batch], list[QueuedEntity]]:
        """The batches and entities with a rejecting plugin that registered for the event, each once, in order."""
        found: dict[QueuedEntity | Batch, None] = {}
        for (where, rejector), held in self._by_rejector.items():
            if where is place and self._hints.concerns(rejector, event, gated=place is Place.GATED):
                found.update(held)
        batches = [each for each in found if isinstance(each, Batch)]
        return batches, [each for each in found if isinstance(each, QueuedEntity)]

    def since_before(self, moment: float, place: Place) -> tuple[list[Batch], list[QueuedEntity]]:
        """The batches rejected, and the entities with a timestamp, before `moment`, seconds on the engine's clock."""
        entities = [entity for entity in self._entities[place] if entity.timestamp < moment]
        batches = self._batches.values() if place is Place.UNSCHEDULABLE else ()
        return [batch for batch in batches if batch.rejected_at < moment], entities

    def _add_to_batch(self, entity: QueuedEntity, key: BatchKey) -> None:
        """Add an entity that was just rejected to its batch. Its rejectors become those of the whole batch."""
        batch = self._batches.get(key)
        if batch is None:
            batch = self._batches[key] = Batch(entity.profile, key)
        rejectors = entity.unschedulable_plugins, entity.pending_plugins
        if rejectors != (batch.unschedulable_plugins, batch.pending_plugins):
            self._unindex(batch, Place.UNSCHEDULABLE)
            batch.unschedulable_plugins, batch.pending_plugins = rejectors
            self._index(batch, Place.UNSCHEDULABLE)
        batch.rejected_at = max(batch.rejected_at, entity.timestamp)
        batch.add(entity)
        self._batched += 1

    def _index(self, waiting: QueuedEntity | Batch, place: Place) -> None:
        for key in _keys(waiting, place):
            self._by_rejector.setdefault(key, {})[waiting] = None

    def _unindex(self, waiting: QueuedEntity | Batch, place: Place) -> None:
        for key in _keys(waiting, place):
            held = self._by_rejector[key]
            del held[waiting]
            if not held:
                del self._by_rejector[key]


def _keys(waiting: QueuedEntity | Batch, place: Place) -> Iterator[tuple[Place, Rejector]]:
    return ((place, (waiting.profile, plugin)) for plugin in waiting.rejectors)
