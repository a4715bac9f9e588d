"""The entries of the queue: an entity is one pod, or all pods of a group that wait together.

The queue creates and changes entities while they wait. After `pop` the caller reads the entity's pods, and the queue no
longer changes it. The names are kube-scheduler's (QueuedEntityInfo, QueuedPodInfo).
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from dataclasses import dataclass
from math import floor
from typing import NamedTuple

from ..contract.plugin import QueuedPod
from ..model.pod_info import EquivalenceClass, PodInfo, PodSignature, equivalence_class_of
from .transitions import Place

NO_BACKOFF = float("-inf")
_NONE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why an attempt failed, as far as it determines when the pods are retried.

    Attributes:
        unschedulable_plugins: plugins that rejected the pods.
        pending_plugins: plugins that answered PENDING; an event that helps one of them retries the pods at once.
        error: whether the attempt failed with an error; plugins do not count then.
        no_node: whether no node was feasible, so that an attempt with an equal pod would fail too.
    """

    unschedulable_plugins: frozenset[str] = _NONE
    pending_plugins: frozenset[str] = _NONE
    error: bool = False
    no_node: bool = False

    @property
    def by_error(self) -> bool:
        """Whether no plugin knows which events may help, so that the pods are retried after backoff."""
        return self.error or not (self.unschedulable_plugins or self.pending_plugins)


class BatchKey(NamedTuple):
    """The properties that the pods of a batch have in common.

    Attributes:
        common: their signature or equivalence class.
        namespace: their namespace; "" if it does not matter, or follows from the class.
        grouped: whether they name groups of scheduling.k8s.io, as which they may preempt.
    """

    common: PodSignature | EquivalenceClass
    namespace: str = ""
    grouped: bool = False


@dataclass(slots=True, eq=False)
class QueuedPodInfo(QueuedPod):
    """A pod as the queue tracks it. The counts are those of the entity to which it last belonged.

    Attributes:
        unschedulable_count: attempts that ended in a rejection.
        consecutive_errors: attempts that ended in an error since the last rejection.
        update: the latest version of a pod in flight, if it changed since it was popped.
        deleted: whether the pod was deleted while it was in flight.
    """

    unschedulable_count: int = 0
    consecutive_errors: int = 0
    update: PodInfo | None = None
    deleted: bool = False

    def failed(self, now: float, rejection: Rejection) -> None:
        """The pod's attempt has failed at `now`, seconds on the engine's clock.

        A pod that no node could take keeps its position in the order, as equal pods do.
        """
        if not rejection.no_node:
            self.timestamp = now
        if rejection.by_error:
            self.consecutive_errors += 1
        else:
            self.unschedulable_count += 1
            self.consecutive_errors = 0


