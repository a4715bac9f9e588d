"""Waiters: pods and groups that wait for capacity, and which of them get reservations: those that have waited longest.

One object serves the plugins of all profiles. `rejections` says when a wait begins. A pod waits with one holder at a
time, the one with which it was rejected last. One timer is set, for the waiter whose next round begins first. A waiter
that no reservation can help, by its last plan, gives its turn to others; `replanning` makes a new plan for it when
something has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from heapq import heapify, heappop, heappush, nsmallest
from itertools import count
from math import inf

from muster.framework.contract import Clock, PodInfo, Timer

from .packing import Cost
from .rejections import Rejections
from .rounds import begins_at, round_at

SLACK_SECONDS = 0.01
"""Timers may fire a little early."""
_PLAN_SECONDS = 5.0
"""The least time between two plans without a known start in one round."""


class Chance(IntEnum):
    """The chance of a waiter by the last plan; the better chance comes first."""

    OPEN = 0
    """It can start when pods that may end soon have ended, or there is no plan yet."""
    SLIM = 1
    """Long-lived pods are in its way, but they end at a known time, or some capacity has become free for it."""
    NONE = 2
    """No reservation can help it now."""


@dataclass(slots=True)
class Waiter:
    """A pod or a group that was rejected for lack of capacity.

    Attributes:
        holder: the group, as `plugin/id`, or the pod, as `namespace/name`.
        since: the time of the first rejection of its pods, whichever process led then, seconds on the engine's clock.
        priority: the highest priority of its pods.
        pods: its waiting pods, by UID.
        chance: the result of the last plan.
        round: the round of this plan, -1 before the first plan.
        planned_at: the time of this plan.
        left: the number of members that lacked capacity at the first plan of that round, and how much they lacked.
        hindered: whether something other than capacity excluded some nodes at the last plan.
        lacks_more: whether it lacked something other than capacity when it had a reservation.
        to_plan: whether to plan for it although it is not its turn.
    """

    holder: str
    since: float
    priority: int = 0
    pods: dict[str, PodInfo] = field(default_factory=dict)
    chance: Chance = Chance.OPEN
    round: int = -1
    planned_at: float = -inf
    left: tuple[float, float] = (inf, inf)
    hindered: bool = False
    lacks_more: bool = False
    to_plan: bool = False

    def judge(self, number: int, now: float, cost: Cost) -> None:
        """Note the cost of a plan in this round. A waiter for long-lived pods without any progress has no chance."""
        before, left = self.chance, (cost.lacking, cost.missing)
        if cost.blocked and not cost.lacking:
            self.chance = Chance.SLIM
        elif number < 1 or not cost.blocked:
            self.chance = Chance.OPEN
        elif left < self.left:
            self.chance = Chance.SLIM
        elif number > self.round or before is Chance.OPEN:
            self.chance = Chance.NONE
        if number > self.round or self.chance is Chance.OPEN is not before:
            self.left = left
        self.round, self.planned_at, self.to_plan = number, now, False


class LongWaiters:
    """Pods and groups that have been rejected, and for how long they have waited.

    `activate` retries pods. `left` is called with the UID of each pod that no longer waits. `start_of` returns the
    promised start of a holder, infinity if its reservation promises none, None if it has no reservation.

    Attributes:
        rejections: the first rejections of pods.
    """

    def __init__(
        self,
        after_seconds: float,
        most: int,
        clock: Clock,
        activate: Callable[[Mapping[str, PodInfo]], None],
        *,
        left: Callable[[str], None],
        start_of: Callable[[str], float | None],
    ) -> None:
        self._after_seconds = after_seconds
        self._most = most
        self._clock = clock
        self._activate = activate
        self._left = left
        self._start_of = start_of
        self._waiters: dict[str, Waiter] = {}
        self._due: dict[str, Waiter] = {}
        self._holder_of: dict[str, str] = {}
        self.rejections = Rejections(clock)
        self._rounds: list[tuple[float, int, Waiter]] = []
        self._numbers = count()
        self._begun: list[Waiter] = []
        self._timer: Timer | None = None
        self._timer_at = inf

    def get(self, holder: str) -> Waiter | None:
        """The waiter, if it waits."""
        return self._waiters.get(holder)

    def rejected(self, holder: str, pods: Iterable[PodInfo], *, kept_off: bool = False) -> bool:
        """Note that these pods fit on no node; returns whether to reserve capacity for them now.

        `kept_off` says whether reservations of others are in their way, which may hide what else they lack.
        """
        waiter = self._waiters.get(holder)
        if waiter is None:
            pods = [*pods]
            waiter = self._waiters[holder] = Waiter(holder, self.rejections.first(pods))
            self._await_round(waiter)
            self._arm()
        before, waiter.pods = waiter.pods, {pod.uid: pod for pod in pods}
        for uid in [uid for uid in waiter.pods if uid not in before]:
            self.pod_left(uid)  # it may have waited with another holder until now
            self._holder_of[uid] = holder
        for uid in [uid for uid in before if uid not in waiter.pods]:
            del self._holder_of[uid]
            self._left(uid)
        waiter.priority = max(pod.priority for pod in waiter.pods.values())
        if waiter.lacks_more and not (kept_off or self.lately_planned(waiter)):
            waiter.lacks_more, waiter.chance = False, Chance.OPEN
        self._begin_rounds()
        return holder in self._due and (waiter.to_plan or self.has_place(holder))

    def first(self) -> list[Waiter]:
        """The waiters for which capacity is to be reserved.

        Waiters with a chance come first, then those that lack nothing else, then the most important, then those with a
        promised start, then those that have waited longest.
        """
        self._begin_rounds()
        due = (waiter for waiter in self._due.values() if waiter.chance is not Chance.NONE)
        return nsmallest(self._most, due, key=self._place)

    def comes_before(self, waiter: Waiter, other: Waiter) -> bool:
        """Whether capacity that both can use goes to this waiter if it has a chance, and not to the other."""
        earlier = (-waiter.priority, waiter.since) < (-other.priority, other.since)
        return earlier or other.lacks_more or other.chance is not Chance.OPEN

    def has_place(self, holder: str) -> bool:
        """Whether the holder is among the waiters for which capacity is to be reserved."""
        return any(each.holder == holder for each in self.first())

    def lacks_more(self, holder: str, pods: Sequence[PodInfo]) -> None:
        """Note that these pods lack something other than capacity: they do not wait for capacity any more.

        A waiter with a reservation that did not help stays one that has no chance. Otherwise it would get its
        reservation again as soon as those of others hide what else it lacks.
        """
        waiter = self._waiters.get(holder)
        if waiter is None or not (waiter.lacks_more or self._start_of(holder) is not None):
            self.over(holder, pods)
            return
        for uid in [pod.uid for pod in pods if pod.uid not in waiter.pods]:
            self.pod_left(uid)
        self.judge(waiter, None)
        waiter.hindered = waiter.lacks_more = True
        waiter.round, waiter.planned_at = self.round_of(waiter), self._clock.now()

    def in_vain(self) -> list[Waiter]:
        """The waiters for which no capacity will become free soon: none, or only when long-lived pods have ended."""
        return [waiter for waiter in self._due.values() if waiter.chance is not Chance.OPEN]

    def round_of(self, waiter: Waiter) -> int:
        """The current round of the waiter."""
        return round_at(self._clock.now(), waiter.since, self._after_seconds)

    def lately_planned(self, waiter: Waiter) -> bool:
        """Whether a new plan would be the same as the last one."""
        return (
            waiter.round == self.round_of(waiter)
            and self._clock.now() < waiter.planned_at + _PLAN_SECONDS
            and not waiter.to_plan
        )

    def judge(self, waiter: Waiter, cost: Cost | None) -> None:
        """Note the cost of a waiter's plan; None if no plan was found."""
        if cost is None:
            waiter.chance, waiter.to_plan = Chance.NONE, False
        else:
            waiter.judge(self.round_of(waiter), self._clock.now(), cost)

    def plan_for(self, waiter: Waiter) -> None:
        """Retry a waiter that may have a chance now, with a new plan."""
        waiter.to_plan = True
        self.try_again(waiter.holder)

    def over(self, holder: str, pods: Iterable[PodInfo]) -> None:
        """Forget a pod or a group that was placed, or does not wait for capacity, and these pods of it."""
        waiter = self._waiters.get(holder)
        for uid in [*(pod.uid for pod in pods), *(waiter.pods if waiter is not None else ())]:
            self.pod_left(uid)

    def pod_gone(self, uid: str) -> None:
        """Forget a pod that got a node, or is gone, and its rejections."""
        self.rejections.forget(uid)
        self.pod_left(uid)

    def pod_left(self, uid: str) -> None:
        """Forget a pod that got a node, lacks something else, or is gone. A group waits as long as one of its pods."""
        holder = self._holder_of.pop(uid, None)
        if holder is None:
            return
        waiter = self._waiters[holder]
        del waiter.pods[uid]
        if not waiter.pods:
            del self._waiters[holder]
            self._due.pop(holder, None)
            self._forget_rounds()
        self._left(uid)

    def try_first(self) -> None:
        """Retry the waiters that should have a reservation and have none."""
        for waiter in self.first():
            if self._start_of(waiter.holder) is None:
                self.try_again(waiter.holder)

    def try_again(self, holder: str) -> None:
        """Retry the waiter's pods."""
        waiter = self._waiters.get(holder)
        if waiter is not None:
            self._activate({pod.key: pod for pod in waiter.pods.values()})

    def _place(self, waiter: Waiter) -> tuple[Chance, bool, int, bool, float]:
        start = self._start_of(waiter.holder)
        return waiter.chance, waiter.lacks_more, -waiter.priority, start is None or start == inf, waiter.since

    def _await_round(self, waiter: Waiter) -> None:
        """Enter the waiter's next round."""
        number = self.round_of(waiter)
        if number >= 0:
            self._due[waiter.holder] = waiter
        begins = begins_at(number + 1, waiter.since, self._after_seconds)
        heappush(self._rounds, (begins, next(self._numbers), waiter))

    def _arm(self) -> None:
        if not self._rounds or self._rounds[0][0] >= self._timer_at:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = self._rounds[0][0]
        self._timer = self._clock.call_later(self._timer_at - self._clock.now() + SLACK_SECONDS, self._rounds_begin)

    def _begin_rounds(self) -> None:
        """Collect the waiters whose round has begun; the timer, which is about to fire, retries them."""
        now = self._clock.now()
        while self._rounds and (self._rounds[0][0] <= now or not self._waits(self._rounds[0][2])):
            waiter = heappop(self._rounds)[2]
            if self._waits(waiter):
                self._begun.append(waiter)
                self._await_round(waiter)

    def _forget_rounds(self) -> None:
        """Remove the rounds of waiters that have left, once they outnumber the others."""
        if len(self._rounds) > 2 * len(self._waiters):
            self._rounds = [each for each in self._rounds if self._waits(each[2])]
            heapify(self._rounds)

    def _rounds_begin(self) -> None:
        """Retry the waiters whose round has begun, with a new plan for those that have one."""
        self._timer, self._timer_at = None, inf
        self._begin_rounds()
        begun, self._begun = self._begun, []
        for waiter in begun:
            if self._waits(waiter) and (waiter.round >= 0 or waiter.chance is not Chance.OPEN):
                self.plan_for(waiter)
        self._arm()
        self.try_first()

    def _waits(self, waiter: Waiter) -> bool:
        return self._waiters.get(waiter.holder) is waiter
