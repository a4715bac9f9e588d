"""Moves of entities that wait or return: which condition holds, which pods PreEnqueue gates, which pods join a group.

`SchedulingQueue` and `Batching` report what happened. This module calls plugins, and lets `SubQueues` execute the move
that the table names. A pod that PreEnqueue gates, or that cannot enter because a plugin failed, waits alone, even if it
belongs to a group, until plugins are called again and admit it.

An event may require the hints of every member of a group, and a group that becomes ready requires PreEnqueue and
QueueSort of every member, at some microseconds each. For a group of thousands, this would block the event loop.
Therefore a large group stays unschedulable until the scheduler, which calls `settle` before it pops, has called the
plugins for all members in slices.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sized
from typing import NamedTuple

from ..contract.events import ASSIGNED_POD_DELETE, UNSCHEDULED_POD_ADD
from ..contract.status import Code, Status
from ..model.pod_info import PodInfo
from ..work import Pause, at_once, checkpoint
from .entity import QueuedEntity, QueuedPodInfo
from .heaps import backing_off
from .hints import QueueingHints, QueueingStrategy
from .in_flight import ObjectEvent
from .policy import GuardedPolicy, QueueSettings
from .sub_queues import SubQueues
from .transitions import ATTEMPT_FAILURE, Cause, Place, Trigger, When


class _DueMove(NamedTuple):
    """The move of a large group: its strategy, its cause, and whether PreEnqueue has to be called for the members."""

    strategy: QueueingStrategy
    cause: Cause
    asks: bool


class Moves:
    """Moves entities as a whole, or without the pods that PreEnqueue gates.

    Attributes:
        considered: large groups whose hints `settle` has to call, each with the events that may help it.
        due: large groups that `settle` has to move.
    """

    def __init__(
        self,
        sub_queues: SubQueues,
        policy: GuardedPolicy,
        hints: QueueingHints,
        settings: QueueSettings,
        *,
        now: Callable[[], float],
    ) -> None:
        self._sub_queues = sub_queues
        self._policy = policy
        self._hints = hints
        self._backoff = settings.backoff
        self._now = now
        self._most_at_once = settings.most_at_once
        self.considered: dict[QueuedEntity, deque[ObjectEvent]] = {}
        self.due: dict[QueuedEntity, _DueMove] = {}

    # Entities move.

    def reconsider(self, entity: QueuedEntity, event: ObjectEvent) -> bool:
        """Move the entity if it is unschedulable and the event helps it; whether it was moved."""
        if entity.place is not Place.UNSCHEDULABLE or self._is_for_others(entity, event):
            return False
        if not entity.pending_plugins and self._group_lacks_capacity(entity):  # cheaper than calling hints
            return False
        if self.are_many(entity.pods) and self._hints.asks_each(entity, event):
            self.considered.setdefault(entity, deque()).append(event)
            self._sub_queues.on_entry()
            return False
        return self._move_if_helped(entity, event)

    def move_by_strategy(
        self, entity: QueuedEntity, strategy: QueueingStrategy, cause: Cause, entering: int | None = None
    ) -> None:
        """Move an entity where the strategy says, without the pods that PreEnqueue gates.

        `entering`: how many of its pods enter unschedulablePods, for the metrics; by default all.
        """
        if strategy is QueueingStrategy.SKIP:
            self._sub_queues.move(entity, cause, When.NOT_HELPED, entering=entering)
        elif self.are_many(entity.pods):
            self._move_later(entity, strategy, cause)
        else:
            self.run_pre_enqueue(entity, cause)
            if entity.pods:
                self._move_whole(entity, strategy, cause)

    def move_to_active_q(self, entity: QueuedEntity, cause: Cause) -> None:
        """Make an entity that backs off active. PreEnqueue was called for its pods when backoff began."""
        if self.are_many(entity.pods):
            self._move_later(entity, QueueingStrategy.IMMEDIATELY, cause, asks=False)
        else:
            self._sub_queues.move(entity, cause, When.READY)

    def lacks_capacity(self, entity: QueuedEntity) -> bool:
        """Whether an attempt would fail because the nodes do not have the capacity that the entity needs."""
        may_evict = entity.group is None or not self._policy.asked.awaits_victims(entity.all_pods())
        return not self._policy.asked.has_capacity(
            entity.group, entity.one_per_signature(), entity.rejectors, may_evict=may_evict
        )

    def _move_if_helped(self, entity: QueuedEntity, event: ObjectEvent) -> bool:
        """Move an unschedulable entity if hints say so; whether it was moved."""
        pends, strategy = bool(entity.pending_plugins), self._hints.strategy(entity, event)
        if strategy is QueueingStrategy.SKIP or (
            pends and strategy is QueueingStrategy.AFTER_BACKOFF and self._group_lacks_capacity(entity)
        ):
            return False
        self.move_by_strategy(entity, strategy, Cause.of(event.event))
        return True

    def _move_whole(
        self, entity: QueuedEntity, strategy: QueueingStrategy, cause: Cause, pause: Pause = at_once
    ) -> None:
        """Move an entity with all its pods where the strategy says, with a pause after each call of QueueSort."""
        when = self._when(entity, strategy)
        asks = pause is not at_once and when is not When.BACKING_OFF_AFTER_ERROR
        found = self._sub_queues.key_of(entity, pause) if asks else None
        self._sub_queues.move(entity, cause, when, found=found)
        self._forget(entity)

    def _when(self, entity: QueuedEntity, strategy: QueueingStrategy) -> When:
        if strategy is QueueingStrategy.IMMEDIATELY or not backing_off(entity, self._now()):
            return When.READY
        return When.BACKING_OFF_AFTER_ERROR if entity.consecutive_errors else When.BACKING_OFF

    def _is_for_others(self, entity: QueuedEntity, event: ObjectEvent) -> bool:
        """Whether the freed capacity is for other pods, because this pod is nominated to another node."""
        if event.event is not ASSIGNED_POD_DELETE or entity.group is not None or not isinstance(event.old, PodInfo):
            return False
        [pod] = entity.pods.values()
        return self._policy.asked.is_nominated_elsewhere(pod.info, event.old.node_name)

    def _group_lacks_capacity(self, entity: QueuedEntity) -> bool:
        return entity.group is not None and self.lacks_capacity(entity)

    # Large groups move later.

    def are_many(self, pods: Sized) -> bool:
        """Whether there are too many pods to call plugins for all of them at once."""
        return len(pods) > self._most_at_once

    def settle(self) -> None:
        """Complete the moves of large groups. The queue must not be called meanwhile.

        The call may be given up: at each checkpoint every pod is in exactly one place, and the rest stays due.
        """
        while self.considered:
            entity, events = next(iter(self.considered.items()))
            while events and entity.place is Place.UNSCHEDULABLE and self._may_go_sooner(entity):
                self._move_if_helped(entity, events[0])
                events.popleft()
            self.considered.pop(entity, None)
        while self.due:
            entity, move = next(iter(self.due.items()))
            if move.asks:
                self.run_pre_enqueue(entity, move.cause, checkpoint)
            if entity.pods:
                self._move_whole(entity, move.strategy, move.cause, checkpoint)

    def _move_later(self, entity: QueuedEntity, strategy: QueueingStrategy, cause: Cause, *, asks: bool = True) -> None:
        """Let `settle` move a large group, unless a move that is due is as soon."""
        self._sub_queues.move(entity, cause, When.LARGE)
        known = self.due.get(entity)
        if known is None or known.strategy < strategy:
            self.due[entity] = _DueMove(strategy, cause, asks or (known is not None and known.asks))
        self._sub_queues.on_entry()

    def _may_go_sooner(self, entity: QueuedEntity) -> bool:
        """Whether an event can still change when the group moves."""
        move = self.due.get(entity)
        return move is None or (bool(entity.pending_plugins) and move.strategy < QueueingStrategy.IMMEDIATELY)

    def _forget(self, entity: QueuedEntity) -> None:
        """The entity has moved, or has no pods left."""
        self.due.pop(entity, None)
        self.considered.pop(entity, None)

    # Pods join entities, and leave them.

    def admit(self, pod: QueuedPodInfo, place: Place, cause: Cause) -> None:
        """Let a pod that comes from `place` join its group or become an entity, or gate it."""
        group, status = self._policy.run_pre_enqueue(pod.info)
        if status is None:
            self.join(pod, group, place, QueueingStrategy.IMMEDIATELY, cause=cause)
        else:
            self._gate(pod, group, place, status, cause=cause)

    def join(
        self, pod: QueuedPodInfo, group: str | None, place: Place, strategy: QueueingStrategy, *, cause: Cause
    ) -> None:
        """Let an admitted pod join its group's entity, or become an entity that moves where the strategy says."""
        entity = self._sub_queues.of_group(group)
        if entity is None:
            entity = QueuedEntity.of(pod, group, pod.timestamp, place)
            entity.backoff_until = self._backoff.until(entity)
            self._move_whole(entity, strategy, cause)
            return
        self._sub_queues.add_pods(entity, (pod,), cause)
        sibling = ObjectEvent(UNSCHEDULED_POD_ADD, None, pod.info)
        if self.reconsider(entity, sibling):
            return
        if entity.place is Place.BACKOFF and self._hints.strategy(entity, sibling) is QueueingStrategy.IMMEDIATELY:
            self.move_to_active_q(entity, Cause(Trigger.CLUSTER_EVENT, cause.label))

    def merge(self, waiting: QueuedEntity, failed: QueuedEntity, strategy: QueueingStrategy) -> None:
        """Let pods that failed join the entity `waiting` that their siblings have formed since."""
        if waiting.place is Place.UNSCHEDULABLE:
            self._sub_queues.take_out(waiting)
            waiting.absorb(failed)
            self.move_by_strategy(waiting, strategy, ATTEMPT_FAILURE, len(failed.pods))
            return
        self.run_pre_enqueue(failed, ATTEMPT_FAILURE, checkpoint)
        if failed.pods:
            self._sub_queues.add_pods(waiting, failed.pods.values(), ATTEMPT_FAILURE, checkpoint)
        if strategy is QueueingStrategy.IMMEDIATELY and waiting.place is not Place.ACTIVE:
            self.move_to_active_q(waiting, ATTEMPT_FAILURE)

    def detach(self, entity: QueuedEntity, uid: str) -> QueuedPodInfo:
        """Take a pod out of its entity."""
        pod = self._sub_queues.detach(entity, uid)
        if not entity.pods:
            self._forget(entity)
        return pod

    # PreEnqueue.

    def run_pre_enqueue(self, entity: QueuedEntity, cause: Cause, pause: Pause = at_once) -> None:
        """Gate the pods of an entity that PreEnqueue does not admit."""
        place = entity.place
        for uid, pod in [*entity.pods.items()]:
            group, status = self._policy.run_pre_enqueue(pod.info)
            if status is not None:
                self._gate(self.detach(entity, uid), group, place, status, cause=cause)
            pause()

    def ungate_if_helped(self, entity: QueuedEntity, event: ObjectEvent) -> bool:
        """Admit a gated pod if the event helps it and no other plugin gates it; whether it was admitted."""
        if entity.admitted or self._hints.strategy(entity, event) is QueueingStrategy.SKIP:
            return False
        return self.ungate(entity, QueueingStrategy.AFTER_BACKOFF, Cause.of(event.event))

    def ungate(self, entity: QueuedEntity, strategy: QueueingStrategy, cause: Cause) -> bool:
        """Run PreEnqueue again for a pod that is gated or that failed there, and admit it if it may enter.

        Returns whether the pod was admitted.
        """
        [(uid, pod)] = entity.pods.items()
        place, gating_plugin = entity.place, next(iter(entity.unschedulable_plugins), "")
        group, status = self._policy.run_pre_enqueue(pod.info, gating_plugin)
        if status is None:
            self.detach(entity, uid)
            if pod.attempts == 0:
                pod.first_seen = self._now()
            self.join(pod, group, place, strategy, cause=cause)
            return True
        if place is not Place.GATED or status.code is Code.ERROR or status.plugin != gating_plugin:
            self._sub_queues.take_out(entity)
            self._move_gated(entity, status, cause, entering=0)
        return False

    def _gate(self, pod: QueuedPodInfo, group: str | None, place: Place, status: Status, *, cause: Cause) -> None:
        """Gate a pod that comes from `place`."""
        entity = QueuedEntity.of(pod, None, pod.timestamp, place)
        entity.group, entity.admitted = group, False
        self._move_gated(entity, status, cause)

    def _move_gated(self, entity: QueuedEntity, status: Status, cause: Cause, entering: int | None = None) -> None:
        """Move a pod that is in no sub-queue and that PreEnqueue does not admit where the status says."""
        if status.code is Code.ERROR:
            entity.unschedulable_plugins = frozenset()
            self._sub_queues.move(entity, cause, When.FAILED, found=status, entering=entering)
        else:
            entity.unschedulable_plugins = frozenset({status.plugin})
            self._sub_queues.move(entity, cause, When.NOT_LET_IN, entering=entering)
