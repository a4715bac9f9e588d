"""Entities that wait, and every move between activeQ, backoffQ and unschedulablePods.

The scheduling queue owns it and tells it what happens. Where an entity goes:

| it is | and then | it goes to |
| --- | --- | --- |
| new, or let in | PreEnqueue has nothing against it | ACTIVE |
| new, or about to enter ACTIVE or BACKOFF | a PreEnqueue plugin rejects a pod of it | that pod to GATED, by itself |
| new, or about to enter ACTIVE or BACKOFF | a plugin fails about a pod of it | that pod to ERROR_BACKOFF, by itself |
| back, rejected by plugins | nothing has helped meanwhile | UNSCHEDULABLE |
| back, or UNSCHEDULABLE | an event helps a PENDING plugin | ACTIVE |
| back, or UNSCHEDULABLE | an event helps any other plugin, or the time is up | BACKOFF; ACTIVE once that is over |
| back, struck by an error | | ERROR_BACKOFF |
| BACKOFF or ERROR_BACKOFF | its backoff is over | ACTIVE |
| GATED, or kept out by an error | plugins are asked again and have nothing against it | ACTIVE or BACKOFF |
| anywhere | it is activated | ACTIVE |

A batch is woken as an entity is, but only its first pod goes, and only when its turn comes and there is room then: the
next follows when that one found a node, or ended in any other way than with the same refusal. A large group that is to
go to ACTIVE or BACKOFF is UNSCHEDULABLE until its members have been asked about, see `LargeGroups`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence

from ..contract.events import ASSIGNED_POD_DELETE, UNSCHEDULED_POD_ADD, ClusterEvent
from ..model.pod_info import PodInfo
from .admission import Admission
from .backoff_queue import backing_off
from .batching import Batching
from .entity import Place, QueuedEntity, QueuedPodInfo, Rejection
from .hints import QueueingHints, QueueingStrategy
from .in_flight import InFlightEvents, ObjectEvent
from .kept_out import KeptOutPods
from .large_groups import LargeGroups
from .places import Places
from .rules import QueueRules, QueueSettings

SCHEDULE_ATTEMPT_FAILURE = "ScheduleAttemptFailure"
POP_FROM_BACKOFF = "PopFromBackoffQ"
BACKOFF_COMPLETE = "BackoffComplete"
JOINED_GROUP = "JoinedGroup"

_MOST_REORDERED = 2_000
"""A larger group that was first in the order before pods of it left is tried as the first."""


class WaitingEntities:
    """What waits. The observer hears of whatever enters a sub-queue."""

    def __init__(
        self,
        places: Places,
        admission: Admission,
        hints: QueueingHints,
        rules: QueueRules,
        settings: QueueSettings,
        *,
        now: Callable[[], float],
    ) -> None:
        self._admission = admission
        self._hints = hints
        self._backoff = settings.backoff
        self._now = now
        self._has_room = rules.has_room
        self._awaits_victims = rules.awaits_victims
        self._promised_to_others = rules.promised_to_others
        self.places = places
        self._kept_out = KeptOutPods(places, admission, hints, now, self.remove, self._join)
        self.batching = Batching(rules, places, hints, now, self._release, self._lacks_room)
        self.large_groups = LargeGroups(
            places,
            self._kept_out,
            settings.most_at_once,
            self._place_for,
            self.remove,
            hints.ask_in_steps,
            self._helped,
        )

    # Pods come, change and go.

    def admit(self, pod: QueuedPodInfo, event: str) -> None:
        """Let a pod that is nowhere join, or keep it out."""
        group, status = self._admission.ask(pod.info)
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
    ) -> Iterator[None]:
        """Let pods that failed together, and whose counts and timestamps say so, wait again, in steps.

        `landed` is told the UID of each as it comes to wait.
        """
        for entity in (yield from self._regroup(pods)):
            for uid in entity.pods:
                landed(uid)
            if not rejection.by_error:
                entity.unschedulable_plugins = rejection.unschedulable_plugins
                entity.pending_plugins = rejection.pending_plugins
            entity.backoff_until = self._backoff.until(entity)
            if self.large_groups.are_many(entity.pods):
                for event in (event for each in missed for event in each.events):
                    if self._hints.asks_each(entity, event):
                        yield from self._hints.ask_in_steps(entity, event)
            strategy = self._hints.strategy_after(entity, missed)
            waiting = self.places.of_group(entity.group)
            if waiting is not None:
                yield from self._merge(waiting, entity, strategy)
                continue
            self.places.enlist(entity)
            self.places.count_rejected(entity, len(entity.pods))
            if rejection.no_node and entity.group is None:
                self.batching.join(entity, strategy)
            self._requeue(entity, strategy, SCHEDULE_ATTEMPT_FAILURE)
            yield
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
        for _ in self.places.advance(entity, (pod,)):
            pass
        for event in events:
            if self._reconsider(entity, event) or self._kept_out.ask_again(entity, event):
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
                self._reconsider(entity, event)
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
            self._release(entity, QueueingStrategy.IMMEDIATELY, event)
        else:
            self._hurry(entity, event)

    def backoff_completed(self, now: float) -> None:
        """Move the entities whose backoff is over to activeQ; ask again about pods that an error kept out."""
        while (entity := self.places.backoff_q.completed(now)) is not None:
            if entity.admitted:
                self._hurry(entity, BACKOFF_COMPLETE)
            else:
                self._kept_out.let_in(entity, QueueingStrategy.IMMEDIATELY, BACKOFF_COMPLETE)

    def time_out(self, now: float, limit: float, event: str) -> None:
        """Try again whatever has waited for an event for more than `limit` seconds."""
        unschedulable_pods = self.places.unschedulable_pods
        gated = unschedulable_pods.since_before(now - limit, Place.GATED).entities
        batches, entities = unschedulable_pods.since_before(now - limit, Place.UNSCHEDULABLE)
        for entity in entities:
            entity.flushed = True
            self._release(entity, QueueingStrategy.AFTER_BACKOFF, event)
        for batch in batches:
            batch.first(now).flushed = True
            self.batching.release_first(batch, QueueingStrategy.AFTER_BACKOFF, event)
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
        if self._admission.group_of(pod.info) == self.places.entity_of[uid].group:
            return False
        self.admit(self.remove(uid), event)
        return True

    def _regroup(self, pods: Iterable[QueuedPodInfo]) -> Generator[None, None, list[QueuedEntity]]:
        entities: list[QueuedEntity] = []
        by_group: dict[str, QueuedEntity] = {}
        for pod in pods:
            group = self._admission.group_of(pod.info)
            yield
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
            self._settle(entity, strategy, event)
            return
        for _ in self._add_pods(entity, (pod,), event):
            pass
        sibling = ObjectEvent(UNSCHEDULED_POD_ADD, None, pod.info)
        if self._reconsider(entity, sibling):
            return
        if entity.place is Place.BACKOFF and self._hints.strategy(entity, sibling) is QueueingStrategy.IMMEDIATELY:
            self._hurry(entity, event)

    def _joined_group(self, entity: QueuedEntity) -> bool:
        """Let a pod that was to be tried by itself, but is to be tried with a group by now, join that; whether it did.

        The entity is in no sub-queue. Whatever made the pod ready makes its group ready.
        """
        [(uid, pod)] = entity.pods.items()
        group = self._admission.group_of(pod.info)
        if group is None:
            return False
        del self.places.entity_of[uid]
        self.places.count_rejected(entity, -1)
        self._join(entity.remove(uid), group, QueueingStrategy.IMMEDIATELY, JOINED_GROUP)
        self.batching.attempt_ended(pod)
        by_now = self.places.entity_of[uid]
        if by_now.place is Place.UNSCHEDULABLE:
            self._release(by_now, QueueingStrategy.AFTER_BACKOFF, JOINED_GROUP)
        return True

    def _merge(self, waiting: QueuedEntity, failed: QueuedEntity, strategy: QueueingStrategy) -> Iterator[None]:
        """Let pods that failed, in an entity of their own, join what their siblings have made of the group since."""
        event = SCHEDULE_ATTEMPT_FAILURE
        if waiting.place is Place.UNSCHEDULABLE:
            self.places.take(waiting)
            self.places.count_rejected(waiting, -len(waiting.pods))
            waiting.absorb(failed)
            self.places.enlist(waiting, failed.pods)
            self.places.count_rejected(waiting, len(waiting.pods))
            self._requeue(waiting, strategy, event, newcomers=len(failed.pods))
            return
        yield from self._kept_out.sift(failed, event, failed.remove)
        yield from self._add_pods(waiting, failed.pods.values(), event)
        if strategy is QueueingStrategy.IMMEDIATELY and waiting.place is not Place.ACTIVE:
            self._hurry(waiting, event)

    def _add_pods(self, entity: QueuedEntity, pods: Collection[QueuedPodInfo], event: str) -> Iterator[None]:
        if not pods:
            return
        for pod in pods:
            entity.add(pod)
            self.places.entity_of[pod.info.uid] = entity
        self.places.count_rejected(entity, len(pods))
        yield from self.places.advance(entity, pods)
        self.places.entered(entity, event, len(pods))

    # Entities move.

    def _reconsider(self, entity: QueuedEntity, event: ObjectEvent) -> bool:
        """Move the entity if it is unschedulable and is helped; whether it was."""
        if entity.place is not Place.UNSCHEDULABLE:
            return False
        if self._is_for_others(entity, event):
            return False
        pends = bool(entity.pending_plugins)
        if not pends and self._group_lacks_room(entity):  # sooner known than what plugins say to it
            return False
        if self.large_groups.are_many(entity.pods) and self._hints.asks_each(entity, event):
            self.large_groups.consider(entity, event)
            return False
        return self._helped(entity, event)

    def _helped(self, entity: QueuedEntity, event: ObjectEvent) -> bool:
        """Move an unschedulable entity if hints say so; whether it was."""
        pends, strategy = bool(entity.pending_plugins), self._hints.strategy(entity, event)
        if strategy is QueueingStrategy.SKIP or (
            pends and strategy is QueueingStrategy.AFTER_BACKOFF and self._group_lacks_room(entity)
        ):
            return False
        self._release(entity, strategy, event.event.label)
        return True

    def _is_for_others(self, entity: QueuedEntity, event: ObjectEvent) -> bool:
        """Whether room was made on a node for others, while this pod, by itself, is to get room on another."""
        if event.event is not ASSIGNED_POD_DELETE or entity.group is not None or not isinstance(event.old, PodInfo):
            return False
        [pod] = entity.pods.values()
        return self._promised_to_others(pod.info, event.old.node_name)

    def _group_lacks_room(self, entity: QueuedEntity) -> bool:
        return entity.group is not None and self._lacks_room(entity)

    def _lacks_room(self, entity: QueuedEntity) -> bool:
        """Whether it would be tried in vain, because what it lacks finds no room anyway."""
        may_evict = entity.group is None or not self._awaits_victims(entity.all_pods())
        return not self._has_room(entity.group, entity.one_per_signature(), entity.rejectors, may_evict)

    def _release(self, entity: QueuedEntity, strategy: QueueingStrategy, event: str) -> None:
        """Move an unschedulable entity on."""
        self.places.take(entity)
        self._requeue(entity, strategy, event)

    def _hurry(self, entity: QueuedEntity, event: str) -> None:
        """Make an entity that backs off active."""
        self.places.take(entity)
        if self.large_groups.are_many(entity.pods):
            self.large_groups.wake(entity, QueueingStrategy.IMMEDIATELY, event, asks=False)
        else:
            self.places.put(entity, Place.ACTIVE, event)

    def _requeue(
        self, entity: QueuedEntity, strategy: QueueingStrategy, event: str, newcomers: int | None = None
    ) -> None:
        """Put an entity that is in no sub-queue where the strategy says, without the pods that are not let in."""
        if strategy is QueueingStrategy.SKIP:
            self.places.put(entity, Place.UNSCHEDULABLE, event, newcomers)
            return
        if self.large_groups.are_many(entity.pods):
            self.large_groups.wake(entity, strategy, event)
            return
        before = len(entity.pods)
        for _ in self._kept_out.sift(entity, event, entity.remove):
            pass
        self.places.count_rejected(entity, len(entity.pods) - before)
        if entity.pods:
            self._settle(entity, strategy, event)
        else:
            self.places.strike_off(entity)

    def _settle(self, entity: QueuedEntity, strategy: QueueingStrategy, event: str) -> None:
        self.places.put(entity, self._place_for(entity, strategy), event)

    def _place_for(self, entity: QueuedEntity, strategy: QueueingStrategy) -> Place:
        if strategy is QueueingStrategy.IMMEDIATELY or not backing_off(entity, self._now()):
            return Place.ACTIVE
        return Place.ERROR_BACKOFF if entity.consecutive_errors else Place.BACKOFF
