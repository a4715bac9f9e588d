"""Batching: of pods alike that no node could take, one is tried for all.

Alike are pods of one signature, or of one equivalence class where a plugin that looks at labels refused them. What
refused one would have refused each of them, so a backlog costs as many attempts as it has kinds of pods. An event that
helps wakes a batch: its first pod is tried when its turn comes, if there is room for it by then; the next follows only
when that one found a node, or ended in any other way than with the same refusal. A room that many batches are woken for
is soon taken, so nothing but the batch itself is touched until then. (kube-scheduler's word for scheduling by signature
is opportunistic batching.)
"""

from __future__ import annotations

from collections.abc import Callable

from ..model.pod_info import PodSignature, equivalence_class_of
from .entity import Place, QueuedEntity, QueuedPodInfo
from .heaps import backing_off
from .hints import QueueingHints, QueueingStrategy
from .in_flight import ObjectEvent
from .places import Places
from .policy import QueuePolicy
from .unschedulable_pods import Batch

_NONE: frozenset[str] = frozenset()


class Batching:
    """Decides which pods wait in batches, and when the next of a batch is tried. `EntityMoves` moves them."""

    def __init__(
        self,
        policy: QueuePolicy,
        places: Places,
        hints: QueueingHints,
        now: Callable[[], float],
        release: Callable[[QueuedEntity, QueueingStrategy, str], None],
        lacks_capacity: Callable[[QueuedEntity], bool],
    ) -> None:
        """`release` moves an unschedulable entity on; `lacks_capacity` is whether one would be tried in vain."""
        self._policy = policy
        self._places = places
        self._hints = hints
        self._now = now
        self._release = release
        self._lacks_capacity = lacks_capacity
        self._tried_for: dict[QueuedPodInfo, Batch] = {}

    def attempt_ended(self, pod: QueuedPodInfo) -> None:
        """A pod found a node, came back, or is gone. Unless it was refused, the next of its batch is tried."""
        batch = self._tried_for.get(pod)
        if batch is None:
            return
        entity = self._places.entity_of.get(pod.info.uid)
        refused = entity is not None and entity.batched_by is batch.common
        if refused and entity is not None and entity.place is not Place.UNSCHEDULABLE:
            return  # something has helped meanwhile: it is to be tried once more
        self._forget(pod)
        if not (refused or self._is_trying(batch)):
            self.wake(batch, batch.strategy, batch.event)

    def join(self, entity: QueuedEntity, strategy: QueueingStrategy) -> None:
        """Let a pod that no node could take wait with those like it, if what refused it would refuse them as well."""
        by_signature, by_class = self._plugins(entity.profile)
        [pod] = entity.pods.values()
        if entity.rejectors <= by_signature:
            entity.batched_by = pod.info.signature
        elif entity.rejectors <= by_class:
            entity.batched_by = equivalence_class_of(pod.info)
        else:
            return
        batch = self._places.unschedulable_pods.batch_of(entity)
        if batch is None or strategy is not QueueingStrategy.SKIP or batch.rejectors == entity.rejectors:
            return
        for other in batch:
            self._places.count_rejected(other, -1)
            other.unschedulable_plugins, other.pending_plugins = entity.unschedulable_plugins, entity.pending_plugins
            self._places.count_rejected(other, 1)

    def holds_for_all(self, batch: Batch, rejectors: frozenset[str]) -> bool:
        """Whether a refusal of one of the batch by these plugins would be that of each of them."""
        by_signature, by_class = self._plugins(batch.profile)
        return rejectors <= (by_signature if isinstance(batch.common, PodSignature) else by_class)

    def leave(self, entity: QueuedEntity) -> None:
        """Let an entity whose pod is not like the others any more wait by itself, or go if they were woken."""
        batch = self._places.unschedulable_pods.batch_of(entity) if entity.place is Place.UNSCHEDULABLE else None
        if batch is None:
            entity.batched_by = None
            return
        self._places.take(entity)
        entity.batched_by = None
        self._places.put_back(entity, Place.UNSCHEDULABLE)
        if batch.ticket:
            self._release(entity, batch.strategy, batch.event)

    def reconsider(self, batch: Batch, event: ObjectEvent) -> None:
        """Wake a batch if its first is helped, unless one is about to be tried anyway."""
        if batch and not batch.ticket and not self._is_trying(batch):
            strategy = self._hints.strategy(batch.first(self._now()), event)
            if strategy is not QueueingStrategy.SKIP:
                self.wake(batch, strategy, event.event.label)

    def wake(self, batch: Batch, strategy: QueueingStrategy, event: str) -> None:
        """Have the next pod of a batch tried when its turn comes. One that backs off goes on with that by itself."""
        batch.strategy, batch.event = strategy, event
        if not batch:
            return
        now = self._now()
        if strategy is QueueingStrategy.IMMEDIATELY or not backing_off(batch.first(now), now):
            self._places.wake(batch)
        else:
            self.release_first(batch, strategy, event)

    def release_first_in_turn(self) -> None:
        """Make the first of a woken batch active if its turn has come; where there is no room any more, all wait on."""
        while (batch := self._places.pop_woken()) is not None:
            if not self._lacks_capacity(batch.first(self._now())):
                self.release_first(batch, batch.strategy, batch.event)

    def release_first(self, batch: Batch, strategy: QueueingStrategy, event: str) -> None:
        """Move the next pod of a batch on, to be tried for all."""
        batch.strategy, batch.event = strategy, event
        while batch:
            entity = batch.first(self._now())
            [(uid, pod)] = entity.pods.items()
            self._release(entity, strategy, event)
            if self._places.entity_of[uid] is entity and entity.place in (Place.ACTIVE, Place.BACKOFF):
                self._tried_for[pod] = batch
                batch.trying = pod
                return

    def called_off(self, entity: QueuedEntity) -> bool:
        """Whether a pod that is to be tried for its batch is not tried, nor another, for its room is taken by now."""
        [pod] = entity.pods.values()
        if entity.flushed or pod not in self._tried_for or not self._lacks_capacity(entity):
            return False
        self._forget(pod)
        return True

    def _plugins(self, profile: str) -> tuple[frozenset[str], frozenset[str]]:
        """The plugins that go by nothing but a pod's signature, and all that go by its equivalence class at most."""
        by_signature = self._policy.signature_plugins.get(profile, _NONE)
        return by_signature, by_signature | self._policy.class_plugins.get(profile, _NONE)

    def _forget(self, pod: QueuedPodInfo) -> None:
        batch = self._tried_for.pop(pod)
        if batch.trying is pod:
            batch.trying = None

    def _is_trying(self, batch: Batch) -> bool:
        """Whether a pod of the batch is in activeQ or in flight. One that backs off keeps no other from being tried."""
        if batch.trying is None:
            return False
        entity = self._places.entity_of.get(batch.trying.info.uid)
        return entity is None or entity.place is Place.ACTIVE
