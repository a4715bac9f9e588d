"""The scheduling queue: takes in pods that have no node yet, hands out what to try next, and brings back what failed.

The intake tells it of pods and of everything else that happens in the cluster, the scheduler pops entries and returns
those that failed, the operator's loop calls `flush` when `next_deadline` has come. All calls come from one thread and
return at once; the queue waits for nothing and holds no timer.

    add ──► ACTIVE ──pop──► IN_FLIGHT ──done──► (left)
     │       ▲   ▲              │
     │       │   │ backoff over │ requeue
     │       │   │ (or idle)    ├─ error, or helped meanwhile ──► (ERROR_)BACKOFF ─┐
     │       │   └──────────────┼──────────────────────────────────────────────────┘
     │       │ helped, or       └─ rejected ──► UNSCHEDULABLE
     │       │ waited too long                        │
     │       └────────────────────────────────────────┴─► BACKOFF, if it is not over
     └─► GATED ──let in──► ACTIVE

Guarantees:
1. From its coming until it is done or deleted a pod is in exactly one place. Nothing is lost, nothing is there twice.
2. Pods of a group that wait are one entry, whenever each of them came (back). A gated pod is no member until let in.
3. PreEnqueue is asked before a pod enters ACTIVE or a BACKOFF, but not on its way from backoff to ACTIVE.
4. What happens while a pod is in flight and may help it counts when it comes back.
5. `on_ready` is called whenever something enters a part, so that `pop` or `next_deadline` may answer differently.

Hints, PreEnqueue and `on_ready` are called from within and must not call the queue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ..contract.events import FORCE_ACTIVATE, UNSCHEDULABLE_TIMEOUT, UNSCHEDULED_POD_ADD, ClusterEvent
from ..contract.handle import Clock
from ..contract.observer import EntityType, Observer
from ..contract.queued_pod import QueuedPod
from ..model.pod_info import PodInfo
from .changes import pod_update_events
from .dump import DumpLine, line_of
from .entry import Entry, Member, Place, Rejection
from .gates import GatedPod
from .inflight import Flights, Happening
from .rules import QueueRules, QueueSettings
from .waitlist import Waitlist

BACKOFF_COMPLETE = "BackoffComplete"
SWEEP_SECONDS = 30.0
"""How often the time limit of unschedulable and gated pods is looked at."""


class SchedulingQueue:
    """The queue of all profiles."""

    def __init__(
        self,
        rules: QueueRules,
        settings: QueueSettings,
        *,
        clock: Clock,
        observer: Observer,
        on_ready: Callable[[], None],
    ) -> None:
        """`on_ready` wakes whoever pops; it is called often and must be cheap."""
        self._clock = clock
        self._time_limit = settings.unschedulable_seconds
        self._waitlist = Waitlist(rules, settings.backoff, now=clock.now, observer=observer, on_entry=on_ready)
        self._flights = Flights(self._waitlist.of_interest)
        self._next_sweep = clock.now()

    # Pods come, change and go.

    def add(self, info: PodInfo) -> None:
        """A pod that is to be scheduled was seen. One that is here already is updated."""
        known = self.get(info.uid)
        if known is not None:
            self.update(known.info, info)
            return
        now = self._clock.now()
        self._waitlist.admit(Member(info, now, now), UNSCHEDULED_POD_ADD.label)

    def update(self, old: PodInfo, new: PodInfo) -> None:
        """A pod without a node changed; one that is not here is added. Must not be called for a pod that is assumed.

        A pod in flight keeps its version until it comes back.
        """
        if old.uid != new.uid:
            self.delete(old)
            self.add(new)
            return
        flying = self._flights.get(new.uid)
        if flying is None and new.uid not in self._waitlist.register.at:
            self.add(new)
            return
        happenings = [Happening(event, old, new, new.uid) for event in pod_update_events(old, new)]
        if flying is None:
            self._waitlist.update(new, happenings)
            return
        flying.update = new
        for happening in happenings:
            self._flights.record(happening)

    def delete(self, info: PodInfo) -> None:
        """The pod is gone, or has a node. If it is in flight it will not come back."""
        flying = self._flights.get(info.uid)
        if flying is not None:
            flying.deleted = True
            self._flights.end(info.uid)
        elif info.uid in self._waitlist.register.at:
            self._waitlist.remove(info.uid)

    # Attempts begin and end.

    def pop(self) -> Entry | None:
        """The entry to try next, its pods now in flight; None when nothing is ready.

        For each of its pods `done`, `requeue` or `delete` must follow.
        """
        entry = self._waitlist.pop()
        if entry is None:
            return None
        entry.place = Place.IN_FLIGHT
        for member in entry.members.values():
            member.attempts += 1
            member.unschedulable_count = entry.unschedulable_count
            member.consecutive_errors = entry.consecutive_errors
        self._flights.begin(entry)
        return entry

    def done(self, uid: str) -> None:
        """The pod's attempt is over, or so far that no event matters to it any more. It may still be requeued."""
        self._flights.end(uid)

    def requeue(self, pods: Iterable[QueuedPod], rejection: Rejection) -> None:
        """Bring back pods that failed in one attempt for one reason, be they in flight or done.

        Pods of a group join its entry if it has one by now, and become its entry otherwise. A pod that was deleted in
        flight, or that is back already, is left out. What happens to a pod after `done`, changes and deletion alike, is
        the caller's to notice.

        Raises TypeError for a pod that `pop` did not hand out.
        """
        now = self._clock.now()
        returning = {pod.info.uid: pod for pod in map(_member, pods) if self._may_return(pod)}
        flying = [uid for uid in returning if self._flights.get(uid) is not None]
        missed = self._flights.missed(flying, self._waitlist.concerns(returning.values(), rejection))
        for uid in flying:
            self._flights.end(uid)
            returning[uid].info = returning[uid].update or returning[uid].info
        for member in returning.values():
            member.update = None
            member.failed(now, rejection)
        self._waitlist.come_back(returning.values(), rejection, missed)

    # Other things happen.

    def move_all(self, event: ClusterEvent, old: object, new: object, *, besides: str = "") -> None:
        """Something happened in the cluster: move whom it may help, but not the entry of the pod `besides` (a UID).

        Costs next to nothing when nobody waits for it.
        """
        waits = self._waitlist.awaits_events
        if self._flights or waits:
            happening = Happening(event, old, new)
            if self._flights:
                self._flights.record(happening)
            if waits:
                self._waitlist.happened(happening, besides)

    def activate(self, pods: Iterable[PodInfo]) -> None:
        """Make these pods ready with the groups they belong to by now, wherever they wait.

        One in flight will not wait for an event when it comes back.
        """
        for info in pods:
            if info.uid in self._waitlist.register.at:
                self._waitlist.activate(info.uid, FORCE_ACTIVATE.label)
            elif self._flights.get(info.uid) is not None:
                self._flights.record(Happening(FORCE_ACTIVATE, None, info, info.uid))

    def flush(self, now: float) -> None:
        """Make ready what has completed its backoff, and try again what has waited for an event for too long."""
        self._waitlist.backoff_completed(now, BACKOFF_COMPLETE)
        if now >= self._next_sweep:
            self._next_sweep = now + SWEEP_SECONDS
            self._waitlist.time_out(now, self._time_limit, UNSCHEDULABLE_TIMEOUT.label)

    def next_deadline(self) -> float | None:
        """When `flush` is next of use, seconds on the clock; None while nothing waits for a time."""
        completion = self._waitlist.parts.backoff.next_completion()
        if not self._waitlist.awaits_events:
            return completion
        return self._next_sweep if completion is None else min(completion, self._next_sweep)

    # What is there.

    def get(self, uid: str) -> QueuedPod | None:
        """The pod, waiting or in flight."""
        return self._flights.get(uid) or self._waitlist.register.get(uid)

    def place_of(self, uid: str) -> Place | None:
        """Where the pod is."""
        if self._flights.get(uid) is not None:
            return Place.IN_FLIGHT
        at = self._waitlist.register.at.get(uid)
        return None if at is None else at.place

    def counts(self) -> dict[str, int]:
        """Pods by the part they wait in: active, backoff, unschedulable, gated."""
        return self._waitlist.counts()

    def entity_counts(self) -> dict[tuple[str, EntityType], int]:
        """Entries by the part they wait in and by what they are. A gated pod is one of its own."""
        return self._waitlist.entity_counts()

    def dump(self) -> list[DumpLine]:
        """A line for every pod, sorted by place and entry."""
        return sorted(self._lines())

    def _may_return(self, member: Member) -> bool:
        """Whether the pod is in flight as this member, or nowhere without having been deleted."""
        flying = self._flights.get(member.info.uid)
        if flying is not None:
            return flying is member
        return not member.deleted and member.info.uid not in self._waitlist.register.at

    def _lines(self) -> Iterator[DumpLine]:
        for member, at in self._waitlist.register:
            if isinstance(at, GatedPod):
                yield line_of(member, at.place, None, (at.plugin,))
            else:
                yield line_of(member, at.place, at, at.rejectors)
        for member, entry in self._flights:
            yield line_of(member, entry.place, entry, ())


def _member(queued: QueuedPod) -> Member:
    if not isinstance(queued, Member):
        raise TypeError(f"pod {queued.info.key} was not handed out by the queue")
    return queued
