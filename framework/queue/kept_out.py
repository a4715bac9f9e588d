"""Pods that are kept out: PreEnqueue plugins do not let them in, or an error of a plugin leaves them no place.

Each waits by itself, gated or in backoff, whatever group it belongs to, until plugins are asked again and have nothing
against it. The queue asks before an entity becomes ready, and when something happens that may open a gate.
"""

from __future__ import annotations

from collections.abc import Callable

from ..contract.status import Code, Status
from ..work import Pause, at_once
from .entity import Place, QueuedEntity, QueuedPodInfo
from .hints import QueueingHints, QueueingStrategy
from .in_flight import ObjectEvent
from .places import Places
from .policy import GuardedPolicy

Join = Callable[[QueuedPodInfo, str | None, QueueingStrategy, str], None]


class KeptOutPods:
    """Keeps pods out and lets them in."""

    def __init__(
        self,
        places: Places,
        guarded: GuardedPolicy,
        hints: QueueingHints,
        now: Callable[[], float],
        remove: Callable[[str], QueuedPodInfo],
        join: Join,
    ) -> None:
        """`remove` takes out a pod that waits, by its UID; `join` lets one that is nowhere wait with its group."""
        self._places = places
        self._guarded = guarded
        self._hints = hints
        self._now = now
        self._remove = remove
        self._join = join

    def run_pre_enqueue(
        self, entity: QueuedEntity, event: str, take: Callable[[str], QueuedPodInfo], pause: Pause = at_once
    ) -> None:
        """Keep those pods of it out that are not let in; `take` takes one out by its UID."""
        for uid, pod in [*entity.pods.items()]:
            group, status = self._guarded.run_pre_enqueue(pod.info)
            if status is not None:
                self.keep_out(take(uid), group, status, event)
            pause()

    def keep_out(self, pod: QueuedPodInfo, group: str | None, status: Status, event: str) -> None:
        """Keep a pod that is nowhere out, by itself."""
        entity = QueuedEntity.of(pod, None, pod.timestamp)
        entity.group, entity.admitted = group, False
        self._places.enlist(entity)
        self._bar(entity, status)
        self._places.entered(entity, event, 1)

    def ask_again(self, entity: QueuedEntity, event: ObjectEvent) -> bool:
        """Let a pod that was kept out join if the event helps and nothing else keeps it out; whether it joined."""
        if entity.admitted or self._hints.strategy(entity, event) is QueueingStrategy.SKIP:
            return False
        return self.let_in(entity, QueueingStrategy.AFTER_BACKOFF, event.event.label)

    def let_in(self, entity: QueuedEntity, strategy: QueueingStrategy, event: str) -> bool:
        """Ask about a pod that was kept out, and let it join if nothing keeps it out any more; whether it joined."""
        [(uid, pod)] = entity.pods.items()
        gated_by = next(iter(entity.unschedulable_plugins), "")
        group, status = self._guarded.run_pre_enqueue(pod.info, gated_by)
        if status is not None:
            if entity.place is Place.GATED and status.code is not Code.ERROR and status.plugin == gated_by:
                return False
            self._places.count_rejected(entity, -1)
            self._places.take(entity)
            self._bar(entity, status)
            return False
        pod = self._remove(uid)
        if pod.attempts == 0:
            pod.first_seen = self._now()
        self._join(pod, group, strategy, event)
        return True

    def _bar(self, entity: QueuedEntity, status: Status) -> None:
        """Put a pod that is not let in, and that is in no sub-queue, where the answer says."""
        if status.code is Code.ERROR:
            entity.unschedulable_plugins = frozenset()
            self._places.hold_off(entity, status)
            return
        entity.unschedulable_plugins = frozenset({status.plugin})
        self._places.put_back(entity, Place.GATED)
        self._places.count_rejected(entity, 1)
