"""Where each pod waits, and the execution of each move: PreEnqueue, the table, the sub-queues, the counts.

`Moves` and `Batching` name the entity, the trigger, and the strategy that follows from hints. `enter` runs PreEnqueue
and chooses between activeQ and backoffQ. `move` looks up the target in the table, puts the entity there, and counts it.
A pod that PreEnqueue gates, or that cannot enter because a plugin failed, waits alone, even if it belongs to a group;
an entity without a sort key, because a plugin failed, goes to backoffQ.

Guarantees: a waiting entity is in exactly the sub-queue that its place names, its pods are in the index, and it is
counted for the plugins that rejected or gate it. An entity that does not wait is in no sub-queue; its place is the one
that it came from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import floor

from ..contract.status import Code, Status
from ..metrics import EntityType, SchedulerMetrics
from ..model.pod_info import PodInfo
from ..work import Pause, at_once
from .entity import QueuedEntity, QueuedPodInfo
from .hints import QueueingHints, QueueingStrategy
from .policy import BackoffPolicy, GuardedPolicy, Key
from .sub_queues import BackoffQueue, Batch, UnschedulablePods
from .tenants import TenantHeap, TenantOrder
from .transitions import REFILE, REMOVE, Cause, Place, When, transition

_ORDERED = (Place.ACTIVE, Place.BACKOFF)
_WAITING_FOR_PLUGINS = (Place.UNSCHEDULABLE, Place.GATED)
_OUTSIDE = (Place.NOWHERE, Place.IN_FLIGHT)


class Places:
    """The sub-queues, with an index by pod and by group; executes moves.

    Attributes:
        active_q: entities that are ready, by their sort keys.
        backoff_q: entities whose backoff is not over.
        unschedulable_pods: entities that wait for events, and gated pods.
        woken: batches that an event has helped, by the sort keys of their first pods.
        entity_of: the entity in which each pod waits, by UID.
        groups: the entity of each group with waiting members.
        on_entry: called when an entity has entered a sub-queue.
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
        order: TenantOrder | None = None,
    ) -> None:
        self._policy = policy
        self._backoff = backoff
        self._now = now
        self._metrics = metrics
        self.on_entry = on_entry
        self._order = order
        self.active_q: TenantHeap[QueuedEntity] = TenantHeap(order, _first_pod)
        self.backoff_q = BackoffQueue()
        self.unschedulable_pods = UnschedulablePods(hints)
        self.woken: TenantHeap[Batch] = TenantHeap(
            order, lambda batch: _first_pod(batch.first(now())) if batch else None
        )
        self.entity_of: dict[str, QueuedEntity] = {}
        self.groups: dict[str, QueuedEntity] = {}

    def of_group(self, group: str | None) -> QueuedEntity | None:
        """The entity of a group; None without a group, and for a group that has no entity."""
        return None if group is None else self.groups.get(group)

    # Entities enter, through PreEnqueue.

    def enter(self, entity: QueuedEntity, strategy: QueueingStrategy, cause: Cause, pause: Pause = at_once) -> None:
        """Move an entity to activeQ or backoffQ, without the pods that PreEnqueue gates. It may have no pods then."""
        self.run_pre_enqueue(entity, cause, pause)
        if entity.pods:
            self.move_by_backoff(entity, strategy, cause, pause)

    def run_pre_enqueue(self, entity: QueuedEntity, cause: Cause, pause: Pause = at_once) -> None:
        """Gate the pods of an entity that PreEnqueue does not admit."""
        place = entity.place
        for uid, pod in [*entity.pods.items()]:
            group, status = self._policy.run_pre_enqueue(pod.info)
            if status is not None:
                self.gate(self.detach(entity, uid), group, place, status, cause=cause)
            pause()

    def gate(self, pod: QueuedPodInfo, group: str | None, place: Place, status: Status, *, cause: Cause) -> None:
        """Gate a pod that comes from `place`."""
        entity = QueuedEntity.of(pod, None, pod.timestamp, place)
        entity.group, entity.admitted = group, False
        self.move_gated(entity, status, cause)

    def move_gated(self, entity: QueuedEntity, status: Status, cause: Cause, entering: int | None = None) -> None:
        """Move a pod that is in no sub-queue and that PreEnqueue does not admit where the status says."""
        if status.code is Code.ERROR:
            entity.unschedulable_plugins = frozenset()
            self.move(entity, cause, When.FAILED, found=status, entering=entering)
        else:
            entity.unschedulable_plugins = frozenset({status.plugin})
            self.move(entity, cause, When.GATED, entering=entering)

    def move_by_backoff(
        self, entity: QueuedEntity, strategy: QueueingStrategy, cause: Cause, pause: Pause = at_once
    ) -> None:
        """Move an admitted entity to backoffQ if the strategy and its backoff say so, else to activeQ.

        There is a pause after each call of QueueSort.
        """
        when = When.READY
        if strategy is not QueueingStrategy.IMMEDIATELY and entity.is_backing_off(self._now()):
            when = When.BACKING_OFF_AFTER_ERROR if entity.consecutive_errors else When.BACKING_OFF
        sorts_now = pause is not at_once and when is not When.BACKING_OFF_AFTER_ERROR
        found = self.key_of(entity, pause) if sorts_now else None
        self.move(entity, cause, when, found=found)

    # Entities move, and pods join and leave them.

    def move(
        self,
        entity: QueuedEntity,
        cause: Cause,
        when: When = When.ALWAYS,
        *,
        found: Key | Status | None = None,
        entering: int | None = None,
    ) -> None:
        """Move an entity from its place, where it waits or from which it comes, to where the table says.

        `found` is its sort key, if known, or the ERROR because of which it cannot enter. `entering` is the number of
        pods that count as entering the new place, by default all. Raises IllegalMove before anything has changed.
        """
        row = transition(entity.key, cause.trigger, entity.place, when)
        waits = self.entity_of.get(next(iter(entity.pods))) is entity
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
            self._back_off_after_error(entity, found)
        entity.place = row.target
        self._put(entity)
        if row.target in _OUTSIDE:
            self._unlist(entity)
        elif not waits:
            self._list(entity)
        if row.counted_as and entering != 0:
            self._report(entity, row.counted_as, cause.label, len(entity.pods) if entering is None else entering)

    def take_out(self, entity: QueuedEntity) -> None:
        """Take out an entity in order to change it. It is in no sub-queue until it is moved from its place."""
        self._take(entity)
        self._unlist(entity)

    def detach(self, entity: QueuedEntity, uid: str) -> QueuedPodInfo:
        """Take a pod out of an entity, whether the entity waits or not. A waiting entity leaves with its last pod."""
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
        """Add pods to a waiting entity."""
        joining = list(pods)
        for pod in joining:
            entity.add(pod)
            self.entity_of[pod.info.uid] = entity
        self.count_rejected(entity, len(joining))
        self.advance(entity, joining, pause)
        self._report(entity, entity.place.queue, cause.label, len(joining))

    def advance(self, entity: QueuedEntity, pods: Iterable[QueuedPodInfo], pause: Pause = at_once) -> None:
        """Move an entity forward if one of these pods, which joined it or changed, has a smaller sort key."""
        if entity.place not in _ORDERED:
            return
        key = self._policy.sort_key(pods, pause)
        if not isinstance(key, Status) and key < entity.sort_key:
            self.move(entity, REFILE)

    def key_of(self, entity: QueuedEntity, pause: Pause = at_once) -> Key | Status:
        """The sort key of an entity: the smallest key of its pods; an ERROR if none has one."""
        if not (self.active_q or self.backoff_q.count(Place.BACKOFF) or self.unschedulable_pods.has_batches):
            self._policy.forget_order()
        return self._policy.sort_key(entity.pods.values(), pause)

    # What is next.

    def first(self) -> QueuedEntity | None:
        """The entity to try next: the first active one, else the first rejected one that backs off."""
        return self.active_q.peek(self._now()) or self.backoff_q.first()

    def refresh_turns(self) -> None:
        """Note whose turn may have changed. Called before each pop."""
        tenants = () if self._order is None else self._order.tenants_moved()
        if tenants is None or tenants:
            self.active_q.moved(tenants)
            self.woken.moved(tenants)

    def wake(self, batch: Batch) -> None:
        """Put a batch into the heap of woken batches, or to its present position there."""
        if batch.ticket:
            self.woken.discard(batch)
        batch.sort_key = batch.first(self._now()).sort_key
        self.woken.push(batch.sort_key, batch)
        self.on_entry()

    def pop_woken(self) -> Batch | None:
        """Take out the woken batch whose first pod is first, or overdue; None if an active entity comes first."""
        now = self._now()
        while (batch := self.woken.peek(now)) is not None:
            if not batch:
                self.woken.discard(batch)
            elif batch.first(now).sort_key != batch.sort_key:
                self.wake(batch)
            else:
                active = self.active_q.peek(now)
                is_first = active is None or self.woken.order_of(batch) < self.active_q.order_of(active)
                if not (is_first or self.woken.is_overdue(now)):
                    return None
                self.woken.discard(batch)
                self.woken.serve(batch, now)
                return batch
        return None

    # Parts of a move.

    def count_rejected(self, entity: QueuedEntity, change: int) -> None:
        """Count `change` more or fewer pods for each plugin that rejected or gates the entity."""
        for plugin in entity.rejectors:
            self._metrics.unschedulable_pods.add((plugin, entity.profile), change)

    def _report(self, entity: QueuedEntity, queue: str, label: str, pods: int) -> None:
        kind: EntityType = "podgroup" if entity.group is not None and entity.admitted else "pod"
        self._metrics.queue_incoming(queue, label, entity=kind, pods=pods)
        self.on_entry()

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

    def _back_off_after_error(self, entity: QueuedEntity, error: Status) -> None:
        """Back off an entity because a plugin failed, for a second at least."""
        now = self._now()
        entity.timestamp = now
        entity.consecutive_errors += 1
        entity.backoff_until = max(self._backoff.until(entity), float(floor(now)))
        for pod in entity.all_pods():
            self._policy.note_entry_failure(pod, error)


def _first_pod(entity: QueuedEntity) -> PodInfo:
    """The pod by which the tenant of an entity and its turn are found: all pods of a group are in one namespace."""
    return next(iter(entity.pods.values())).info
