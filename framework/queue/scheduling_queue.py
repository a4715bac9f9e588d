"""The scheduling queue: accepts pods without a node, returns the next entity to try, and takes back what failed.

The event handlers report pods and all other cluster events, the scheduler pops entities and returns failed pods, and
the operator's loop calls `flush` at `next_deadline`. All calls come from one thread and return at once; the queue never
waits and holds no timer. `transitions` has its places and moves as a table. Guarantees:

1. From its addition until it is done or deleted, a pod is in exactly one place. No pod is lost or duplicated.
2. All waiting pods of a group are one entity, whenever each of them arrived or returned. A gated pod waits alone.
3. PreEnqueue runs before a pod enters ACTIVE or a BACKOFF, but not on the way from backoff to ACTIVE.
4. An event that occurs while a pod is in flight and may help it counts when the pod returns.
5. Of equal pods that no node can take, one is tried for all; the next pod is tried when the first has found a node.
6. `on_ready` is called whenever an entity enters a sub-queue, because the answers of `pop` and `next_deadline` may
   change.
7. A failure of a plugin delays only the pod for which it was called, and is reported.

Hints, PreEnqueue and `on_ready` are called while the queue changes, and must not call it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterable

from ..contract.events import FORCE_ACTIVATE, ClusterEvent, pod_update_events
from ..contract.handle import Clock
from ..contract.plugin import QueuedPod
from ..contract.status import Status
from ..error_log import ErrorLog
from ..metrics import SchedulerMetrics
from ..model.pod_info import PodInfo
from ..work import checkpoint
from .batching import Batching
from .contents import QueueContents, QueuePosition
from .entity import QueuedEntity, QueuedPodInfo, Rejection
from .hints import ObjectEvent, QueueingHints, QueueingStrategy
from .in_flight import InFlightPods
from .moves import Moves
from .places import Places
from .policy import GuardedPolicy, QueuePolicy, QueueSettings
from .sub_queues import Batch
from .tenants import TenantOrder
from .transitions import (
    ACTIVATE,
    ATTEMPT_FAILURE,
    BACKOFF_COMPLETE,
    POD_ADD,
    POP,
    REFILE,
    REVIEW,
    TIMEOUT,
    Cause,
    Place,
)

log = logging.getLogger(__name__)

SWEEP_SECONDS = 30.0
"""How often the time limit of unschedulable and gated pods is checked (`flushUnschedulableEntitiesLeftover`)."""
_MOST_REORDERED = 2_000
"""A larger group keeps its position after pods have left it: computing its sort key again would take too long."""


class SchedulingQueue:
    """The queue of all profiles.

    Attributes:
        contents: the pods that are in it.
        is_exhausted: whether `pop` and `settle` have nothing to do until an entity enters a sub-queue.
    """

    def __init__(
        self,
        policy: QueuePolicy,
        settings: QueueSettings,
        *,
        clock: Clock,
        metrics: SchedulerMetrics,
        on_ready: Callable[[], None],
        tenants: TenantOrder | None = None,
    ) -> None:
        """`on_ready` wakes the caller of `pop`, is called often and must be cheap. `tenants` says whose turn it is."""
        self._now = now = clock.now
        self._settings = settings
        errors = ErrorLog(log, now)
        self._hints = hints = QueueingHints(policy, errors)
        self._policy = guarded = GuardedPolicy(policy, errors)
        self._places = places = Places(
            guarded, hints, settings.backoff, now=now, metrics=metrics, on_entry=self._entered, order=tenants
        )
        self._batching = batching = Batching(places, guarded, hints, now=now)
        self._moves = Moves(places, batching, guarded, hints, settings=settings, now=now)
        self._in_flight = InFlightPods(hints)
        self.contents = QueueContents(places, self._in_flight)
        self._next_sweep = now()
        self._on_ready = on_ready
        self.is_exhausted = False

    def _entered(self) -> None:
        self.is_exhausted = False
        self._on_ready()

    # Pods come, change and go.

    def add(self, info: PodInfo) -> None:
        """Add a pod that has to be scheduled. A pod that is already in the queue is updated."""
        known = self.contents.get(info.uid)
        if known is not None:
            self.update(known.info, info)
            return
        now = self._now()
        self._moves.admit(QueuedPodInfo(info, now, now), Place.NOWHERE, POD_ADD)

    def update(self, old: PodInfo, new: PodInfo) -> None:
        """A pod without a node changed; a pod not in the queue is added. Must not be called for an assumed pod.

        A pod in flight keeps its version until it returns.
        """
        if old.uid != new.uid:
            self.remove(old)
            self.add(new)
            return
        flying, entity = self._in_flight.get(new.uid), self._places.entity_of.get(new.uid)
        events = [ObjectEvent(event, old, new, new.uid) for event in pod_update_events(old, new)]
        if flying is not None:
            flying.update = new
            for each in events:
                self._in_flight.record(each)
        elif entity is None:
            self.add(new)
        else:
            self._moves.update(entity, new, events)

    def remove(self, info: PodInfo) -> None:
        """Remove a pod that was deleted, or that has a node. If it is in flight, it does not return."""
        flying, entity = self._in_flight.get(info.uid), self._places.entity_of.get(info.uid)
        if flying is not None:
            flying.deleted = True
            self.done(info.uid)
        elif entity is not None:
            self._moves.remove(entity, info.uid)

    # Attempts begin and end.

    def pop(self) -> QueuedEntity | None:
        """The entity to try next, its pods now in flight; None if nothing is ready, or only after `settle`.

        For each of its pods `done`, `requeue` or `remove` must follow.
        """
        self._places.refresh_turns()
        entity = self._next()
        if entity is None:
            return None
        self._places.move(entity, POP)
        self._places.active_q.serve(entity, self._now())
        entity.begin_attempt()
        self._in_flight.begin(entity)
        return entity

    @property
    def is_unsettled(self) -> bool:
        """Whether `settle` is to be called before `pop`."""
        return bool(self._moves.left or self._moves.due or self._moves.considered)

    def settle(self) -> None:
        """Complete the moves of large groups that were woken, and of many pods that were activated.

        The queue must not be called meanwhile. The call may be aborted: the rest stays due.
        """
        self._moves.settle()

    def done(self, uid: str) -> None:
        """The pod's attempt has ended, or no event matters to it any more. The pod may still be requeued."""
        pod = self._in_flight.get(uid)
        if pod is not None:
            self._in_flight.end(uid)
            self._batching.turn_ended(pod)

    def found_node(self, uid: str) -> None:
        """The pod, which is in flight, is assumed on a node: there may be capacity for other equal pods."""
        pod = self._in_flight.get(uid)
        if pod is not None:
            self._batching.turn_ended(pod)

    def requeue(self, pods: Iterable[QueuedPod], rejection: Rejection) -> None:
        """Return pods that failed in one attempt for one reason, whether they are in flight or done.

        Pods of a group join its waiting entity, or become its entity. A pod that was deleted in flight, or that has
        returned already, is left out. Changes and deletion of a pod after `done` are for the caller to notice.

        A pod stays in flight until it waits. Must not be aborted halfway; the queue must not be called meanwhile.
        Raises TypeError for a pod that `pop` did not return.
        """
        now, flying = self._now(), self._in_flight
        returning: dict[str, QueuedPodInfo] = {}
        for pod in map(_handed_out, pods):
            if pod.info.uid not in returning and self._may_return(pod):
                returning[pod.info.uid] = pod
                if flying.get(pod.info.uid) is not None:
                    pod.info = pod.update or pod.info
                pod.update = None
                pod.failed(now, rejection)
            checkpoint()
        profiles = {pod.info.pod.spec.scheduler_name for pod in returning.values()}
        # Read before the pods leave the flight: events that no other pod in flight may have missed are dropped then.
        missed = flying.missed(filter(flying.get, returning), self._hints.concerning(profiles, rejection))
        for entity in self._regroup(returning.values(), now):
            if not rejection.by_error:
                entity.unschedulable_plugins = rejection.unschedulable_plugins
                entity.pending_plugins = rejection.pending_plugins
            entity.backoff_until = self._settings.backoff.until(entity)
            strategy = self._hints.strategy_after(entity, missed)
            for uid in entity.pods:
                flying.end(uid)
            waiting = self._places.of_group(entity.group)
            if waiting is not None:
                self._moves.merge(waiting, entity, strategy)
                continue
            if rejection.no_node and entity.group is None:
                self._batching.assign(entity, strategy)
            self._moves.move_by_strategy(entity, strategy, ATTEMPT_FAILURE)
            checkpoint()
        for pod in returning.values():
            self._batching.turn_ended(pod)

    def _next(self) -> QueuedEntity | None:
        """The entity to try next, which stays in its place; None if there is none."""
        while True:
            if self._places.woken:
                self._batching.release_first_in_turn()
            entity = self._places.first()
            if entity is None:
                self.is_exhausted = not self.is_unsettled
                return None
            if entity.sort_key_is_old and len(entity.pods) <= _MOST_REORDERED:
                self._places.move(entity, REFILE)  # the pod that left may have been the first
            elif entity.group is None and self._moves.join_group_if_any(entity):
                if self._moves.due or self._moves.considered:  # its turn may be next
                    return None
            elif entity.group is not None or not self._batching.call_off(entity):
                return entity

    def _may_return(self, pod: QueuedPodInfo) -> bool:
        """Whether the pod is in flight as this object, or in no place without having been deleted."""
        flying = self._in_flight.get(pod.info.uid)
        if flying is not None:
            return flying is pod
        return not pod.deleted and pod.info.uid not in self._places.entity_of

    def _regroup(self, pods: Iterable[QueuedPodInfo], now: float) -> list[QueuedEntity]:
        entities: list[QueuedEntity] = []
        by_group: dict[str, QueuedEntity] = {}
        for pod in pods:
            group = self._policy.entity_group(pod.info)
            checkpoint()
            if group is not None and group in by_group:
                by_group[group].add(pod)
                continue
            entity = QueuedEntity.of(pod, group, now, Place.IN_FLIGHT)
            entities.append(entity)
            if group is not None:
                by_group[group] = entity
        return entities

    # Events occur, pods are activated, and time passes.

    def move_all(self, event: ClusterEvent, old: object, new: object, *, except_uid: str = "") -> None:
        """An event occurred: move the entities that it may help, except the one with the pod `except_uid`.

        Costs next to nothing if no pod waits for such an event.
        """
        unschedulable_pods = self._places.unschedulable_pods
        waits, flies = bool(unschedulable_pods), bool(self._in_flight)
        if not (flies or waits):
            return
        happened = ObjectEvent(event, old, new)
        if flies:
            self._in_flight.record(happened)
        if waits:
            batches, entities = unschedulable_pods.concerned_by(event, Place.UNSCHEDULABLE)
            for entity in entities:
                if except_uid not in entity.pods:
                    self._moves.reconsider(entity, happened)
            for batch in batches:
                self._batching.reconsider(batch, happened)
            _, gated = unschedulable_pods.concerned_by(event, Place.GATED)
            for entity in gated:
                self._moves.ungate_if_helped(entity, happened)

    def activate(self, pods: Iterable[PodInfo]) -> None:
        """Make these pods ready, with their current groups, wherever they wait.

        A pod in flight does not wait for an event when it returns. If there are many, `settle` makes them ready.
        """
        waiting: list[str] = []
        for info in pods:
            if info.uid in self._places.entity_of:
                waiting.append(info.uid)
            elif self._in_flight.get(info.uid) is not None:
                self._in_flight.record(ObjectEvent(FORCE_ACTIVATE, None, info, info.uid))
        self._moves.move_each(waiting, ACTIVATE)

    def flush(self, now: float) -> None:
        """Make ready the entities whose backoff is over, and retry those that have waited too long for an event.

        Pods that cannot enter because a plugin failed are reported here, so that a standby, which does not flush,
        reports none.
        """
        while (entity := self._places.backoff_q.completed(now)) is not None:
            if entity.admitted:
                self._moves.move_to_active_q(entity, BACKOFF_COMPLETE)
            else:
                self._moves.ungate(entity, QueueingStrategy.IMMEDIATELY, BACKOFF_COMPLETE)
        if now >= self._next_sweep:
            self._next_sweep = now + SWEEP_SECONDS
            self._time_out(now)
        if self._policy.unreported:
            self._policy.report_failures(self._places.entity_of.__contains__)

    def flush_is_due(self, now: float) -> bool:
        """Whether `flush` would do anything at `now`."""
        completion = self._places.backoff_q.next_completion()
        return now >= self._next_sweep or (completion is not None and completion <= now)

    def pop_is_due(self) -> bool:
        """Whether `pop` may find an entity, or `settle` has anything to do."""
        waiting = self._places
        return bool(waiting.active_q or waiting.woken or waiting.backoff_q.first()) or self.is_unsettled

    def next_deadline(self) -> float | None:
        """When `flush` has to be called next, seconds on the engine's clock; None if nothing waits for a time."""
        completion = self._places.backoff_q.next_completion()
        if not self._places.unschedulable_pods:
            return completion
        return self._next_sweep if completion is None else min(completion, self._next_sweep)

    def try_again(self, waiting: QueuedEntity | Batch, cause: Cause = REVIEW) -> None:
        """Retry unschedulable pods after their backoff, although no event has helped them; of a batch the first pod."""
        if isinstance(waiting, Batch):
            waiting.first(self._now()).flushed = True
            self._batching.release_first(waiting, QueueingStrategy.AFTER_BACKOFF, cause)
        else:
            waiting.flushed = True
            self._moves.move_by_strategy(waiting, QueueingStrategy.AFTER_BACKOFF, cause)

    def _time_out(self, now: float) -> None:
        """Retry the entities that have waited for an event for longer than the limit."""
        limit, unschedulable_pods = now - self._settings.unschedulable_seconds, self._places.unschedulable_pods
        _, gated = unschedulable_pods.since_before(limit, Place.GATED)
        batches, entities = unschedulable_pods.since_before(limit, Place.UNSCHEDULABLE)
        for waiting in entities:
            self.try_again(waiting, TIMEOUT)
        for batch in batches:
            self.try_again(batch, TIMEOUT)
        for entity in gated:
            entity.timestamp = now
        self._moves.move_each([uid for each in gated for uid in each.pods], TIMEOUT)

    # Queries.

    def sort_key(self, pod: QueuedPod) -> tuple[Hashable, ...] | Status:
        """The pod's sort key: the pod with the smallest key is tried first. An ERROR if it has none."""
        return self._policy.sort_key((pod,))

    def position_of(self, uid: str) -> QueuePosition | None:
        """How the pod waits; None if it does not."""
        limit = self._settings.unschedulable_seconds
        return self.contents.position_of(uid, now=self._now(), sweep=self._next_sweep, limit=limit)


def _handed_out(queued: QueuedPod) -> QueuedPodInfo:
    if not isinstance(queued, QueuedPodInfo):
        raise TypeError(f"pod {queued.info.key} was not handed out by the queue")
    return queued
