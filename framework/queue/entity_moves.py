"""Moves of entities that wait between activeQ, backoffQ and unschedulablePods. `WaitingEntities` asks for them.

Where an entity goes:

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

from collections.abc import Callable

from ..contract.events import ASSIGNED_POD_DELETE
from ..model.pod_info import PodInfo
from .batching import Batching
from .entity import Place, QueuedEntity, QueuedPodInfo
from .heaps import backing_off
from .hints import QueueingHints, QueueingStrategy
from .in_flight import ObjectEvent
from .kept_out import KeptOutPods
from .large_groups import LargeGroups
from .places import Places
from .policy import QueuePolicy


class EntityMoves:
    """Moves an entity as a whole, or without the pods that are not let in.

    Attributes:
        batching: moves one of many pods for all.
        large_groups: moves a large group a slice at a time.
    """

    def __init__(
        self,
        places: Places,
        kept_out: KeptOutPods,
        hints: QueueingHints,
        policy: QueuePolicy,
        most_at_once: int,
        *,
        now: Callable[[], float],
        remove: Callable[[str], QueuedPodInfo],
    ) -> None:
        """`remove` takes out a pod that waits, by its UID; a group of more than `most_at_once` pods is large."""
        self._places = places
        self._kept_out = kept_out
        self._hints = hints
        self._policy = policy
        self._now = now
        self.batching = Batching(policy, places, hints, now, self.release, self._lacks_capacity)
        self.large_groups = LargeGroups(places, kept_out, most_at_once, self.place_for, remove, self._helped)

    def reconsider(self, entity: QueuedEntity, event: ObjectEvent) -> bool:
        """Move the entity if it is unschedulable and is helped; whether it was."""
        if entity.place is not Place.UNSCHEDULABLE:
            return False
        if self._is_for_others(entity, event):
            return False
        pends = bool(entity.pending_plugins)
        if not pends and self._group_lacks_capacity(entity):  # sooner known than what plugins say to it
            return False
        if self.large_groups.are_many(entity.pods) and self._hints.asks_each(entity, event):
            self.large_groups.consider(entity, event)
            return False
        return self._helped(entity, event)

    def release(self, entity: QueuedEntity, strategy: QueueingStrategy, event: str) -> None:
        """Move an unschedulable entity on."""
        self._places.take(entity)
        self.requeue(entity, strategy, event)

    def move_to_active_q(self, entity: QueuedEntity, event: str) -> None:
        """Make an entity that backs off active."""
        self._places.take(entity)
        if self.large_groups.are_many(entity.pods):
            self.large_groups.wake(entity, QueueingStrategy.IMMEDIATELY, event, asks=False)
        else:
            self._places.put(entity, Place.ACTIVE, event)

    def requeue(
        self, entity: QueuedEntity, strategy: QueueingStrategy, event: str, newcomers: int | None = None
    ) -> None:
        """Put an entity that is in no sub-queue where the strategy says, without the pods that are not let in."""
        if strategy is QueueingStrategy.SKIP:
            self._places.put(entity, Place.UNSCHEDULABLE, event, newcomers)
            return
        if self.large_groups.are_many(entity.pods):
            self.large_groups.wake(entity, strategy, event)
            return
        before = len(entity.pods)
        self._kept_out.run_pre_enqueue(entity, event, entity.remove)
        self._places.count_rejected(entity, len(entity.pods) - before)
        if entity.pods:
            self.settle(entity, strategy, event)
        else:
            self._places.strike_off(entity)

    def settle(self, entity: QueuedEntity, strategy: QueueingStrategy, event: str) -> None:
        """Put an entity that is in no sub-queue where the strategy says, with all its pods."""
        self._places.put(entity, self.place_for(entity, strategy), event)

    def place_for(self, entity: QueuedEntity, strategy: QueueingStrategy) -> Place:
        """Where the strategy sends it now."""
        if strategy is QueueingStrategy.IMMEDIATELY or not backing_off(entity, self._now()):
            return Place.ACTIVE
        return Place.ERROR_BACKOFF if entity.consecutive_errors else Place.BACKOFF

    def _helped(self, entity: QueuedEntity, event: ObjectEvent) -> bool:
        """Move an unschedulable entity if hints say so; whether it was."""
        pends, strategy = bool(entity.pending_plugins), self._hints.strategy(entity, event)
        if strategy is QueueingStrategy.SKIP or (
            pends and strategy is QueueingStrategy.AFTER_BACKOFF and self._group_lacks_capacity(entity)
        ):
            return False
        self.release(entity, strategy, event.event.label)
        return True

    def _is_for_others(self, entity: QueuedEntity, event: ObjectEvent) -> bool:
        """Whether room was made on a node for others, while this pod, by itself, is to get room on another."""
        if event.event is not ASSIGNED_POD_DELETE or entity.group is not None or not isinstance(event.old, PodInfo):
            return False
        [pod] = entity.pods.values()
        return self._policy.is_nominated_elsewhere(pod.info, event.old.node_name)

    def _group_lacks_capacity(self, entity: QueuedEntity) -> bool:
        return entity.group is not None and self._lacks_capacity(entity)

    def _lacks_capacity(self, entity: QueuedEntity) -> bool:
        """Whether it would be tried in vain, because what it lacks finds no room anyway."""
        may_evict = entity.group is None or not self._policy.awaits_victims(entity.all_pods())
        return not self._policy.has_capacity(
            entity.group, entity.one_per_signature(), entity.rejectors, may_evict=may_evict
        )