@dataclass(slots=True, eq=False)
class QueuedEntity:
    """A pod or a group in the queue: the value that `pop` returns.

    Attributes:
        key: `pod/<namespace>/<name>` or `group/<id>`.
        group: `<plugin>/<id>` of the group; None for a pod without one. For a gated pod, the group that it would join.
        profile: the schedulerName of its first pod.
        pods: its pods by UID; at least one while it waits.
        timestamp: when it last entered the queue, seconds on the engine's clock.
        unschedulable_count: attempts that ended in a rejection.
        consecutive_errors: attempts that ended in an error since the last rejection.
        unschedulable_plugins: plugins that rejected the last attempt, or the plugin that gates it; empty once popped.
        pending_plugins: plugins that answered PENDING to the last attempt; empty once popped.
        flushed: whether its time limit or a review, not an event, moved it out of unschedulablePods.
        batched_by: the key of the batch in which it waits while it is unschedulable; None outside of batches.
        admitted: whether PreEnqueue admitted it. A pod that was not, because it is gated or a plugin failed, waits
            alone.
        place: where it is; if it is in no sub-queue, the place that it comes from.
        backoff_until: start of the whole-second window in which backoff ends; `NO_BACKOFF` without backoff.
        sort_key: the smallest key of its pods when it was last put into a heap.
        sort_key_is_old: whether `sort_key` may be too small, because a pod left or changed since.
        ticket: the number of its valid item in a heap; 0 outside of heaps.
        tenant: the tenant under which it was last in activeQ.
    """

    key: str
    group: str | None
    profile: str
    pods: dict[str, QueuedPodInfo]
    timestamp: float
    unschedulable_count: int = 0
    consecutive_errors: int = 0
    unschedulable_plugins: frozenset[str] = _NONE
    pending_plugins: frozenset[str] = _NONE
    flushed: bool = False
    batched_by: BatchKey | None = None
    admitted: bool = True
    place: Place = Place.NOWHERE
    backoff_until: float = NO_BACKOFF
    sort_key: tuple[Hashable, ...] = ()
    sort_key_is_old: bool = False
    ticket: int = 0
    tenant: str = ""
    _signatures: dict[PodSignature, PodInfo] | None = None

    @classmethod
    def of(cls, pod: QueuedPodInfo, group: str | None, timestamp: float, place: Place) -> QueuedEntity:
        """A new entity with one pod, whose counts it takes over, and which comes from `place`."""
        info = pod.info
        key = f"pod/{info.key}" if group is None else f"group/{group}"
        profile = info.pod.spec.scheduler_name
        counts = pod.unschedulable_count, pod.consecutive_errors
        return cls(key, group, profile, {info.uid: pod}, timestamp, *counts, place=place)

    def batch_is_current(self) -> bool:
        """Whether its only pod still has the signature or equivalence class of its batch."""
        [pod] = self.pods.values()
        common = None if self.batched_by is None else self.batched_by.common
        return common in (pod.info.signature, equivalence_class_of(pod.info))

    @property
    def rejectors(self) -> frozenset[str]:
        """Every plugin that rejected or gates it; empty after an error."""
        pending = self.pending_plugins
        return self.unschedulable_plugins | pending if pending else self.unschedulable_plugins

    @property
    def failures(self) -> int:
        """The number of failures from which its backoff follows."""
        return self.consecutive_errors or self.unschedulable_count

    def is_backing_off(self, now: float) -> bool:
        """Whether the window in which its backoff ends has not ended yet (`isEntityBackingoff`)."""
        return self.backoff_until >= floor(now)

    def begin_attempt(self) -> None:
        """The entity was popped: its pods take over its counts, and its rejectors are forgotten."""
        self.unschedulable_plugins = self.pending_plugins = _NONE
        for pod in self.pods.values():
            pod.attempts += 1
            pod.unschedulable_count = self.unschedulable_count
            pod.consecutive_errors = self.consecutive_errors

    def add(self, pod: QueuedPodInfo) -> None:
        """Let one more pod wait with this entity."""
        self.pods[pod.info.uid] = pod
        if self._signatures is not None:
            self._signatures.setdefault(pod.info.signature, pod.info)

    def remove(self, uid: str) -> QueuedPodInfo:
        """Remove a pod, which takes over the counts. Raises KeyError for a pod that is not in the entity."""
        pod = self.pods.pop(uid)
        pod.unschedulable_count = self.unschedulable_count
        pod.consecutive_errors = self.consecutive_errors
        self.sort_key_is_old = True
        if self._stands_for_others(pod.info):
            self._signatures = None
        return pod

    def absorb(self, failed: QueuedEntity) -> None:
        """Take over the pods of `failed`, an entity of the same group that failed later.

        If it failed with an error, this counts as an error of the whole entity: no plugin knows any more which events
        may help the group.
        """
        by_error = not failed.rejectors
        self.unschedulable_plugins = _NONE if by_error else self.unschedulable_plugins | failed.unschedulable_plugins
        self.pending_plugins = _NONE if by_error else self.pending_plugins | failed.pending_plugins
        self.unschedulable_count = max(self.unschedulable_count, failed.unschedulable_count)
        self.consecutive_errors = failed.consecutive_errors
        self.timestamp = failed.timestamp
        self.backoff_until = max(self.backoff_until, failed.backoff_until)
        for pod in failed.pods.values():
            self.add(pod)

    def replace(self, new: PodInfo) -> QueuedPodInfo:
        """Replace a pod by its latest version. Raises KeyError for a pod that is not in the entity.

        Must be cheap: thousands of pods change one after another as their conditions are written.
        """
        pod = self.pods[new.uid]
        if new.signature is not pod.info.signature or self._stands_for_others(pod.info):
            self._signatures = None
        pod.info = new
        self.sort_key_is_old = True
        return pod

    def all_pods(self) -> Iterable[PodInfo]:
        """All pods of the entity."""
        return (pod.info for pod in self.pods.values())

    def _stands_for_others(self, pod: PodInfo) -> bool:
        """Whether the pod is the one that stands for its signature."""
        return self._signatures is not None and self._signatures[pod.signature] is pod

    def one_per_signature(self) -> Collection[PodInfo]:
        """One pod of each signature: a group may have thousands of equal replicas."""
        if self._signatures is None:
            self._signatures = {pod.info.signature: pod.info for pod in reversed(self.pods.values())}
        return self._signatures.values()
