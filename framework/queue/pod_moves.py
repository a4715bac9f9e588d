"""Moves of single pods in the queue: a pod changes, joins another group, is activated, or leaves.

`SchedulingQueue` reports what happened to a pod; `Moves` and `Batching` move its entity. When a member of a group
becomes ready, its whole entity becomes ready.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ..model.pod_info import PodInfo
from ..work import checkpoint
from .batching import Batching
from .entity import QueuedEntity, QueuedPodInfo
from .hints import QueueingStrategy
from .in_flight import ObjectEvent
from .moves import Moves
from .policy import GuardedPolicy
from .sub_queues import SubQueues
from .transitions import ACTIVATE, JOINED_GROUP, Cause, Place


class PodMoves:
    """Moves single pods. If many pods have to move at once, `settle` moves them in slices.

    Attributes:
        left: UIDs of pods that `settle` has to move, each with the cause.
    """

    def __init__(self, sub_queues: SubQueues, moves: Moves, batching: Batching, policy: GuardedPolicy) -> None:
        self._sub_queues = sub_queues
        self._moves = moves
        self._batching = batching
        self._policy = policy
        self.left: dict[str, Cause] = {}

    def update(self, entity: QueuedEntity, new: PodInfo, events: Sequence[ObjectEvent]) -> None:
        """Replace a pod of the entity by its new version, and move it if one of the `events` helps it."""
        pod = entity.replace(new)
        if entity.batched_by is not None and not entity.batched_by_what_it_is():
            self._batching.leave(entity)
        if self._changes_group(pod, Cause.of(events[0].event)):
            return
        self._sub_queues.advance(entity, (pod,))
        for event in events:
            if self._moves.reconsider(entity, event) or self._moves.ungate_if_helped(entity, event):
                break

    def remove(self, entity: QueuedEntity, uid: str) -> QueuedPodInfo:
        """Remove a pod, which no longer waits, from its entity."""
        self.left.pop(uid, None)
        pod = self._moves.detach(entity, uid)
        self._batching.attempt_ended(pod)
        return pod

    def join_group_if_any(self, entity: QueuedEntity) -> bool:
        """Move a single pod into the group that it now belongs to; returns whether it moved.

        The pod was ready, so its group becomes ready too.
        """
        [(uid, pod)] = entity.pods.items()
        group = self._policy.group_of(pod.info)
        if group is None:
            return False
        place = entity.place
        self._moves.detach(entity, uid)
        self._moves.join(pod, group, place, QueueingStrategy.IMMEDIATELY, cause=JOINED_GROUP)
        self._batching.attempt_ended(pod)
        by_now = self._sub_queues.entity_of[uid]
        if by_now.place is Place.UNSCHEDULABLE:
            self._moves.move_by_strategy(by_now, QueueingStrategy.AFTER_BACKOFF, JOINED_GROUP)
        return True

    def move_each(self, uids: Collection[str], cause: Cause) -> None:
        """Move each of these pods: ACTIVATE makes it ready; for TIMEOUT, PreEnqueue is called again if it is gated."""
        if cause is not ACTIVATE:  # which does more
            uids = [uid for uid in uids if uid not in self.left]
        if self._moves.are_many(uids):
            self.left.update(dict.fromkeys(uids, cause))
            self._sub_queues.on_entry()
            return
        for uid in uids:
            self._move(uid, cause)

    def settle(self) -> None:
        """Move the pods in `left`. The call may be given up; pods that have not moved stay in `left`."""
        for uid, cause in [*self.left.items()]:
            self._move(uid, cause)
            self.left.pop(uid, None)
            checkpoint()

    def _move(self, uid: str, cause: Cause) -> None:
        entity = self._sub_queues.entity_of.get(uid)
        if entity is None:
            return
        if cause is ACTIVATE:
            self._activate(entity, uid)
        elif entity.place is Place.GATED:
            self._moves.ungate(entity, QueueingStrategy.AFTER_BACKOFF, cause)

    def _activate(self, entity: QueuedEntity, uid: str) -> None:
        """Make a pod ready with the group that it now belongs to; a gated pod only if PreEnqueue admits it."""
        if entity.admitted:
            self._changes_group(entity.pods[uid], ACTIVATE)
        else:
            self._moves.ungate(entity, QueueingStrategy.IMMEDIATELY, ACTIVATE)
        entity = self._sub_queues.entity_of[uid]
        if not entity.admitted or entity.place is Place.ACTIVE:
            return
        if entity.place is Place.UNSCHEDULABLE:
            self._moves.move_by_strategy(entity, QueueingStrategy.IMMEDIATELY, ACTIVATE)
        else:
            self._moves.move_to_active_q(entity, ACTIVATE)

    def _changes_group(self, pod: QueuedPodInfo, cause: Cause) -> bool:
        """Move a pod to the group that it now belongs to; whether that is another group than before."""
        uid = pod.info.uid
        entity = self._sub_queues.entity_of[uid]
        if self._policy.group_of(pod.info) == entity.group:
            return False
        place = entity.place
        self._moves.admit(self.remove(entity, uid), place, cause)
        return True
