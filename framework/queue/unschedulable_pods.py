"""unschedulablePods: entities that wait for an event, and pods that a PreEnqueue plugin does not let in.

Both wait for plugins, so both are found by the plugins that they wait for: an event then costs a look at each plugin
that holds anything back, not at each pod.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..contract.events import ClusterEvent
from .entity import Place, QueuedEntity
from .hints import QueueingHints, Rejector


class UnschedulablePods:
    """Entities by the plugins that rejected or gate them. An entity's plugins must not change while it is here."""

    __slots__ = ("_by_rejector", "_entities", "_hints")

    def __init__(self, hints: QueueingHints) -> None:
        self._hints = hints
        self._entities: dict[Place, dict[QueuedEntity, None]] = {Place.UNSCHEDULABLE: {}, Place.GATED: {}}
        self._by_rejector: dict[tuple[Place, Rejector], dict[QueuedEntity, None]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._entities.values()))

    def count(self, place: Place) -> int:
        """How many entities are unschedulable, or gated."""
        return len(self._entities[place])

    def add(self, entity: QueuedEntity) -> None:
        """Let an entity wait; its place says whether it is gated."""
        self._entities[entity.place][entity] = None
        for key in _keys(entity):
            self._by_rejector.setdefault(key, {})[entity] = None

    def discard(self, entity: QueuedEntity) -> None:
        """Take out an entity that is here."""
        del self._entities[entity.place][entity]
        for key in _keys(entity):
            entities = self._by_rejector[key]
            del entities[entity]
            if not entities:
                del self._by_rejector[key]

    def concerned_by(self, event: ClusterEvent, place: Place) -> list[QueuedEntity]:
        """Entities of which a plugin registered for the event, each once, in the order they came."""
        found: dict[QueuedEntity, None] = {}
        for (where, rejector), entities in self._by_rejector.items():
            if where is place and self._hints.concerns(rejector, event):
                found.update(entities)
        return list(found)

    def since_before(self, moment: float, place: Place) -> list[QueuedEntity]:
        """Entities that came, or were last asked about by the clock, before `moment`."""
        return [entity for entity in self._entities[place] if entity.timestamp < moment]


def _keys(entity: QueuedEntity) -> Iterator[tuple[Place, Rejector]]:
    return ((entity.place, (entity.profile, plugin)) for plugin in entity.rejectors)
