"""activeQ, backoffQ and unschedulablePods, with an index by pod and by group: which entity waits in which place.

`Moves` and `Batching` name the trigger of a move and the condition that holds. This module finds the target in the
table, puts the entity there, counts it, and returns what is next. An entity that has no place in the order because of a
plugin's error goes to backoffQ.

Guarantees: a waiting entity is in exactly the sub-queue that its place names, its pods are in the index, and it is
counted for the plugins that hold it back. An entity that does not wait is in no sub-queue; its place is the one it came
from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from math import floor

from ..contract.status import Status
from ..metrics import EntityType, SchedulerMetrics
from ..work import Pause, at_once
from .entity import QueuedEntity, QueuedPodInfo
from .heaps import BackoffPolicy, BackoffQueue, LazyHeap
from .hints import QueueingHints
from .policy import GuardedPolicy, Key
from .transitions import REFILE, REMOVE, Cause, Place, When, transition
from .unschedulable_pods import Batch, UnschedulablePods

_ORDERED = (Place.ACTIVE, Place.BACKOFF)
_WAITING_FOR_PLUGINS = (Place.UNSCHEDULABLE, Place.GATED)
_OUTSIDE = (Place.NOWHERE, Place.IN_FLIGHT)


class SubQueues:
    """The queues in which pods and groups wait.

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
        policy: GuardedPolicy,
        hints: QueueingHints,
        backoff: BackoffPolicy,
        *,
        now: Callable[[], float],
        metrics: SchedulerMetrics,
        on_entry: Callable[[], None],
    ) -> None:
        self._policy = policy
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

    # Moves.

    def move(
        self,
        entity: QueuedEntity,
        cause: Cause,
        when: When = When.ALWAYS,
        *,
        found: Key | Status | None = None,
        entering: int | None = None,
    ) -> None:
        """Move an entity from its place to where the table says, whether it waits there or only comes from there.

        `found` is its sort key, if that is known, or the ERROR that keeps it out. `entering` is how many of its pods
        count as entering its new place, all of them by default. Raises IllegalMove before anything has changed.
        """
        row = transition(entity.key, cause.trigger, entity.place, when)
        waits = self._waits(entity)
        if waits:
            self._take(entity)
        target = row.target
        if target in _ORDERED or (target is Place.UNSCHEDULABLE and entity.batched_by is not None):
            key = self.key_of(entity) if found is None else found
            if isinstance(key, Status):
                row, found = transition(entity.key, cause.trigger, entity.place, When.FAILED), key
            else:
                entity.sort_key, entity.sort_key_is_old = key, False
        if isinstance(found, Status):
            self._strike(entity, found)
        entity.place = row.target
        self._put(entity)
        if row.target in _OUTSIDE:
            self._unlist(entity)
        elif not waits:
            self._list(entity)
        if row.counted_as and entering != 0:
            self._report(entity, row.counted_as, cause.label, len(entity.pods) if entering is None else entering)

    def take_out(self, entity: QueuedEntity) -> None:
        """Take out an entity that is to be changed. It does not wait until it is moved, from its place."""
        self._take(entity)
        self._unlist(entity)

    def detach(self, entity: QueuedEntity, uid: str) -> QueuedPodInfo:
        """Take a pod out of an entity, whether that waits or not. With its last pod an entity that waits goes."""
        if self.entity_of.get(uid) is entity:
            if len(entity.pods) == 1:
                self.move(entity, REMOVE)
            else:
                del self.entity_of[uid]
                self.count_rejected(entity, -1)
        return entity.remove(uid)

    def add_pods(
        self, entity: QueuedEntity, pods: Iterable[QueuedPodInfo], cause: Cause, pause: Pause = at_once
    ) -> None:
        """Let pods wait in an entity that does."""
        joining = list(pods)
        for pod in joining:
            entity.add(pod)
            self.entity_of[pod.info.uid] = entity
        self.count_rejected(entity, len(joining))
        self.advance(entity, joining, pause)
        self._report(entity, entity.place.queue, cause.label, len(joining))

    def advance(self, entity: QueuedEntity, pods: Iterable[QueuedPodInfo], pause: Pause = at_once) -> None:
        """Move an entity forward if one of these pods, which joined it or changed, should go before it."""
        if entity.place not in _ORDERED:
            return
        key = self._policy.sort_key(pods, pause)
        if not isinstance(key, Status) and key < entity.sort_key:
            self.move(entity, REFILE)

    def key_of(self, entity: QueuedEntity, pause: Pause = at_once) -> Key | Status:
        """The sort key of an entity: the smallest of its pods'."""
        if not (self.active_q or self.backoff_q.count(Place.BACKOFF) or self.unschedulable_pods.has_batches):
            self._policy.forget_order()
        return self._policy.sort_key(entity.pods.values(), pause)

    # What is next.

    def first(self) -> QueuedEntity | None:
        """The entity to be tried next: the first active one, else the first rejected one that backs off."""
        return self.active_q.peek() or self.backoff_q.first()

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

    # Counts.

    def count_rejected(self, entity: QueuedEntity, change: int) -> None:
        """So many more pods are, or are not any more, held back by the plugins that rejected the entity."""
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

    def _count(self) -> Counter[str]:
        return Counter(
            {
                Place.ACTIVE.queue: len(self.active_q),
                Place.BACKOFF.queue: len(self.backoff_q),
                Place.UNSCHEDULABLE.queue: self.unschedulable_pods.count(Place.UNSCHEDULABLE),
                Place.GATED.queue: self.unschedulable_pods.count(Place.GATED),
            }
        )

    def _report(self, entity: QueuedEntity, queue: str, label: str, pods: int) -> None:
        kind: EntityType = "podgroup" if entity.group is not None and entity.admitted else "pod"
        self._metrics.queue_incoming(queue, label, entity=kind, pods=pods)
        self.on_entry()

    # Parts of a move.

    def _waits(self, entity: QueuedEntity) -> bool:
        return self.entity_of.get(next(iter(entity.pods))) is entity

    def _list(self, entity: QueuedEntity) -> None:
        for uid in entity.pods:
            self.entity_of[uid] = entity
        if entity.group is not None and entity.admitted:
            self.groups[entity.group] = entity
        self.count_rejected(entity, len(entity.pods))

    def _unlist(self, entity: QueuedEntity) -> None:
        for uid in entity.pods:
            del self.entity_of[uid]
        if entity.group is not None and entity.admitted:
            del self.groups[entity.group]
        self.count_rejected(entity, -len(entity.pods))

    def _take(self, entity: QueuedEntity) -> None:
        if entity.place is Place.ACTIVE:
            self.active_q.discard(entity)
        elif entity.place in _WAITING_FOR_PLUGINS:
            self.unschedulable_pods.discard(entity)
        else:
            self.backoff_q.discard(entity)

    def _put(self, entity: QueuedEntity) -> None:
        place = entity.place
        if place is Place.ACTIVE:
            self.active_q.push(entity.sort_key, entity)
        elif place in _WAITING_FOR_PLUGINS:
            self.unschedulable_pods.add(entity)
            batch = self.unschedulable_pods.batch_of(entity)
            if batch is not None and batch.ticket and entity.sort_key < batch.sort_key:
                self.wake(batch)
        elif place not in _OUTSIDE:
            self.backoff_q.add(entity)

    def _strike(self, entity: QueuedEntity, error: Status) -> None:
        """A plugin's error keeps the entity out, for a second at least."""
        now = self._now()
        entity.timestamp = now
        entity.consecutive_errors += 1
        entity.backoff_until = max(self._backoff.until(entity), float(floor(now)))
        for pod in entity.all_pods():
            self._policy.keeps_out(pod, error)
