"""unschedulablePods: entities that wait for an event, and pods that a PreEnqueue plugin does not let in.

Both wait for plugins, so both are found by the plugins that they wait for: an event then costs a look at each plugin
that holds anything back, not at each pod. Pods alike that no node could take wait as a batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from ..contract.events import ClusterEvent
from ..model.pod_info import EquivalenceClass, PodSignature
from .batch import Batch
from .entity import Place, QueuedEntity
from .hints import QueueingHints, Rejector


class Waiting(NamedTuple):
    """Some of what waits."""

    batches: list[Batch]
    entities: list[QueuedEntity]


@dataclass(slots=True)
class _Held:
    """What one plugin holds back."""

    batches: dict[Batch, None] = field(default_factory=dict)
    entities: dict[QueuedEntity, None] = field(default_factory=dict)


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
        self._by_rejector: dict[tuple[Place, Rejector], _Held] = {}

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
        """How many entities are unschedulable, or gated."""
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
        self._index_entity(entity)

    def discard(self, entity: QueuedEntity) -> None:
        """Take out an entity that is here."""
        batch = self.batch_of(entity) if entity.place is Place.UNSCHEDULABLE else None
        if batch is None:
            del self._entities[entity.place][entity]
            self._unindex_entity(entity)
            return
        batch.discard(entity)
        self._batched -= 1
        if not batch:
            del self._batches[batch.common]
            self._unindex_batch(batch)

    def concerned_by(self, event: ClusterEvent, place: Place) -> Waiting:
        """What has a plugin that registered for the event, each once, in the order it came."""
        batches: dict[Batch, None] = {}
        entities: dict[QueuedEntity, None] = {}
        for (where, rejector), found in self._by_rejector.items():
            if where is place and self._hints.concerns(rejector, event, gated=place is Place.GATED):
                batches.update(found.batches)
                entities.update(found.entities)
        return Waiting(list(batches), list(entities))

    def since_before(self, moment: float, place: Place) -> Waiting:
        """What came, was refused, or was last asked about by the clock, before `moment`."""
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
            self._unindex_batch(batch)
            batch.unschedulable_plugins, batch.pending_plugins = refused_by
            self._index_batch(batch)
        batch.refused_at = max(batch.refused_at, entity.timestamp)
        batch.add(entity)
        self._batched += 1

    def _index_entity(self, entity: QueuedEntity) -> None:
        for key in _keys(entity, entity.place):
            self._by_rejector.setdefault(key, _Held()).entities[entity] = None

    def _unindex_entity(self, entity: QueuedEntity) -> None:
        for key in _keys(entity, entity.place):
            del self._by_rejector[key].entities[entity]
            self._drop_if_empty(key)

    def _index_batch(self, batch: Batch) -> None:
        for key in _keys(batch, Place.UNSCHEDULABLE):
            self._by_rejector.setdefault(key, _Held()).batches[batch] = None

    def _unindex_batch(self, batch: Batch) -> None:
        for key in _keys(batch, Place.UNSCHEDULABLE):
            del self._by_rejector[key].batches[batch]
            self._drop_if_empty(key)

    def _drop_if_empty(self, key: tuple[Place, Rejector]) -> None:
        found = self._by_rejector[key]
        if not (found.batches or found.entities):
            del self._by_rejector[key]


def _keys(waiting: QueuedEntity | Batch, place: Place) -> Iterator[tuple[Place, Rejector]]:
    return ((place, (waiting.profile, plugin)) for plugin in waiting.rejectors)
