"""The scheduling queue: takes in pods that have no node yet, hands out what to try next, and brings back what failed.

The event handlers tell it of pods and of everything else that happens in the cluster, the scheduler pops entities and
returns pods that failed, the operator's loop calls `flush` when `next_deadline` has come. All calls come from one
thread and return at once; the queue waits for nothing and holds no timer.

    add ──► ACTIVE ──pop──► IN_FLIGHT ──done──► (left)
     │       ▲   ▲              │
     │       │   │ backoff over │ requeue
     │       │   │ (or idle)    ├─ error, or helped meanwhile ──► (ERROR_)BACKOFF ─┐
     │       │   └──────────────┼──────────────────────────────────────────────────┘
     │       │ helped, or       └─ rejected ──► UNSCHEDULABLE
     │       │ waited too long                        │
     │       └────────────────────────────────────────┴─► BACKOFF, if it is not over
     └─► GATED, or ERROR_BACKOFF when a plugin fails ──let in──► ACTIVE

`EntityMoves` has the moves as a table. Guarantees:
1. From its coming until it is done or deleted a pod is in exactly one place. Nothing is lost, nothing is there twice.
2. Pods of a group that wait are one entity, whenever each of them came (back). A pod that is not let in is by itself.
3. PreEnqueue is asked before a pod enters ACTIVE or a BACKOFF, but not on its way from backoff to ACTIVE.
4. What happens while a pod is in flight and may help it counts when it comes back.
5. Of pods of one signature that no node could take, one is tried for all; the next when that one found a node.
6. `on_ready` is called whenever something enters a sub-queue, so that `pop` or `next_deadline` may answer differently.
7. An error of a plugin delays its pod alone, and is told.

Hints, PreEnqueue and `on_ready` are called from within and must not call the queue.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterable, Iterator

from ..contract.events import (
    FORCE_ACTIVATE,
    UNSCHEDULABLE_TIMEOUT,
    UNSCHEDULED_POD_ADD,
    ClusterEvent,
    pod_update_events,
)
from ..contract.handle import Clock
from ..contract.plugin import QueuedPod
from ..contract.status import Status
from ..error_log import ErrorLog
from ..metrics import EntityType, SchedulerMetrics
from ..model.pod_info import PodInfo
from ..work import checkpoint
from .entity import Place, QueuedEntity, QueuedPodInfo, Rejection
from .hints import QueueingHints
from .in_flight import InFlightPods, ObjectEvent
from .pending_pods import DumpLine, PendingPod, pending_pod
from .places import Places
from .policy import GuardedPolicy, QueuePolicy, QueueSettings
from .unschedulable_pods import Batch, Waiting
from .waiting_entities import WaitingEntities

log = logging.getLogger(__name__)

SWEEP_SECONDS = 30.0
"""How often the time limit of unschedulable and gated pods is looked at (`flushUnschedulableEntitiesLeftover`)."""


class SchedulingQueue:
    """The queue of all profiles."""

    def __init__(
        self,
        policy: QueuePolicy,
        settings: QueueSettings,
        *,
        clock: Clock,
        metrics: SchedulerMetrics,
        on_ready: Callable[[], None],
    ) -> None:
        """`on_ready` wakes whoever pops; it is called often and must be cheap."""
        self._clock = clock
        self._time_limit = settings.unschedulable_seconds
        errors = ErrorLog(log, clock.now)
        hints = QueueingHints(policy, errors)
        self._guarded = guarded = GuardedPolicy(policy, errors)
        self._places = Places(guarded, hints, settings.backoff, now=clock.now, metrics=metrics, on_entry=on_ready)
        self._waiting = WaitingEntities(self._places, guarded, hints, policy, settings, now=clock.now)
        self._in_flight = InFlightPods(hints.of_interest)
        self._next_sweep = clock.now()

    # Pods come, change and go.

    def add(self, info: PodInfo) -> None:
        """A pod that is to be scheduled was seen. One that is here already is updated."""
        known = self.get(info.uid)
        if known is not None:
            self.update(known.info, info)
            return
        now = self._clock.now()
        self._waiting.admit(QueuedPodInfo(info, now, now), UNSCHEDULED_POD_ADD.label)

    def update(self, old: PodInfo, new: PodInfo) -> None:
        """A pod without a node changed; one that is not here is added. Must not be called for a pod that is assumed.

        A pod in flight keeps its version until it comes back.
        """
        if old.uid != new.uid:
            self.delete(old)
            self.add(new)
            return
        flying = self._in_flight.get(new.uid)
        if flying is None and new.uid not in self._places.entity_of:
            self.add(new)
            return
        events = [ObjectEvent(event, old, new, new.uid) for event in pod_update_events(old, new)]
        if flying is None:
            self._waiting.update(new, events)
            return
        flying.update = new
        for each in events:
            self._in_flight.record(each)

    def delete(self, info: PodInfo) -> None:
        """The pod is gone, or has a node. If it is in flight it will not come back."""
        flying = self._in_flight.get(info.uid)
        if flying is not None:
            flying.deleted = True
            self.done(info.uid)
        elif info.uid in self._places.entity_of:
            self._waiting.remove(info.uid)

    # Attempts begin and end.

    def pop(self) -> QueuedEntity | None:
        """The entity to try next, its pods now in flight; None when nothing is ready, or only once it is settled.

        For each of its pods `done`, `requeue` or `delete` must follow.
        """
        entity = self._waiting.pop()
        if entity is None:
            return None
        entity.place = Place.IN_FLIGHT
        for pod in entity.pods.values():
            pod.attempts += 1
            pod.unschedulable_count = entity.unschedulable_count
            pod.consecutive_errors = entity.consecutive_errors
        self._in_flight.begin(entity)
        return entity

    @property
    def is_unsettled(self) -> bool:
        """Whether `settle` is to be called before `pop`."""
        return bool(self._waiting.large_groups)

    def settle(self) -> None:
        """Do what is left to be done for large groups that were woken or activated.

        Nothing else may reach the queue meanwhile. It may be given up: what is left stays due.
        """
        self._waiting.large_groups.settle()

    def done(self, uid: str) -> None:
        """The pod's attempt is over, or so far that no event matters to it any more. It may still be requeued."""
        pod = self._in_flight.get(uid)
        if pod is not None:
            self._in_flight.end(uid)
            self._waiting.batching.attempt_ended(pod)

    def found_node(self, uid: str) -> None:
        """The pod, which is in flight, is assumed on a node: there may be room for others like it."""
        pod = self._in_flight.get(uid)
        if pod is not None:
            self._waiting.batching.attempt_ended(pod)

    def requeue(self, pods: Iterable[QueuedPod], rejection: Rejection) -> None:
        """Bring back pods that failed in one attempt for one reason, be they in flight or done.

        Pods of a group join its entity if it has one by now, and become its entity otherwise. A pod that was deleted in
        flight, or that is back already, is left out. What happens to a pod after `done`, changes and deletion alike, is
        the caller's to notice.

        A pod in flight stays that until it waits. Must not be given up halfway; nothing else may reach the queue
        meanwhile. Raises TypeError for a pod that `pop` did not hand out.
        """
        now = self._clock.now()
        returning: dict[str, QueuedPodInfo] = {}
        for pod in map(_handed_out, pods):
            if pod.info.uid not in returning and self._may_return(pod):
                returning[pod.info.uid] = pod
                if self._in_flight.get(pod.info.uid) is not None:
                    pod.info = pod.update or pod.info
                pod.update = None
                pod.failed(now, rejection)
            checkpoint()
        flying = [uid for uid in returning if self._in_flight.get(uid) is not None]
        missed = self._in_flight.missed(flying, self._waiting.concerns(returning.values(), rejection))
        self._waiting.come_back(returning.values(), rejection, missed, self._in_flight.end)

    # Other things happen.

    def move_all(self, event: ClusterEvent, old: object, new: object, *, besides: str = "") -> None:
        """Something happened in the cluster: move whom it may help, but not the entity of the pod `besides` (a UID).

        Costs next to nothing when nobody waits for it.
        """
        waits = bool(self._places.unschedulable_pods)
        if self._in_flight or waits:
            happened = ObjectEvent(event, old, new)
            if self._in_flight:
                self._in_flight.record(happened)
            if waits:
                self._waiting.happened(happened, besides)

    def activate(self, pods: Iterable[PodInfo]) -> None:
        """Make these pods ready with the groups they belong to by now, wherever they wait.

        One in flight will not wait for an event when it comes back. Many are made ready by `settle`.
        """
        waiting: list[str] = []
        for info in pods:
            if info.uid in self._places.entity_of:
                waiting.append(info.uid)
            elif self._in_flight.get(info.uid) is not None:
                self._in_flight.record(ObjectEvent(FORCE_ACTIVATE, None, info, info.uid))
        if self._waiting.large_groups.are_many(waiting):
            self._waiting.large_groups.one_by_one(
                waiting, lambda uid: self._waiting.activate(uid, FORCE_ACTIVATE.label)
            )
            return
        for uid in waiting:
            if uid in self._places.entity_of:
                self._waiting.activate(uid, FORCE_ACTIVATE.label)

    def flush(self, now: float) -> None:
        """Make ready what has completed its backoff, and try again what has waited for an event for too long.

        People are told here of pods that errors keep out: who does not schedule, such as a standby, tells nobody.
        """
        self._waiting.backoff_completed(now)
        if now >= self._next_sweep:
            self._next_sweep = now + SWEEP_SECONDS
            self._waiting.time_out(now, self._time_limit, UNSCHEDULABLE_TIMEOUT.label)
        self._guarded.report_failures(self._places.entity_of.__contains__)

    def flush_is_due(self, now: float) -> bool:
        """Whether `flush` would do anything at `now`."""
        completion = self._places.backoff_q.next_completion()
        return now >= self._next_sweep or (completion is not None and completion <= now)

    def pop_is_due(self) -> bool:
        """Whether there is anything that `pop` would look at, or `settle` would do."""
        places, backing_off = self._places, self._places.backoff_q.count(Place.BACKOFF)
        return bool(len(places.active_q) or len(places.woken) or backing_off or self._waiting.large_groups)

    def next_deadline(self) -> float | None:
        """When `flush` is next of use, seconds on the clock; None while nothing waits for a time."""
        completion = self._places.backoff_q.next_completion()
        if not self._places.unschedulable_pods:
            return completion
        return self._next_sweep if completion is None else min(completion, self._next_sweep)

    def try_again(self, waiting: QueuedEntity | Batch, event: str) -> None:
        """Try what is unschedulable once its backoff is over, though nothing has helped it; of a batch the first.

        `event` is a label for metrics.
        """
        self._waiting.try_again(waiting, event)

    # What is there.

    def unschedulable(self) -> Waiting:
        """All that waits for an event. Its parts are the queue's own: to be read, and given to `try_again`."""
        return self._places.unschedulable_pods.since_before(float("inf"), Place.UNSCHEDULABLE)

    def holds_for_all(self, batch: Batch, rejectors: frozenset[str]) -> bool:
        """Whether a refusal of one of the batch by these plugins would be that of each of them."""
        return self._waiting.batching.holds_for_all(batch, rejectors)

    def get(self, uid: str) -> QueuedPod | None:
        """The pod, waiting or in flight."""
        return self._in_flight.get(uid) or self._places.get(uid)

    def place_of(self, uid: str) -> Place | None:
        """Where the pod is."""
        if self._in_flight.get(uid) is not None:
            return Place.IN_FLIGHT
        entity = self._places.entity_of.get(uid)
        return None if entity is None else entity.place

    def is_unschedulable(self, uid: str) -> bool:
        """Whether the pod waits for an event."""
        return self.place_of(uid) is Place.UNSCHEDULABLE

    def sort_key(self, pod: QueuedPod) -> tuple[Hashable, ...] | Status:
        """The place that the pod has among those that are tried: smaller goes first. An ERROR when it has none."""
        return self._guarded.sort_key((pod,))

    def was_never_let_in(self, uid: str) -> bool:
        """Whether PreEnqueue plugins have kept the pod out ever since it came."""
        entity = self._places.entity_of.get(uid)
        return entity is not None and entity.place is Place.GATED and entity.pods[uid].attempts == 0

    def pending_pod(self, uid: str) -> PendingPod | None:
        """How the pod waits; None when it does not."""
        entity = self._places.entity_of.get(uid)
        if entity is None:
            return None
        waiting = {id(each): each for each in self._places.entity_of.values()}.values()
        now, limit = self._clock.now(), self._time_limit
        return pending_pod(entity.pods[uid], entity, waiting, now=now, sweep=self._next_sweep, limit=limit)

    @property
    def has_ready(self) -> bool:
        """Whether any pod is ready to be tried."""
        return bool(len(self._places.active_q))

    def counts(self) -> dict[str, int]:
        """Pods by where they wait: active, backoff, unschedulable, gated."""
        return self._places.count_pods()

    def entity_counts(self) -> dict[tuple[str, EntityType], int]:
        """Entities by where they wait and by what they are. A gated pod is one of its own."""
        return self._places.count_entities()

    def dump(self) -> list[DumpLine]:
        """A line for every pod, sorted by place and entity."""
        return sorted(self._lines())

    def _may_return(self, pod: QueuedPodInfo) -> bool:
        """Whether the pod is in flight as this one, or nowhere without having been deleted."""
        flying = self._in_flight.get(pod.info.uid)
        if flying is not None:
            return flying is pod
        return not pod.deleted and pod.info.uid not in self._places.entity_of

    def _lines(self) -> Iterator[DumpLine]:
        for pod, entity in (*self._places, *self._in_flight):
            key = entity.key if entity.admitted else ""
            info, plugins = pod.info, tuple(sorted(entity.rejectors))
            yield DumpLine(entity.place.label, key, info.key, info.uid, pod.attempts, pod.timestamp, plugins)


def _handed_out(queued: QueuedPod) -> QueuedPodInfo:
    if not isinstance(queued, QueuedPodInfo):
        raise TypeError(f"pod {queued.info.key} was not handed out by the queue")
    return queued
