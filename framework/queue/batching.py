"""Batching: of many equal pods that no node can take, one is tried for all (upstream: opportunistic batching).

Pods are equal if they share a signature, or, if a plugin that reads labels rejected them, an equivalence class. If
plugins divide the cluster among namespaces, equal pods are also of one namespace, because those of another one may
evict other pods; pods that name groups of scheduling.k8s.io are kept apart, because they may preempt as these. A
rejection of one pod holds for all equal ones, so a backlog costs as many attempts as it has signatures, in each of
these namespaces. An event that may help wakes a batch: when the batch's turn comes, its first pod is tried if capacity
is still free. The next pod is tried only if the first one found a node, or failed in another way. Many batches may be
woken for the same capacity, which is soon taken; until the turn of a batch comes, only the batch moves, not its pods.
"""

from __future__ import annotations

from collections.abc import Callable

from ..model.pod_info import equivalence_class_of
from .entity import BatchKey, QueuedEntity, QueuedPodInfo
from .hints import ObjectEvent, QueueingHints, QueueingStrategy
from .places import Places
from .policy import GuardedPolicy
from .sub_queues import Batch
from .transitions import CALL_OFF, REFILE, Cause, Place

_NONE: frozenset[str] = frozenset()


class Batching:
    """Decides which pods wait in batches, and when the next pod of a batch is tried. `Places` moves the pods."""

    def __init__(
        self, places: Places, policy: GuardedPolicy, hints: QueueingHints, *, now: Callable[[], float]
    ) -> None:
        self._places = places
        self._policy = policy
        self._hints = hints
        self._now = now
        self._tried_for: dict[QueuedPodInfo, Batch] = {}

    def turn_ended(self, pod: QueuedPodInfo) -> None:
        """A pod found a node, returned, joined a group or was deleted. Unless rejected, wake the next of its batch."""
        batch = self._tried_for.get(pod)
        if batch is None:
            return
        entity = self._places.entity_of.get(pod.info.uid)
        rejected = entity is not None and entity.batched_by == batch.key
        if rejected and entity is not None and entity.place is not Place.UNSCHEDULABLE:
            return  # an event has helped the pod meanwhile, so it is tried once more
        self._forget(pod)
        if not (rejected or self._is_trying(batch)):
            self.wake(batch, batch.strategy, batch.cause)

    def assign(self, entity: QueuedEntity, strategy: QueueingStrategy) -> None:
        """Mark a pod that no node could take for its batch, if the rejection holds for all equal pods.

        `Places` adds the pod to the batch when it becomes unschedulable.
        """
        by_signature, by_class = self._plugins(entity.profile)
        [pod] = entity.pods.values()
        grouped = pod.info.pod.spec.scheduling_group is not None
        if entity.rejectors <= by_signature:
            divides = self._policy.unguarded.divides_namespaces
            entity.batched_by = BatchKey(pod.info.signature, pod.info.namespace if divides else "", grouped)
        elif entity.rejectors <= by_class:
            entity.batched_by = BatchKey(equivalence_class_of(pod.info), grouped=grouped)
        else:
            return
        batch = self._places.unschedulable_pods.batch_of(entity)
        if batch is None or strategy is not QueueingStrategy.SKIP or batch.rejectors == entity.rejectors:
            return
        for other in batch:
            self._places.count_rejected(other, -1)
            other.unschedulable_plugins, other.pending_plugins = entity.unschedulable_plugins, entity.pending_plugins
            self._places.count_rejected(other, 1)

    def leave(self, entity: QueuedEntity) -> None:
        """Take a changed pod out of its batch; wake it if the batch was woken."""
        unschedulable = entity.place is Place.UNSCHEDULABLE
        batch = self._places.unschedulable_pods.batch_of(entity) if unschedulable else None
        if batch is None:
            entity.batched_by = None
            return
        self._places.take_out(entity)
        entity.batched_by = None
        self._places.move(entity, REFILE)
        if batch.ticket:
            self._places.enter(entity, batch.strategy, batch.cause)

    def reconsider(self, batch: Batch, event: ObjectEvent) -> None:
        """Wake a batch if the event helps its first pod, unless a pod of it is about to be tried anyway."""
        if batch and not batch.ticket and not self._is_trying(batch):
            strategy = self._hints.strategy(batch.first(self._now()), event)
            if strategy is not QueueingStrategy.SKIP:
                self.wake(batch, strategy, Cause.of(event.event))

    def wake(self, batch: Batch, strategy: QueueingStrategy, cause: Cause) -> None:
        """Wake a batch, so that its next pod is tried in turn. A pod that backs off moves to backoffQ at once."""
        batch.strategy, batch.cause = strategy, cause
        if not batch:
            return
        now = self._now()
        if strategy is QueueingStrategy.IMMEDIATELY or not batch.first(now).is_backing_off(now):
            self._places.wake(batch)
        else:
            self.release_first(batch, strategy, cause)

    def release_first_in_turn(self) -> None:
        """Make the first pod of a woken batch active if it is the next. If capacity is lacking again, it waits."""
        while (batch := self._places.pop_woken()) is not None:
            if not self._policy.lacks_capacity(batch.first(self._now())):
                self.release_first(batch, batch.strategy, batch.cause)

    def release_first(self, batch: Batch, strategy: QueueingStrategy, cause: Cause) -> None:
        """Move the next pod of a batch where the strategy says, to be tried for all."""
        batch.strategy, batch.cause = strategy, cause
        while batch:
            entity = batch.first(self._now())
            [(uid, pod)] = entity.pods.items()
            self._places.enter(entity, strategy, cause)
            if self._places.entity_of[uid] is entity and entity.place in (Place.ACTIVE, Place.BACKOFF):
                self._tried_for[pod] = batch
                batch.trying = pod
                return

    def call_off(self, entity: QueuedEntity) -> bool:
        """Put a pod that was about to be tried back into its batch if the capacity is taken. Returns whether it did."""
        [pod] = entity.pods.values()
        if entity.flushed or pod not in self._tried_for or not self._policy.lacks_capacity(entity):
            return False
        self._forget(pod)
        self._places.move(entity, CALL_OFF)
        return True

    def _plugins(self, profile: str) -> tuple[frozenset[str], frozenset[str]]:
        """The plugins whose rejections depend only on a pod's signature, and on its equivalence class at most."""
        by_signature = self._policy.unguarded.signature_plugins.get(profile, _NONE)
        return by_signature, by_signature | self._policy.unguarded.class_plugins.get(profile, _NONE)

    def _forget(self, pod: QueuedPodInfo) -> None:
        batch = self._tried_for.pop(pod)
        if batch.trying is pod:
            batch.trying = None

    def _is_trying(self, batch: Batch) -> bool:
        """Whether a pod of the batch is in activeQ or in flight. A pod that backs off does not delay another one."""
        if batch.trying is None:
            return False
        entity = self._places.entity_of.get(batch.trying.info.uid)
        return entity is None or entity.place is Place.ACTIVE
