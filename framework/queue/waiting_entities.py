"""Entities that wait: pods join them, change and leave, and events may help them.

The scheduling queue owns it and tells it what happens; `EntityMoves`, which has the moves as a table, puts entities
where they belong.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from ..contract.events import UNSCHEDULED_POD_ADD, ClusterEvent
from ..model.pod_info import PodInfo
from ..work import Pause, at_once, checkpoint
from .entity import Place, QueuedEntity, QueuedPodInfo, Rejection
from .entity_moves import EntityMoves
from .hints import QueueingHints, QueueingStrategy
from .in_flight import InFlightEvents, ObjectEvent
from .kept_out import KeptOutPods
from .places import Places
from .policy import GuardedPolicy, QueuePolicy, QueueSettings
from .unschedulable_pods import Batch

SCHEDULE_ATTEMPT_FAILURE = "ScheduleAttemptFailure"
POP_FROM_BACKOFF = "PopFromBackoffQ"
BACKOFF_COMPLETE = "BackoffComplete"
JOINED_GROUP = "JoinedGroup"

_MOST_REORDERED = 2_000
"""A larger group that was first in the order before pods of it left is tried as the first."""


class WaitingEntities:
    """What waits. Whatever enters a sub-queue is counted."""

    def __init__(
        self,
        places: Places,
        guarded: GuardedPolicy,
        hints: QueueingHints,
        policy: QueuePolicy,
        settings: QueueSettings,
        *,
        now: Callable[[], float],
    ) -> None:
        self._guarded = guarded
        self._hints = hints
        self._backoff = settings.backoff
        self._now = now
        self.places = places
        self._kept_out = KeptOutPods(places, guarded, hints, now, self.remove, self._join)
        self._moves = EntityMoves(
            places, self._kept_out, hints, policy, settings.most_at_once, now=now, remove=self.remove
        )
        self.batching = self._moves.batching
        self.large_groups = self._moves.large_groups

    # Pods come, change and go.

    def admit(self, pod: QueuedPodInfo, event: str) -> None:
        """Let a pod that is nowhere join, or keep it out."""
        group, status = self._guarded.run_pre_enqueue(pod.info)
        if status is None:
            self._join(pod, group, QueueingStrategy.IMMEDIATELY, event)
        else:
            self._kept_out.keep_out(pod, group, status, event)

    def come_back(
        self,
        pods: Collection[QueuedPodInfo],
        rejection: Rejection,
        missed: Sequence[InFlightEvents],
        landed: Callable[[str], None],
    ) -> None:
        """Let pods that failed together, and whose counts and timestamps say so, wait again.

        `landed` is told the UID of each as it comes to wait.
        """
        for entity in self._regroup(pods):
            if not rejection.by_error:
                entity.unschedulable_plugins = rejection.unschedulable_plugins
                entity.pending_plugins = rejection.pending_plugins
            entity.backoff_until = self._backoff.until(entity)
            strategy = self._hints.strategy_after(entity, missed)
            for uid in entity.pods:
                landed(uid)
            waiting = self.places.of_group(entity.group)
            if waiting is not None:
                self._merge(waiting, entity, strategy)
                continue
            self.places.enlist(entity)
            self.places.count_rejected(entity, len(entity.pods))
            if rejection.no_node and entity.group is None:
                self.batching.join(entity, strategy)
            self._moves.requeue(entity, strategy, SCHEDULE_ATTEMPT_FAILURE)
            checkpoint()
        for pod in pods:
            self.batching.attempt_ended(pod)

    def update(self, new: PodInfo, events: Sequence[ObjectEvent]) -> None:
        """A pod that waits here changed in these ways."""
        entity = self.places.entity_of[new.uid]
        pod = entity.replace(new)
        if entity.batched_by is not None and not entity.batched_by_what_it_is():
            self.batching.leave(entity)
        if self._changes_group(pod, events[0].event.label):
            return
        self.places.advance(entity, (pod,))
        for event in events:
            if self._moves.reconsider(entity, event) or self._kept_out.ask_again(entity, event):
                break

    def remove(self, uid: str) -> QueuedPodInfo:
        """Take out a pod that waits here."""
        entity = self.places.entity_of.pop(uid)
        self.places.count_rejected(entity, -1)
        if len(entity.pods) == 1:
            self.places.take(entity)
        pod = entity.remove(uid)
        self.large_groups.forget(uid)
        if not entity.pods:
            self.places.strike_off(entity)
            self.large_groups.dissolve(entity)
        self.batching.attempt_ended(pod)
        return pod

    def pop(self) -> QueuedEntity | None:
        """Take out the entity to be tried next."""
        while True:
            self.batching.release_first_in_turn()
            entity = self.places.pop()
            if entity is None:
                return None
            if entity.sort_key_is_old and len(entity.pods) <= _MOST_REORDERED:
                # without the pod that left it may belong further back
                self.places.put_back(entity, entity.place)
            elif entity.group is None and self._joined_group(entity):
                if self.large_groups:  # its turn may be next
                    return None
            elif entity.group is None and self.batching.called_off(entity):
                self.places.put_back(entity, Place.UNSCHEDULABLE)
            else:
                break
        if entity.place is Place.BACKOFF:
            self.places.entered(entity, POP_FROM_BACKOFF, len(entity.pods), Place.ACTIVE)
        self.places.strike_off(entity)
        self.places.count_rejected(entity, -len(entity.pods))
        entity.unschedulable_plugins = entity.pending_plugins = frozenset()
        return entity

    # Things happen.

    def happened(self, event: ObjectEvent, besides: str) -> None:
        """Move those whom it may help, but not the entity of the pod `besides`."""
        unschedulable_pods = self.places.unschedulable_pods
        batches, entities = unschedulable_pods.concerned_by(event.event, Place.UNSCHEDULABLE)
        for entity in entities:
            if besides not in entity.pods:
                self._moves.reconsider(entity, event)
        for batch in batches:
            self.batching.reconsider(batch, event)
        for entity in unschedulable_pods.concerned_by(event.event, Place.GATED).entities:
            self._kept_out.ask_again(entity, event)

    def activate(self, uid: str, event: str) -> None:
        """Make a pod ready with the group it belongs to by now, or see whether one that was kept out may join."""
        entity = self.places.entity_of[uid]
        if entity.admitted:
            self._changes_group(entity.pods[uid], event)
        else:
            self._kept_out.let_in(entity, QueueingStrategy.IMMEDIATELY, event)
        entity = self.places.entity_of[uid]
        if not entity.admitted or entity.place is Place.ACTIVE:
            return
        if entity.place is Place.UNSCHEDULABLE:
            self._moves.release(entity, QueueingStrategy.IMMEDIATELY, event)
        else:
            self._moves.move_to_active_q(entity, event)

    def backoff_completed(self, now: float) -> None:
        """Move the entities whose backoff is over to activeQ; ask again about pods that an error kept out."""
        while (entity := self.places.backoff_q.completed(now)) is not None:
            if entity.admitted:
                self._moves.move_to_active_q(entity, BACKOFF_COMPLETE)
            else:
                self._kept_out.let_in(entity, QueueingStrategy.IMMEDIATELY, BACKOFF_COMPLETE)

    def try_again(self, waiting: QueuedEntity | Batch, event: str) -> None:
        """Try what is unschedulable once its backoff is over, though nothing has helped it; of a batch the first."""
        if isinstance(waiting, Batch):
            waiting.first(self._now()).flushed = True
            self.batching.release_first(waiting, QueueingStrategy.AFTER_BACKOFF, event)
        else:
            waiting.flushed = True
            self._moves.release(waiting, QueueingStrategy.AFTER_BACKOFF, event)

    def time_out(self, now: float, limit: float, event: str) -> None:
        """Try again whatever has waited for an event for more than `limit` seconds."""
        unschedulable_pods = self.places.unschedulable_pods
        gated = unschedulable_pods.since_before(now - limit, Place.GATED).entities
        batches, entities = unschedulable_pods.since_before(now - limit, Place.UNSCHEDULABLE)
        for entity in entities:
            self.try_again(entity, event)
        for batch in batches:
            self.try_again(batch, event)
        for entity in gated:
            entity.timestamp = now
        uids = [uid for entity in gated for uid in entity.pods if uid not in self.large_groups]
        if self.large_groups.are_many(uids):
            self.large_groups.one_by_one(uids, lambda uid: self._time_out_gated(uid, event))
            return
        for uid in uids:
            self._time_out_gated(uid, event)

    def _time_out_gated(self, uid: str, event: str) -> None:
        entity = self.places.entity_of[uid]
        if entity.place is Place.GATED:
            self._kept_out.let_in(entity, QueueingStrategy.AFTER_BACKOFF, event)

    def concerns(self, pods: Iterable[QueuedPodInfo], rejection: Rejection) -> Callable[[ClusterEvent], bool]:
        """Whether an event may help pods that come back with this rejection."""
        plugins = () if rejection.by_error else rejection.unschedulable_plugins | rejection.pending_plugins
        profiles = {pod.info.pod.spec.scheduler_name for pod in pods}
        rejectors = [(profile, plugin) for profile in profiles for plugin in plugins]
        return lambda event: any(self._hints.concerns(rejector, event) for rejector in rejectors)

    # Entities are made and joined.

    def _changes_group(self, pod: QueuedPodInfo, event: str) -> bool:
        """Let a waiting pod that belongs to another group by now go there; whether it did."""
        uid = pod.info.uid
        if self._guarded.group_of(pod.info) == self.places.entity_of[uid].group:
            return False
        self.admit(self.remove(uid), event)
        return True

    def _regroup(self, pods: Iterable[QueuedPodInfo]) -> list[QueuedEntity]:
        entities: list[QueuedEntity] = []
        by_group: dict[str, QueuedEntity] = {}
        for pod in pods:
            group = self._guarded.group_of(pod.info)
            checkpoint()
            if group is not None and group in by_group:
                by_group[group].add(pod)
                continue
            entity = QueuedEntity.of(pod, group, self._now())
            entities.append(entity)
            if group is not None:
                by_group[group] = entity
        return entities

    def _join(self, pod: QueuedPodInfo, group: str | None, strategy: QueueingStrategy, event: str) -> None:
        """Let a pod that may enter join its group's entity, or become an entity and go where the strategy says."""
        entity = self.places.of_group(group)
        if entity is None:
            entity = QueuedEntity.of(pod, group, pod.timestamp)
            entity.backoff_until = self._backoff.until(entity)
            self.places.enlist(entity)
            self._moves.settle(entity, strategy, event)
            return
        self._add_pods(entity, (pod,), event)
        sibling = ObjectEvent(UNSCHEDULED_POD_ADD, None, pod.info)
        if self._moves.reconsider(entity, sibling):
            return
        if entity.place is Place.BACKOFF and self._hints.strategy(entity, sibling) is QueueingStrategy.IMMEDIATELY:
            self._moves.move_to_active_q(entity, event)

    def _joined_group(self, entity: QueuedEntity) -> bool:
        """Let a pod that was to be tried by itself, but is to be tried with a group by now, join that; whether it did.

        The entity is in no sub-queue. Whatever made the pod ready makes its group ready.
        """
        [(uid, pod)] = entity.pods.items()
        group = self._guarded.group_of(pod.info)
        if group is None:
            return False
        del self.places.entity_of[uid]
        self.places.count_rejected(entity, -1)
        self._join(entity.remove(uid), group, QueueingStrategy.IMMEDIATELY, JOINED_GROUP)
        self.batching.attempt_ended(pod)
        by_now = self.places.entity_of[uid]
        if by_now.place is Place.UNSCHEDULABLE:
            self._moves.release(by_now, QueueingStrategy.AFTER_BACKOFF, JOINED_GROUP)
        return True

    def _merge(self, waiting: QueuedEntity, failed: QueuedEntity, strategy: QueueingStrategy) -> None:
        """Let pods that failed, in an entity of their own, join what their siblings have made of the group since."""
        event = SCHEDULE_ATTEMPT_FAILURE
        if waiting.place is Place.UNSCHEDULABLE:
            self.places.take(waiting)
            self.places.count_rejected(waiting, -len(waiting.pods))
            waiting.absorb(failed)
            self.places.enlist(waiting, failed.pods)
            self.places.count_rejected(waiting, len(waiting.pods))
            self._moves.requeue(waiting, strategy, event, newcomers=len(failed.pods))
            return
        self._kept_out.run_pre_enqueue(failed, event, failed.remove, checkpoint)
        self._add_pods(waiting, failed.pods.values(), event, checkpoint)
        if strategy is QueueingStrategy.IMMEDIATELY and waiting.place is not Place.ACTIVE:
            self._moves.move_to_active_q(waiting, event)

    def _add_pods(
        self, entity: QueuedEntity, pods: Collection[QueuedPodInfo], event: str, pause: Pause = at_once
    ) -> None:
        if not pods:
            return
        for pod in pods:
            entity.add(pod)
            self.places.entity_of[pod.info.uid] = entity
        self.places.count_rejected(entity, len(pods))
        self.places.advance(entity, pods, pause)
        self.places.entered(entity, event, len(pods))
