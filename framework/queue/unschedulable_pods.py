"""unschedulablePods: entities that wait for an event, and pods that a PreEnqueue plugin gates.

Both wait for plugins, and are indexed by these plugins: an event costs a look at each plugin that holds anything back,
not at each pod. Equal pods that no node can take wait as a batch.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from ..contract.events import ClusterEvent
from ..model.pod_info import EquivalenceClass, PodSignature
from .entity import QueuedEntity, QueuedPodInfo
from .heaps import LazyHeap, backing_off
from .hints import QueueingHints, QueueingStrategy, Rejector
from .transitions import REVIEW, Cause, Place


@dataclass(slots=True, eq=False)
class Batch:
    """Pods by themselves, each an entity with a sort key, in the order of activeQ.

    Attributes:
        profile: their schedulerName.
        common: what they have in common.
        unschedulable_plugins: plugins that turned the last of them away that was tried.
        pending_plugins: those of them that answered PENDING.
        refused_at: when that was, seconds on the engine's clock.
        trying: the pod that is tried for all, if one is.
        strategy: where what woke the batch sends its pods.
        cause: what that was.
        sort_key: that of the first of them when the batch was woken.
        ticket: names its valid item in the heap of batches that were woken; 0 outside of it.
    """

    profile: str
    common: PodSignature | EquivalenceClass
    unschedulable_plugins: frozenset[str] = frozenset()
    pending_plugins: frozenset[str] = frozenset()
    refused_at: float = 0.0
    trying: QueuedPodInfo | None = None
    strategy: QueueingStrategy = QueueingStrategy.AFTER_BACKOFF
    cause: Cause = REVIEW
    sort_key: tuple[Hashable, ...] = ()
    ticket: int = 0
    _ready: LazyHeap[QueuedEntity] = field(default_factory=LazyHeap)
    _backing_off: LazyHeap[QueuedEntity] = field(default_factory=LazyHeap)
    _heap_of: dict[QueuedEntity, LazyHeap[QueuedEntity]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._heap_of)

    def __iter__(self) -> Iterator[QueuedEntity]:
        """Its entities, in no order."""
        return iter(self._heap_of)

    @property
    def rejectors(self) -> frozenset[str]:
        """Every plugin that rejected the pod of the batch that was tried last."""
        return self.unschedulable_plugins | self.pending_plugins

    def add(self, entity: QueuedEntity) -> None:
        """Add a pod. Until `first` is asked, its backoff counts as not over."""
        self._heap_of[entity] = self._backing_off
        self._backing_off.push((entity.backoff_until, *entity.sort_key), entity)

    def discard(self, entity: QueuedEntity) -> None:
        """Take out an entity that is here."""
        self._heap_of.pop(entity).discard(entity)

    def first(self, now: float) -> QueuedEntity:
        """The entity to be tried next: the first whose backoff is over, else the one whose backoff ends first."""
        while (entity := self._backing_off.peek()) is not None and not backing_off(entity, now):
            self._backing_off.discard(entity)
            self._heap_of[entity] = self._ready
            self._ready.push(entity.sort_key, entity)
        first = self._ready.peek() or self._backing_off.peek()
        if first is None:
            raise LookupError("the batch is empty")
        return first


class Waiting(NamedTuple):
    """Some of what waits."""

    batches: list[Batch]
    entities: list[QueuedEntity]


class UnschedulablePods:
    """Entities and batches by the plugins that rejected or gate them.

    An entity's plugins must not change while it is here; a batch's change with `refused`.
    """

    __slots__ = ("_batched", "_batches", "_by_rejector", "_entities", "_hints")

    def __init__(self, hints: QueueingHints) -> None:
        self._hints = hints
        self._entities: dict[Place, dict[QueuedEntity, None]] = {Place.UNSCHEDULABLE: {}, Place.GATED: {}}
        self._batches: dict[PodSignature | EquivalenceClass, Batch] = {}
        self._batched = 0
        self._by_rejector: dict[tuple[Place, Rejector], dict[QueuedEntity | Batch, None]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._entities.values())) + self._batched

    def __bool__(self) -> bool:
        """Whether anything is here: asked with each event."""
        return self._batched > 0 or any(self._entities.values())

    @property
    def has_batches(self) -> bool:
        """Whether any pods wait as a batch."""
        return bool(self._batches)

    def count(self, place: Place) -> int:
        """The number of entities that are unschedulable, or gated."""
        return len(self._entities[place]) + (self._batched if place is Place.UNSCHEDULABLE else 0)

    def batch_of(self, entity: QueuedEntity) -> Batch | None:
        """The batch that the entity belongs to, if pods wait there."""
        return None if entity.batched_by is None else self._batches.get(entity.batched_by)

    def add(self, entity: QueuedEntity) -> None:
        """Let an entity wait; its place says whether it is gated, `batched_by` whether it belongs to a batch."""
        if entity.place is Place.UNSCHEDULABLE and entity.batched_by is not None:
            self._add_to_batch(entity, entity.batched_by)
            return
        self._entities[entity.place][entity] = None
        self._index(entity, entity.place)

    def discard(self, entity: QueuedEntity) -> None:
        """Take out an entity that is here."""
        batch = self.batch_of(entity) if entity.place is Place.UNSCHEDULABLE else None
        if batch is None:
            del self._entities[entity.place][entity]
            self._unindex(entity, entity.place)
            return
        batch.discard(entity)
        self._batched -= 1
        if not batch:
            del self._batches[batch.common]
            self._unindex(batch, Place.UNSCHEDULABLE)

    def concerned_by(self, event: ClusterEvent, place: Place) -> Waiting:
        """The entities with a plugin that registered for the event, each once, in the order they came."""
        found: dict[QueuedEntity | Batch, None] = {}
        for (where, rejector), held in self._by_rejector.items():
            if where is place and self._hints.concerns(rejector, event, gated=place is Place.GATED):
                found.update(held)
        batches = [each for each in found if isinstance(each, Batch)]
        return Waiting(batches, [each for each in found if isinstance(each, QueuedEntity)])

    def since_before(self, moment: float, place: Place) -> Waiting:
        """The entities that came, were refused, or were last asked about by the clock, before `moment`."""
        entities = [entity for entity in self._entities[place] if entity.timestamp < moment]
        batches = self._batches.values() if place is Place.UNSCHEDULABLE else ()
        return Waiting([batch for batch in batches if batch.refused_at < moment], entities)

    def _add_to_batch(self, entity: QueuedEntity, common: PodSignature | EquivalenceClass) -> None:
        """Let an entity that was just refused wait with its batch. What refused it refuses the others, too."""
        batch = self._batches.get(common)
        if batch is None:
            batch = self._batches[common] = Batch(entity.profile, common)
        refused_by = entity.unschedulable_plugins, entity.pending_plugins
        if refused_by != (batch.unschedulable_plugins, batch.pending_plugins):
            self._unindex(batch, Place.UNSCHEDULABLE)
            batch.unschedulable_plugins, batch.pending_plugins = refused_by
            self._index(batch, Place.UNSCHEDULABLE)
        batch.refused_at = max(batch.refused_at, entity.timestamp)
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
