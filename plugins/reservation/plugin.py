"""Reservation: room for pods and groups that have waited long, so that a stream of others does not starve them.

The catalogue puts it in front of every profile. Where nothing is reserved it costs a pod nothing. Deciding only reads
the holds; they are made and given up where decisions are followed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

import numpy as np
from pydantic import BaseModel

from muster.framework.contract import (
    PROMISES,
    Action,
    ClusterEvent,
    CycleState,
    DecisionFollower,
    EnqueueExtensions,
    EventRegistration,
    EventResource,
    FilterPlugin,
    GroupDecision,
    Handle,
    NodeView,
    PodDecision,
    PodFollower,
    PodInfo,
    PreFilterPlugin,
    Status,
    StatusTable,
    Steps,
    Verdicts,
)
from muster.framework.model.times import rfc3339

from .args import NAME, ReservationArgs
from .ends import KnownEnds, run_seconds
from .holds import Hold, Holds
from .planning import Wanted, lacks_room, plan_for, wanted_by_group, wanted_by_pod
from .waiting import LongWaiters

REASON = "node(s) had their room reserved for pods that have waited longer"
_SKIP = Status.skip()
_OVERDUE_SECONDS = 30.0
"""So long after its moment a promise stands: pods take a while to end, by default as long as their grace period is."""


class _Shared:
    """What the plugins of all profiles keep together."""

    def __init__(self, args: ReservationArgs, handle: Handle) -> None:
        self.reserves = args.after_seconds > 0
        self.holds = Holds(lambda pod: handle.clock.now() + run_seconds(pod.pod), handle.observer.reservations)
        self.ends = KnownEnds(handle.clock)
        self.waiters = LongWaiters(args.after_seconds, args.most_reservations, handle.clock, handle.activate)
        self.kept_off: dict[str, PodInfo] = {}


def reserves(shared: Mapping[str, object]) -> bool:
    """Whether room is reserved at all, found among what plugins share."""
    found = shared.get(NAME)
    return isinstance(found, _Shared) and found.reserves


def held_in(shared: Mapping[str, object]) -> Sequence[Hold]:
    """What is reserved now, found among the same."""
    found = shared.get(NAME)
    return tuple(found.holds) if isinstance(found, _Shared) else ()


class Reservation(PreFilterPlugin, FilterPlugin, EnqueueExtensions, DecisionFollower, PodFollower):
    """Keeps others off what is reserved, and reserves."""

    name = NAME
    args_model = ReservationArgs

    def __init__(self, args: BaseModel | None, handle: Handle) -> None:
        super().__init__(args, handle)
        given = args if isinstance(args, ReservationArgs) else ReservationArgs()
        self._on = given.after_seconds > 0
        self._shared = handle.shared(self.name, lambda: _Shared(given, handle))
        self._promises: dict[str, str] = handle.shared(PROMISES, dict)
        self._table = StatusTable([Status.unschedulable(REASON)])

    # Deciding.

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status | None:
        """Nothing to do while nothing is reserved."""
        return None if self._shared.holds else _SKIP

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Verdicts:
        """Turns nodes down where the pod would take what is reserved for others."""
        kept_off = self._shared.holds.kept_off(pod, nodes.snapshot, self.handle.clock.now())
        if kept_off is None:
            return Verdicts.all_pass(len(nodes), self._table)
        return Verdicts.where(~kept_off[nodes.within], self._table)

    def events_to_register(self) -> Sequence[EventRegistration]:
        """Room that comes beside what is reserved. When a reservation ends, whom it kept off is activated."""
        return [
            EventRegistration(ClusterEvent(EventResource.ASSIGNED_POD, Action.DELETE | Action.UPDATE_POD_SCALE_DOWN)),
            EventRegistration(ClusterEvent(EventResource.NODE, Action.ADD | Action.UPDATE_NODE_ALLOCATABLE)),
        ]

    # What follows.

    def on_pod(self, old: PodInfo | None, new: PodInfo | None) -> None:
        """Keeps the ends. A pod that got a node or went is waited for no more."""
        if not self._on:
            return
        self._shared.ends.follow(old, new)
        left = old if new is None or (old is not None and new.uid != old.uid) else new if new.node_name else None
        if left is None:
            return
        self._shared.kept_off.pop(left.uid, None)
        self._shared.waiters.pod_left(left.uid)
        if self._shared.holds.pod_left(left.uid):
            self._activate_others()

    def on_pod_decision(self, decision: PodDecision) -> Steps[None] | None:
        """A pod by itself."""
        pod = decision.pod
        if decision.status is None:
            self._placed(pod.key)
            return None
        self._note(decision)
        wanted = wanted_by_pod(decision) if self._on else None
        if wanted is None or not self._shared.waiters.refused(pod.key, [pod]):
            return None
        return self._reserve_for_pod(pod.key, wanted)

    def _reserve_for_pod(self, holder: str, wanted: Wanted) -> Steps[None]:
        yield from self._reserve(holder, wanted)

    def on_group_decision(self, decision: GroupDecision) -> Steps[None] | None:
        """A group that could not be placed for want of room. For trees of groups none is reserved."""
        holder = f"{decision.plugin}/{decision.group}"
        if decision.status is None:
            self._placed(holder)
            self._promises.pop(holder, None)
            return None
        for each in decision.members:
            self._note(each)
        lacking = self._on and not decision.parts and any(lacks_room(each) for each in decision.members)
        if not lacking or not self._shared.waiters.refused(holder, decision.waiting):
            return None
        return self._reserve_for_group(holder, decision)

    def _reserve_for_group(self, holder: str, decision: GroupDecision) -> Steps[None]:
        wanted = wanted_by_group(decision)
        if wanted is None:
            return
        told = yield from self._reserve(holder, wanted)
        if told:
            self._promises[holder] = told
            self.handle.activate({pod.key: pod for pod in decision.waiting})  # to be told of it with their reason
        elif not self._shared.holds.of(holder):
            self._promises.pop(holder, None)

    def _note(self, decision: PodDecision) -> None:
        """Whom reservations keep off is tried when one ends."""
        if self._on and self.name in decision.unschedulable_plugins:
            self._shared.kept_off[decision.pod.uid] = decision.pod

    def _reserve(self, holder: str, wanted: Wanted) -> Steps[str]:
        """Hold room for these pods, unless what is held already still stands. What is new, for people."""
        holds, now = self._shared.holds, self.handle.clock.now()
        first = {waiter.holder for waiter in self._shared.waiters.first()}
        for other in holds:
            if other.holder not in first:
                holds.release(other.holder)
        known = holds.of(holder)
        stands = known is not None and self._stands(known, now)
        if known is not None and stands and known.start < inf:
            return ""
        others = [hold for hold in holds if hold.holder != holder]
        found = yield from plan_for(wanted, holder, self._shared.ends.later_than(now), others, self.handle, now)
        if found is None:
            holds.release(holder)
            return ""
        if stands and found.start == inf:
            return ""
        holds.hold(found)
        told = self._told(found)
        self.handle.events.event(wanted.pods[0], kind="Normal", reason="RoomReserved", action="Scheduling", note=told)
        return told

    def _stands(self, hold: Hold, now: float) -> bool:
        """Whether the promise may still come true: its moment is not long past, and all of its nodes are there."""
        return hold.start + _OVERDUE_SECONDS > now and bool(np.all(self.handle.snapshot.live[hold.rows]))

    def _told(self, hold: Hold) -> str:
        where = f"Room for {hold.pods.sum()} pods is reserved on {len(hold.rows)} nodes"
        if hold.start == inf:
            return f"{where}, as it comes free there."
        clock = self.handle.clock
        return f"{where}: they start by {rfc3339(clock.wall() + hold.start - clock.now())} at the latest."

    def _placed(self, holder: str) -> None:
        self._shared.waiters.placed(holder)
        if self._shared.holds.release(holder):
            self._activate_others()

    def _activate_others(self) -> None:
        """Those that were kept off may find room now."""
        waiting, self._shared.kept_off = self._shared.kept_off, {}
        if waiting:
            self.handle.activate({pod.key: pod for pod in waiting.values()})
