"""Reservation: capacity for pods and groups that have waited long, so that a stream of other pods does not starve them.

The catalog adds it to every profile: at preFilter behind PodLimits and in front of all others, at filter behind all
plugins but quotas. While nothing is reserved it costs a pod nothing. Deciding only reads the reservations; they begin
and end where decisions are followed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import inf

import numpy as np

from muster.framework.contract import (
    RESERVATIONS,
    Action,
    CapacityReserver,
    ClusterEvent,
    CycleState,
    DecisionFollower,
    EnqueueExtensions,
    EventRegistration,
    EventResource,
    FilterPlugin,
    GroupDecision,
    NodeView,
    PodDecision,
    PodFollower,
    PodInfo,
    PreemptionHandle,
    PreemptionPlugin,
    PreFilterPlugin,
    Status,
    StatusTable,
    Timer,
    Verdicts,
    entity_group,
)
from muster.framework.model.run_seconds import run_seconds
from muster.framework.model.times import rfc3339

from .annotation_faults import PodAnnotationFaults
from .args import NAME, ReservationArgs
from .ends import OVERDUE_SECONDS, KnownEnds
from .forecast import Forecaster
from .placement_request import PlacementRequest, is_kept_off, lacks_capacity, wanted_by_group, wanted_by_pod
from .planning import Assumptions, plan_for
from .replanning import Replanning
from .reserved_capacity import ReservationBook, ReservedCapacity, shares
from .rounds import horizon, long_lived_before
from .waiters import SLACK_SECONDS, Chance, LongWaiters, Waiter

REASON = "node(s) had their capacity reserved for pods that have waited longer"
_SKIP = Status.skip()


class _Shared:
    """The state that the plugins of all profiles share. A reservation for a pod ends when the pod no longer waits."""

    def __init__(self, args: ReservationArgs, handle: PreemptionHandle) -> None:
        self.reserves = args.after_seconds > 0
        self._after_seconds = args.after_seconds
        reservations: dict[str, str] = handle.shared(RESERVATIONS, dict)
        self._handle = handle
        self.reserved = ReservationBook(
            lambda pod: handle.clock.now() + run_seconds(pod.pod),
            self._reservation_began,
            self._reservation_ended,
            reservations,
        )
        self.ends = KnownEnds(handle.clock)
        self.faults = PodAnnotationFaults(handle)
        self.waiters = LongWaiters(
            args.after_seconds,
            args.most_reservations,
            handle.clock,
            handle.activate,
            left=self.reserved.pod_left,
            start_of=self.reserved.start_of,
        )
        snapshot = handle.snapshot
        self.replanning = Replanning(
            self.waiters,
            handle.clock,
            lambda: (snapshot.node_journal.position, snapshot.layout),
            args.after_seconds,
        )
        self.kept_off: dict[str, PodInfo] = {}
        self._overdue: dict[str, Timer] = {}
        self._retry: Timer | None = None

    def _reservation_began(self, first: ReservedCapacity) -> None:
        """Count the reservation, and set a timer that retries its holder with a new plan if it is long overdue."""
        clock, holder = self._handle.clock, first.holder
        self._handle.metrics.reservations.add((), 1)
        if first.start < inf:
            seconds = first.start + OVERDUE_SECONDS - clock.now() + SLACK_SECONDS
            self._overdue[holder] = clock.call_later(seconds, partial(self.waiters.try_again, holder))

    def _reservation_ended(self, holder: str) -> None:
        self._handle.metrics.reservations.add((), -1)
        timer = self._overdue.pop(holder, None)
        if timer is not None:
            timer.cancel()
        self.replanning.changed()
        self.retry_kept_off()

    def assumptions(self, waiter: Waiter, chosen: Sequence[ReservedCapacity]) -> Assumptions:
        """The assumptions about pods in the waiter's round; `chosen` is its present reservation."""
        now, number = self._handle.clock.now(), self.waiters.round_of(waiter)
        before = long_lived_before(waiter.since, number, self._after_seconds)
        horizons = (horizon(waiter.since, each, self._after_seconds) for each in (number - 1, number))
        soon, far = (max(now + OVERDUE_SECONDS, each) for each in horizons)
        rows = [capacity.rows for capacity in chosen]
        return Assumptions(
            soon,
            far,
            None
            if before == -inf
            else lambda pod: self.ends.began(pod) < before and self.ends.end_after(now, pod.uid) > far,
            np.concatenate(rows) if rows else np.zeros(0, np.intp),
        )

    def pod_ended(self, pod: PodInfo) -> None:
        """Plan again for waiters without a chance, because the pod may have been in their way if it ran for long."""
        if self.ends.began(pod) <= self._handle.clock.now() - self._after_seconds:
            self.replanning.changed()

    def retry_kept_off(self) -> None:
        """Retry pods that were kept off, and waiters that should have a reservation, because capacity became free.

        They are activated by a timer, because the queue may be the caller.
        """
        if self._retry is None:
            self._retry = self._handle.clock.call_later(0.0, self._activate_kept_off)

    def _activate_kept_off(self) -> None:
        self._retry = None
        kept_off, self.kept_off = self.kept_off, {}
        if kept_off:
            self._handle.activate({pod.key: pod for pod in kept_off.values()})
        self.waiters.try_first()


