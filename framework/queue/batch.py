"""A batch: pods alike that no node could take, and which of them is tried next.

`UnschedulablePods` keeps them, `Batching` decides when one of a batch is tried.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field

from ..model.pod_info import EquivalenceClass, PodSignature
from .backoff_queue import backing_off
from .entity import QueuedEntity, QueuedPodInfo
from .heap import LazyHeap
from .hints import QueueingStrategy


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
        strategy: where the event that woke the batch sends its pods.
        event: the label of that event.
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
    event: str = ""
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
        """Every plugin that turned away the last of them that was tried."""
        return self.unschedulable_plugins | self.pending_plugins

    def add(self, entity: QueuedEntity) -> None:
        """One more pod waits here. Until `first` is asked, its backoff counts as not over."""
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
