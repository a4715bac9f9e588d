"""Single pods in the queue: a pod changes, joins another group, is activated, or leaves.

`SchedulingQueue` reports what happened to a pod; `Moves` and `Batching` move its entity. When a member of a group
becomes ready, its whole entity does.
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
    """Pods and groups in the sub-queues. Many that are to move in one go are left to `settle`.

    Attributes:
        left: UIDs of pods that `settle` is to move, each with the cause.
    """

    def __init__(self, sub_queues: SubQueues, moves: Moves, batching: Batching, policy: GuardedPolicy) -> None:
        self._sub_queues = sub_queues
        self._moves = moves
        self._batching = batching
        self._policy = policy
        self.left: dict[str, Cause] = {}

    def update(self, entity: QueuedEntity, new: PodInfo, events: Sequence[ObjectEvent]) -> None:
        """A pod of the entity changed in these ways."""
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
        """A pod of the entity does not wait any more."""
        self.left.pop(uid, None)
        pod = self._moves.detach(entity, uid)
        self._batching.attempt_ended(pod)
        return pod

    def join_group_if_any(self, entity: QueuedEntity) -> bool:
        """Let a pod that was to be tried by itself, but is to be tried with a group by now, join that; whether it did.

        Whatever made the pod ready makes its group ready.
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
        """Move each of these pods: ACTIVATE makes it ready, with TIMEOUT plugins are asked again what gates it."""
        if cause is not ACTIVATE:  # which does more
            uids = [uid for uid in uids if uid not in self.left]
        if self._moves.are_many(uids):
            self.left.update(dict.fromkeys(uids, cause))
            self._sub_queues.on_entry()
            return
        for uid in uids:
            self._move(uid, cause)

    def settle(self) -> None:
        """Move those that are left. It may be given up: who has not moved is left."""
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
        """Make a pod ready with the group it belongs to by now, or see whether a gated one may join."""
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
        """Let a pod that belongs to another group by now go there; whether it did."""
        uid = pod.info.uid
        entity = self._sub_queues.entity_of[uid]
        if self._policy.group_of(pod.info) == entity.group:
            return False
        place = entity.place
        self._moves.admit(self.remove(entity, uid), place, cause)
        return True