def reserved_in(shared: Mapping[str, object]) -> Sequence[ReservedCapacity]:
    """The current reservations, found among the objects that plugins share."""
    found = shared.get(NAME)
    return tuple(found.reserved) if isinstance(found, _Shared) else ()


class Reservation(
    PreFilterPlugin[ReservationArgs],
    FilterPlugin[ReservationArgs],
    EnqueueExtensions[ReservationArgs],
    DecisionFollower[ReservationArgs],
    PodFollower[ReservationArgs],
    CapacityReserver[ReservationArgs],
    PreemptionPlugin[ReservationArgs],
):
    """Reserves capacity for pods that have waited long, and keeps other pods off it."""

    name = NAME
    args_model = ReservationArgs
    forecaster = Forecaster

    def __init__(self, args: ReservationArgs, handle: PreemptionHandle) -> None:
        super().__init__(args, handle)
        self._on = args.after_seconds > 0
        self._shared = handle.shared(self.name, lambda: _Shared(args, handle))
        self._table = StatusTable([Status.unschedulable(REASON)])

    # Deciding.

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status | None:
        """Nothing to do while nothing is reserved."""
        return None if self._shared.reserved else _SKIP

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Verdicts:
        """Rejects nodes on which the pod would take capacity that is reserved for others."""
        kept_off = self._shared.reserved.kept_off(pod, nodes.snapshot, self.handle.clock.now())
        if kept_off is None:
            return Verdicts.all_pass(len(nodes), self._table)
        return Verdicts.where(~kept_off[nodes.within], self._table)

    def events_to_register(self) -> Sequence[EventRegistration]:
        """Events that free capacity beside reservations. The end of a reservation activates pods that it kept off."""
        return [
            EventRegistration(ClusterEvent(EventResource.ASSIGNED_POD, Action.DELETE | Action.UPDATE_POD_SCALE_DOWN)),
            EventRegistration(ClusterEvent(EventResource.NODE, Action.ADD | Action.UPDATE_NODE_ALLOCATABLE)),
        ]

    # Reporting.

    @property
    def reserves(self) -> bool:
        """Whether the plugin ever reserves capacity for waiting pods."""
        return self._shared.reserves

    def reserved_shares(self) -> Mapping[str, float]:
        """The reserved share of each resource that is reserved on any node."""
        return shares(self._shared.reserved, self.handle.snapshot.resources.offered_in_all())

    # Following pods and decisions.

    def on_pod(self, old: PodInfo | None, new: PodInfo | None) -> None:
        """Follows ends, reports unknown annotations, and forgets waiting pods that got a node or are going."""
        if not self._on:
            return
        if old is not None and old.node_name and (new is None or new.uid != old.uid):
            self._shared.pod_ended(old)
        self._shared.ends.follow(old, new)
        self._shared.faults.follow(old, new)
        if new is None or (old is not None and new.uid != old.uid):
            left = old
        else:
            left = new if new.node_name or new.terminating else None
        if left is not None:
            self._shared.kept_off.pop(left.uid, None)
            self._shared.waiters.pod_gone(left.uid)
        if new is not None and new is not left:
            self._shared.waiters.rejections.pod_came(new)

    def on_pre_enqueue(self, pod: PodInfo, status: Status | None) -> None:
        """Forgets a pod that is kept out of the queue, because it does not wait for capacity."""
        if status is not None:
            self._shared.waiters.pod_left(pod.uid)

    def on_pod_decision(self, decision: PodDecision) -> None:
        """Follows the decision on a single pod: begins or ends its reservation."""
        if not self._on or decision.left_alone:
            return
        self._note(decision)
        pod, wanted = decision.pod, wanted_by_pod(decision)
        if decision.status is None:
            self._shared.waiters.pod_left(pod.uid)
        elif wanted is None:
            self._lacks_more(pod.key, [pod])
        elif self._shared.waiters.rejected(pod.key, [pod], kept_off=is_kept_off(decision)):
            self._reserve(wanted)

    def on_group_decision(self, decision: GroupDecision) -> None:
        """Follows the decision on a group, or on a tree of groups: begins or ends its reservation."""
        if not self._on or any(each.left_alone for each in decision.members):
            return
        holder = entity_group(decision.plugin, decision.group)
        if decision.status is None:
            self._group_placed(holder, decision)
            return
        for each in decision.members:
            self._note(each)
        lacking = [each for each in decision.members if lacks_capacity(each)]
        if not lacking or self._is_of_no_help(holder):
            self._lacks_more(holder, decision.waiting)
        elif self._shared.waiters.rejected(holder, decision.waiting, kept_off=any(map(is_kept_off, lacking))):
            self._reserve_for_group(holder, decision)

    def _is_of_no_help(self, holder: str) -> bool:
        """Whether all capacity of its reservation was free when it was planned, so that it could have started since."""
        waiter, reserved = self._shared.waiters.get(holder), self._shared.reserved.of(holder)
        return waiter is not None and bool(reserved) and reserved[0].start <= waiter.planned_at

    def _lacks_more(self, holder: str, pods: Sequence[PodInfo]) -> None:
        """End the reservation of pods that lack something other than capacity."""
        self._shared.waiters.lacks_more(holder, pods)
        self._shared.reserved.release(holder)
        if self._shared.waiters.get(holder) is not None:
            self._shared.replanning.begin()

    def _group_placed(self, holder: str, decision: GroupDecision) -> None:
        """End the reservations of the parts that got their nodes; other parts of a tree may have started than these."""
        with_node = {each.pod.uid for each in decision.members if each.status is None}
        unfit = {entity_group(decision.plugin, part) for part, status in decision.parts.items() if status is not None}
        reserved = self._shared.reserved.of(holder)
        served = [
            capacity
            for capacity in reserved
            if capacity.part not in unfit and not with_node.isdisjoint(capacity.members)
        ]
        if not decision.parts or len(served) == len(reserved):
            self._shared.waiters.over(holder, decision.waiting)
            return
        for capacity in served:
            self._shared.reserved.served(capacity)
        self._shared.retry_kept_off()

    def _reserve_for_group(self, holder: str, decision: GroupDecision) -> None:
        wanted = wanted_by_group(decision)
        if wanted is None:
            self._shared.waiters.over(holder, decision.waiting)
        elif self._reserve(wanted):
            # Tried again, the pods get conditions that name the reservation.
            self.handle.activate({pod.key: pod for pod in decision.waiting})

    def _note(self, decision: PodDecision) -> None:
        """Note a pod that reservations kept off, so that it is retried when a reservation ends."""
        if self.name in decision.unschedulable_plugins:
            self._shared.kept_off[decision.pod.uid] = decision.pod

    def _reserve(self, wanted: PlacementRequest) -> bool:
        """Reserve capacity for these pods, unless their reservation stands; returns whether its message changed."""
        shared, reserved, now, holder = self._shared, self._shared.reserved, self.handle.clock.now(), wanted.key
        waiter = shared.waiters.get(holder)
        if waiter is None:
            return False
        first = {each.holder for each in shared.waiters.first()}
        for other in reserved:
            if other.holder not in first and not _is_kept_besides(other, now):
                reserved.release(other.holder)
        known = reserved.of(holder)
        stands = self._stands(known, len(wanted.members), now)
        if stands and (known[0].promised or shared.waiters.lately_planned(waiter)):
            waiter.to_plan = False
            return False
        found = self._plan(wanted, waiter, known if stands else ())
        if not found or not shared.waiters.has_place(holder):
            reserved.release(holder)
            shared.replanning.begin()
            shared.retry_kept_off()
            return False
        if stands and _same(known, found):
            return False
        message = self._message(found)
        is_new = message != reserved.message_of(holder)
        self._take_from_others(waiter, found)
        reserved.reserve(found, message)
        if is_new:
            self.handle.events.event(
                wanted.pods[0], type="Normal", reason="CapacityReserved", action="Scheduling", note=message
            )
        return is_new

    def _plan(
        self, wanted: PlacementRequest, waiter: Waiter, known: Sequence[ReservedCapacity]
    ) -> Sequence[ReservedCapacity]:
        """The capacity to reserve for the waiter, empty if no reservation helps it.

        It takes nothing from earlier reservations, and nothing from reservations with a promised time. If the waiter's
        own chance is slim, or a reservation did not help it before, it takes nothing from any other reservation. If the
        waiter could start at once with capacity of reservations that give way, it takes that.
        """
        shared, now = self._shared, self.handle.clock.now()
        chosen = known if waiter.round == shared.waiters.round_of(waiter) else ()
        assumptions = shared.assumptions(waiter, chosen)
        others = [capacity for capacity in shared.reserved if capacity.holder != waiter.holder]
        firm = [capacity for capacity in others if not self._gives_way(capacity, waiter)]
        least = min(pod.priority for pod in wanted.pods)
        soft = [capacity for capacity in others if capacity not in firm and capacity.priority >= least]
        found = plan_for(
            wanted, shared.ends.later_than(now), firm, self.handle, now=now, assumptions=assumptions, giving_way=soft
        )
        waiter.hindered = found.hindered
        shared.waiters.judge(waiter, found.reserved[0].cost if found.reserved else None)
        if waiter.chance is Chance.SLIM and len(firm) < len(others):
            found = plan_for(wanted, shared.ends.later_than(now), others, self.handle, now=now, assumptions=assumptions)
            if not found.reserved:
                shared.waiters.judge(waiter, None)
        return () if waiter.chance is Chance.NONE else found.reserved

    def _gives_way(self, capacity: ReservedCapacity, waiter: Waiter) -> bool:
        other = self._shared.waiters.get(capacity.holder)
        if other is None or capacity.promised or waiter.lacks_more:
            return False
        return self._shared.waiters.comes_before(waiter, other)

    def _take_from_others(self, waiter: Waiter, found: Sequence[ReservedCapacity]) -> None:
        """End the reservations that give way on the same nodes; their holders get a new plan beside the waiter's."""
        if waiter.chance is Chance.OPEN:
            rows = np.concatenate([capacity.rows for capacity in found])
            for other in self._shared.reserved:
                if other.holder != waiter.holder and self._gives_way(other, waiter) and np.isin(other.rows, rows).any():
                    self._shared.reserved.release(other.holder)

    def _stands(self, reserved: Sequence[ReservedCapacity], pods: int, now: float) -> bool:
        """Whether this reservation is for as many pods, its start is not long past, and all its nodes exist."""
        if (
            not reserved
            or reserved[0].start + OVERDUE_SECONDS <= now
            or sum(len(capacity.members) for capacity in reserved) < pods
        ):
            return False
        live = self.handle.snapshot.live
        return all(live[capacity.rows].all() for capacity in reserved)

    def _message(self, reserved: Sequence[ReservedCapacity]) -> str:
        pods, nodes = (
            sum(int(capacity.pods.sum()) for capacity in reserved),
            {row for capacity in reserved for row in capacity.rows.tolist()},
        )
        groups = f" of {len(reserved)} groups" if len(reserved) > 1 else ""
        where = f"Capacity for {pods} pods{groups} is reserved on {len(nodes)} nodes"
        start = reserved[0].start
        if start == inf:
            return f"{where}, as it comes free there."
        clock = self.handle.clock
        by = rfc3339(clock.wall() + start - clock.now())
        how_sure = "at the latest, unless" if reserved[0].promised else "unless others can start sooner or"
        return f"{where}: they start by {by} {how_sure} the leader changes."


def _is_kept_besides(capacity: ReservedCapacity, now: float) -> bool:
    """Whether its start is late but promised: then it is kept, and not counted, while others can start soon."""
    return capacity.promised and capacity.cost.blocked > 0 and now < capacity.start + OVERDUE_SECONDS


def _same(known: Sequence[ReservedCapacity], found: Sequence[ReservedCapacity]) -> bool:
    """Whether two reservations are for the same capacity by the same time."""
    return len(known) == len(found) and all(
        one.part == other.part
        and (one.start, one.promised) == (other.start, other.promised)
        and np.array_equal(one.rows, other.rows)
        and np.array_equal(one.pods, other.pods)
        and one.amounts.keys() == other.amounts.keys()
        and all(np.array_equal(amounts, other.amounts[name]) for name, amounts in one.amounts.items())
        for one, other in zip(known, found, strict=True)
    )
