"""Which entity is where: activeQ, backoffQ and unschedulablePods, with an index by pod and by group.

`EntityMoves` decides where an entity goes; this puts it there, finds it, counts, tells the metrics, and hands out
the next one. What a plugin's error leaves without a place in the order is held off in backoffQ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from math import floor

from ..contract.status import Status
from ..metrics import EntityType, SchedulerMetrics
from ..work import Pause, at_once
from .entity import Place, QueuedEntity, QueuedPodInfo
from .heaps import BackoffPolicy, BackoffQueue, LazyHeap
from .hints import QueueingHints
from .policy import GuardedPolicy, Key
from .unschedulable_pods import Batch, UnschedulablePods

_ORDERED = (Place.ACTIVE, Place.BACKOFF)
_WAITING_FOR_PLUGINS = (Place.UNSCHEDULABLE, Place.GATED)


class Places:
    """The sub-queues. An entity is in the one that its place names, unless it is on its way to another.

    Attributes:
        active_q: entities that are ready, by their sort keys.
        backoff_q: entities that are held off.
        unschedulable_pods: entities that wait for events, and gated pods.
        woken: batches of them that an event has helped, by the sort keys of their firsts.
        entity_of: the entity that each pod waits in, by UID.
        groups: the one entity of each group that has one.
        on_entry: called when something has entered a sub-queue.
    """

    def __init__(
        self,
        guarded: GuardedPolicy,
        hints: QueueingHints,
        backoff: BackoffPolicy,
        *,
        now: Callable[[], float],
        metrics: SchedulerMetrics,
        on_entry: Callable[[], None],
    ) -> None:
        self._guarded = guarded
        self._backoff = backoff
        self._now = now
        self._metrics = metrics
        self.on_entry = on_entry
        self.active_q: LazyHeap[QueuedEntity] = LazyHeap()
        self.backoff_q = BackoffQueue()
        self.unschedulable_pods = UnschedulablePods(hints)
        self.woken: LazyHeap[Batch] = LazyHeap()
        self.entity_of: dict[str, QueuedEntity] = {}
        self.groups: dict[str, QueuedEntity] = {}

    def __iter__(self) -> Iterator[tuple[QueuedPodInfo, QueuedEntity]]:
        """Every pod with the entity that it waits in."""
        return ((entity.pods[uid], entity) for uid, entity in self.entity_of.items())

    def get(self, uid: str) -> QueuedPodInfo | None:
        """The pod, if it waits."""
        entity = self.entity_of.get(uid)
        return None if entity is None else entity.pods[uid]

    def of_group(self, group: str | None) -> QueuedEntity | None:
        """The group's entity, if it has one; None is no group."""
        return None if group is None else self.groups.get(group)

    def enlist(self, entity: QueuedEntity, uids: Iterable[str] | None = None) -> None:
        """These of its pods wait in the entity from now on; all of them unless told."""
        for uid in entity.pods if uids is None else uids:
            self.entity_of[uid] = entity
        if entity.group is not None and entity.admitted:
            self.groups[entity.group] = entity

    def strike_off(self, entity: QueuedEntity) -> None:
        """The entity and its pods, if it has any left, wait no more."""
        for uid in entity.pods:
            del self.entity_of[uid]
        if entity.group is not None and entity.admitted:
            del self.groups[entity.group]

    def put(
        self,
        entity: QueuedEntity,
        place: Place,
        event: str,
        newcomers: int | None = None,
        *,
        key: Key | Status | None = None,
    ) -> None:
        """Put an entity that is in no sub-queue into one; so many of its pods are new there, all unless told."""
        self.put_back(entity, place, key)
        self.entered(entity, event, len(entity.pods) if newcomers is None else newcomers)

    def put_back(self, entity: QueuedEntity, place: Place, key: Key | Status | None = None) -> None:
        """Put an entity that is in no sub-queue into one, and tell nobody; `key` as `key_of` has found it."""
        if place in _ORDERED or (place is Place.UNSCHEDULABLE and entity.batched_by is not None):
            if key is None:
                key = self.key_of(entity)
            if isinstance(key, Status):
                self.hold_off(entity, key)
                return
            entity.sort_key, entity.sort_key_is_old = key, False
        entity.place = place
        if place is Place.ACTIVE:
            self.active_q.push(entity.sort_key, entity)
        elif place in _WAITING_FOR_PLUGINS:
            self.unschedulable_pods.add(entity)
            batch = self.unschedulable_pods.batch_of(entity)
            if batch is not None and batch.ticket and entity.sort_key < batch.sort_key:
                self.wake(batch)
        else:
            self.backoff_q.add(entity)

    def key_of(self, entity: QueuedEntity, pause: Pause = at_once) -> Key | Status:
        """The sort key of an entity: the smallest of its pods'."""
        self._forget_order_of_nobody()
        return self._guarded.sort_key(entity.pods.values(), pause)

    def hold_off(self, entity: QueuedEntity, fault: Status) -> None:
        """Put an entity that a plugin's error keeps out into ERROR_BACKOFF, and tell; for a second at least."""
        now = self._now()
        entity.timestamp = now
        entity.consecutive_errors += 1
        entity.backoff_until = max(self._backoff.until(entity), float(floor(now)))
        entity.place = Place.ERROR_BACKOFF
        self.backoff_q.add(entity)
        for pod in entity.all_pods():
            self._guarded.keeps_out(pod, fault)

    def take(self, entity: QueuedEntity) -> None:
        """Take an entity out of its sub-queue."""
        if entity.place is Place.ACTIVE:
            self.active_q.discard(entity)
        elif entity.place in _WAITING_FOR_PLUGINS:
            self.unschedulable_pods.discard(entity)
        else:
            self.backoff_q.discard(entity)

    def advance(self, entity: QueuedEntity, pods: Iterable[QueuedPodInfo], pause: Pause = at_once) -> None:
        """Move an entity forward if one of these pods, which joined it or changed, should go before it."""
        if entity.place not in _ORDERED:
            return
        key = self._guarded.sort_key(pods, pause)
        if not isinstance(key, Status) and key < entity.sort_key:
            self.take(entity)
            self.put_back(entity, entity.place)

    def wake(self, batch: Batch) -> None:
        """Let the first of a batch be tried when its turn comes."""
        if batch.ticket:
            self.woken.discard(batch)
        batch.sort_key = batch.first(self._now()).sort_key
        self.woken.push(batch.sort_key, batch)
        self.on_entry()

    def pop_woken(self) -> Batch | None:
        """Take out the batch whose first goes before those of the others; None if something active goes before it."""
        while (batch := self.woken.peek()) is not None:
            if not batch:
                self.woken.discard(batch)
            elif batch.first(self._now()).sort_key != batch.sort_key:
                self.wake(batch)
            else:
                active = self.active_q.peek()
                return self.woken.pop() if active is None or batch.sort_key < active.sort_key else None
        return None

    def pop(self) -> QueuedEntity | None:
        """Take out the entity to be tried next: the first active one, else the first rejected one that backs off."""
        return self.active_q.pop() or self.backoff_q.pop()

    def entered(self, entity: QueuedEntity, event: str, pods: int, place: Place | None = None) -> None:
        """So many pods of the entity have entered its place, or the one given: tell who wants to know."""
        kind: EntityType = "podgroup" if entity.group is not None and entity.admitted else "pod"
        queue = place or entity.place
        if queue is Place.GATED:
            queue = Place.UNSCHEDULABLE  # as kube-scheduler counts it
        self._metrics.queue_incoming(queue.queue, event, entity=kind, pods=pods)
        self.on_entry()

    def count_rejected(self, entity: QueuedEntity, change: int) -> None:
        """So many more pods are, or are not any more, held back by the plugins that rejected the entity."""
        if change:
            for plugin in entity.rejectors:
                self._metrics.unschedulable_pods.add((plugin, entity.profile), change)

    def count_pods(self) -> dict[str, int]:
        """Pods by sub-queue, named as in metrics, gated ones apart. Walks the groups, not the pods."""
        pods = self._count()
        for entity in self.groups.values():
            pods[entity.place.queue] += len(entity.pods) - 1
        return dict(pods)

    def count_entities(self) -> dict[tuple[str, EntityType], int]:
        """Entities by sub-queue and by what they are. A gated pod is one of its own."""
        groups = Counter(entity.place.queue for entity in self.groups.values())
        counts: dict[tuple[str, EntityType], int] = {}
        for queue, count in self._count().items():
            counts[queue, "pod"] = count - groups[queue]
            if queue != Place.GATED.queue:
                counts[queue, "podgroup"] = groups[queue]
        return counts

    def _forget_order_of_nobody(self) -> None:
        if not (self.active_q or self.backoff_q.count(Place.BACKOFF) or self.unschedulable_pods.has_batches):
            self._guarded.forget_order()

    def _count(self) -> Counter[str]:
        return Counter(
            {
                Place.ACTIVE.queue: len(self.active_q),
                Place.BACKOFF.queue: len(self.backoff_q),
                Place.UNSCHEDULABLE.queue: self.unschedulable_pods.count(Place.UNSCHEDULABLE),
                Place.GATED.queue: self.unschedulable_pods.count(Place.GATED),
            }
        )
