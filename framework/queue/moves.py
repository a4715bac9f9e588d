"""Moves of entities that wait or return: which of them an event or an activation moves, and which pods join a group.

`SchedulingQueue` reports what happened to entities and to single pods. This module finds the strategy, and lets
`Places` execute the move. When a member of a group becomes ready, its whole entity becomes ready.

An event may require the hints of every member of a group, and a group that becomes ready requires PreEnqueue and
QueueSort of every member, at some microseconds each. For a group of thousands, this would block the event loop.
Therefore a large group stays unschedulable until the scheduler, which calls `settle` before it pops, has called the
plugins for all members in slices. Many pods that are activated at once wait for `settle` likewise.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Sequence, Sized
from typing import NamedTuple

from ..contract.events import ASSIGNED_POD_DELETE, UNSCHEDULED_POD_ADD
from ..contract.status import Code
from ..model.pod_info import PodInfo
from ..work import checkpoint
from .batching import Batching
from .entity import QueuedEntity, QueuedPodInfo
from .hints import ObjectEvent, QueueingHints, QueueingStrategy
from .places import Places
from .policy import GuardedPolicy, QueueSettings
from .transitions import ACTIVATE, ATTEMPT_FAILURE, JOINED_GROUP, Cause, Place, Trigger, When


class _DueMove(NamedTuple):
    """The move of a large group: its strategy, its cause, and whether PreEnqueue has to be called for the members."""

    strategy: QueueingStrategy
    cause: Cause
    runs_pre_enqueue: bool


class Moves:
    """Moves entities, and single pods between them. `settle` completes what is too much to move at once.

    Attributes:
        considered: large groups whose hints `settle` has to call, each with the events that may help it.
        due: large groups that `settle` has to move.
        left: UIDs of pods that `settle` has to move, each with the cause.
    """

    def __init__(
        self,
        places: Places,
        batching: Batching,
        policy: GuardedPolicy,
        hints: QueueingHints,
        *,
        settings: QueueSettings,
        now: Callable[[], float],
    ) -> None:
        self._places = places
        self._batching = batching
        self._policy = policy
        self._hints = hints
        self._backoff = settings.backoff
        self._now = now
        self._most_at_once = settings.most_at_once
        self.considered: dict[QueuedEntity, deque[ObjectEvent]] = {}
        self.due: dict[QueuedEntity, _DueMove] = {}
        self.left: dict[str, Cause] = {}

    # Pods come and go.

    def admit(self, pod: QueuedPodInfo, place: Place, cause: Cause) -> None:
        """Let a pod that comes from `place` join its group or become an entity, or gate it."""
        group, status = self._policy.run_pre_enqueue(pod.info)
        if status is None:
            self._join(pod, group, place, QueueingStrategy.IMMEDIATELY, cause=cause)
        else:
            self._places.gate(pod, group, place, status, cause=cause)

    def _join(
        self, pod: QueuedPodInfo, group: str | None, place: Place, strategy: QueueingStrategy, *, cause: Cause
    ) -> None:
        """Let an admitted pod join its group's entity, or become an entity that moves where the strategy says."""
        entity = self._places.of_group(group)
        if entity is None:
            entity = QueuedEntity.of(pod, group, pod.timestamp, place)
            entity.backoff_until = self._backoff.until(entity)
            self._places.move_by_backoff(entity, strategy, cause)
            return
        self._places.add_pods(entity, (pod,), cause)
        sibling = ObjectEvent(UNSCHEDULED_POD_ADD, None, pod.info)
        if self.reconsider(entity, sibling):
            return
        if entity.place is Place.BACKOFF and self._hints.strategy(entity, sibling) is QueueingStrategy.IMMEDIATELY:
            self.move_to_active_q(entity, Cause(Trigger.CLUSTER_EVENT, cause.label))

    def update(self, entity: QueuedEntity, new: PodInfo, events: Sequence[ObjectEvent]) -> None:
        """Replace a pod of the entity by its new version, and move it if one of the `events` helps it."""
        pod = entity.replace(new)
        if entity.batched_by is not None and not entity.batch_is_current():
            self._batching.leave(entity)
        if self._changes_group(pod, Cause.of(events[0].event)):
            return
        self._places.advance(entity, (pod,))
        for event in events:
            if self.reconsider(entity, event) or self.ungate_if_helped(entity, event):
                break

    def remove(self, entity: QueuedEntity, uid: str) -> QueuedPodInfo:
        """Remove a pod, which no longer waits, from its entity."""
        self.left.pop(uid, None)
        pod = self._places.detach(entity, uid)
        if not entity.pods:
            self._forget(entity)
        self._batching.turn_ended(pod)
        return pod

    def _changes_group(self, pod: QueuedPodInfo, cause: Cause) -> bool:
        """Move a pod to the group that it now belongs to; whether that is another group than before."""
        uid = pod.info.uid
        entity = self._places.entity_of[uid]
        if self._policy.entity_group(pod.info) == entity.group:
            return False
        place = entity.place
        self.admit(self.remove(entity, uid), place, cause)
        return True

    def join_group_if_any(self, entity: QueuedEntity) -> bool:
        """Move a single pod into the group that it now belongs to; returns whether it moved.

        The pod was ready, so its group becomes ready too.
        """
        [(uid, pod)] = entity.pods.items()
        group = self._policy.entity_group(pod.info)
        if group is None:
            return False
        place = entity.place
        self._places.detach(entity, uid)
        self._join(pod, group, place, QueueingStrategy.IMMEDIATELY, cause=JOINED_GROUP)
        self._batching.turn_ended(pod)
        by_now = self._places.entity_of[uid]
        if by_now.place is Place.UNSCHEDULABLE:
            self.move_by_strategy(by_now, QueueingStrategy.AFTER_BACKOFF, JOINED_GROUP)
        return True

    def merge(self, waiting: QueuedEntity, failed: QueuedEntity, strategy: QueueingStrategy) -> None:
        """Let pods that failed join the entity `waiting` that their siblings have formed since."""
        if waiting.place is Place.UNSCHEDULABLE:
            self._places.take_out(waiting)
            waiting.absorb(failed)
            self.move_by_strategy(waiting, strategy, ATTEMPT_FAILURE, len(failed.pods))
            return
        self._places.run_pre_enqueue(failed, ATTEMPT_FAILURE, checkpoint)
        if failed.pods:
            self._places.add_pods(waiting, failed.pods.values(), ATTEMPT_FAILURE, checkpoint)
        if strategy is QueueingStrategy.IMMEDIATELY and waiting.place is not Place.ACTIVE:
            self.move_to_active_q(waiting, ATTEMPT_FAILURE)

    # An event helps entities and gated pods.

    def reconsider(self, entity: QueuedEntity, event: ObjectEvent) -> bool:
        """Move the entity if it is unschedulable and the event helps it; whether it was moved."""
        if entity.place is not Place.UNSCHEDULABLE or self._is_reserved_by_nomination(entity, event):
            return False
        if not entity.pending_plugins and self._group_lacks_capacity(entity):  # cheaper than calling hints
            return False
        if self.are_many(entity.pods) and self._hints.needs_each_member(entity, event):
            self.considered.setdefault(entity, deque()).append(event)
            self._places.on_entry()
            return False
        return self._move_if_helped(entity, event)

    def _move_if_helped(self, entity: QueuedEntity, event: ObjectEvent) -> bool:
        """Move an unschedulable entity if hints say so; whether it was moved."""
        pends, strategy = bool(entity.pending_plugins), self._hints.strategy(entity, event)
        if strategy is QueueingStrategy.SKIP or (
            pends and strategy is QueueingStrategy.AFTER_BACKOFF and self._group_lacks_capacity(entity)
        ):
            return False
        self.move_by_strategy(entity, strategy, Cause.of(event.event))
        return True

    def _is_reserved_by_nomination(self, entity: QueuedEntity, event: ObjectEvent) -> bool:
        """Whether the freed capacity is for other pods, because this pod is nominated to another node."""
        if event.event is not ASSIGNED_POD_DELETE or entity.group is not None or not isinstance(event.old, PodInfo):
            return False
        [pod] = entity.pods.values()
        return self._policy.unguarded.is_nominated_elsewhere(pod.info, event.old.node_name)

    def _group_lacks_capacity(self, entity: QueuedEntity) -> bool:
        return entity.group is not None and self._policy.lacks_capacity(entity)

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
            self._places.detach(entity, uid)
            if pod.attempts == 0:
                pod.first_seen = self._now()
            self._join(pod, group, place, strategy, cause=cause)
            return True
        if place is not Place.GATED or status.code is Code.ERROR or status.plugin != gating_plugin:
            self._places.take_out(entity)
            self._places.move_gated(entity, status, cause, entering=0)
        return False

    # Pods are activated, or have waited too long.

    def move_each(self, uids: Collection[str], cause: Cause) -> None:
        """Move each of these pods: ACTIVATE makes it ready; for TIMEOUT, PreEnqueue is called again if it is gated."""
        if cause is not ACTIVATE:  # which does more
            uids = [uid for uid in uids if uid not in self.left]
        if self.are_many(uids):
            self.left.update(dict.fromkeys(uids, cause))
            self._places.on_entry()
            return
        for uid in uids:
            self._move(uid, cause)

    def _move(self, uid: str, cause: Cause) -> None:
        entity = self._places.entity_of.get(uid)
        if entity is None:
            return
        if cause is ACTIVATE:
            self._activate(entity, uid)
        elif entity.place is Place.GATED:
            self.ungate(entity, QueueingStrategy.AFTER_BACKOFF, cause)

    def _activate(self, entity: QueuedEntity, uid: str) -> None:
        """Make a pod ready with the group that it now belongs to; a gated pod only if PreEnqueue admits it."""
        if entity.admitted:
            self._changes_group(entity.pods[uid], ACTIVATE)
        else:
            self.ungate(entity, QueueingStrategy.IMMEDIATELY, ACTIVATE)
        entity = self._places.entity_of[uid]
        if not entity.admitted or entity.place is Place.ACTIVE:
            return
        if entity.place is Place.UNSCHEDULABLE:
            self.move_by_strategy(entity, QueueingStrategy.IMMEDIATELY, ACTIVATE)
        else:
            self.move_to_active_q(entity, ACTIVATE)

    # Entities move, at once or later.

    def move_by_strategy(
        self, entity: QueuedEntity, strategy: QueueingStrategy, cause: Cause, entering: int | None = None
    ) -> None:
        """Move an entity where the strategy says, without the pods that PreEnqueue gates.

        `entering`: how many of its pods enter unschedulablePods, for the metrics; by default all.
        """
        if strategy is QueueingStrategy.SKIP:
            self._places.move(entity, cause, When.NOT_HELPED, entering=entering)
        elif self.are_many(entity.pods):
            self._move_later(entity, strategy, cause)
        else:
            self._places.enter(entity, strategy, cause)
            self._forget(entity)

    def move_to_active_q(self, entity: QueuedEntity, cause: Cause) -> None:
        """Make an entity that backs off active. PreEnqueue was called for its pods when backoff began."""
        if self.are_many(entity.pods):
            self._move_later(entity, QueueingStrategy.IMMEDIATELY, cause, runs_pre_enqueue=False)
        else:
            self._places.move(entity, cause, When.READY)

    def are_many(self, pods: Sized) -> bool:
        """Whether there are too many pods to call plugins for all of them at once."""
        return len(pods) > self._most_at_once

    def _move_later(
        self, entity: QueuedEntity, strategy: QueueingStrategy, cause: Cause, *, runs_pre_enqueue: bool = True
    ) -> None:
        """Let `settle` move a large group, unless a move that is due is as soon."""
        self._places.move(entity, cause, When.LARGE)
        known = self.due.get(entity)
        if known is None or known.strategy < strategy:
            self.due[entity] = _DueMove(
                strategy, cause, runs_pre_enqueue or (known is not None and known.runs_pre_enqueue)
            )
        self._places.on_entry()

    def settle(self) -> None:
        """Complete the moves of many pods and of large groups. The queue must not be called meanwhile.

        The call may be aborted: at each checkpoint every pod is in exactly one place, and the rest stays due.
        """
        for uid, cause in [*self.left.items()]:
            self._move(uid, cause)
            self.left.pop(uid, None)
            checkpoint()
        while self.considered:
            entity, events = next(iter(self.considered.items()))
            while events and entity.place is Place.UNSCHEDULABLE and self._may_go_sooner(entity):
                self._move_if_helped(entity, events[0])
                events.popleft()
            self.considered.pop(entity, None)
        while self.due:
            entity, move = next(iter(self.due.items()))
            go = self._places.enter if move.runs_pre_enqueue else self._places.move_by_backoff
            go(entity, move.strategy, move.cause, checkpoint)
            self._forget(entity)

    def _may_go_sooner(self, entity: QueuedEntity) -> bool:
        """Whether an event can still change when the group moves."""
        move = self.due.get(entity)
        return move is None or (bool(entity.pending_plugins) and move.strategy < QueueingStrategy.IMMEDIATELY)

    def _forget(self, entity: QueuedEntity) -> None:
        """The entity has moved, or has no pods left."""
        self.due.pop(entity, None)
        self.considered.pop(entity, None)
