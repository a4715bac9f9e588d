"""Who waits for want of room, since when, and for whom room is to be reserved: those that have waited longest.

One object serves the plugins of all profiles. A pod waits with one holder at a time, the one that it was refused with
last. One timer is armed, for whoever is the next to have waited long enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import takewhile

from muster.framework.contract import Clock, PodInfo, Timer

SLACK_SECONDS = 0.01
"""Timers may fire a little early."""


@dataclass(slots=True)
class Waiter:
    """A pod or a group that was refused for want of room.

    Attributes:
        holder: the group, as `plugin/id`, or the pod, as `namespace/name`.
        since: when it was refused first, seconds on the engine's clock.
        priority: the highest of its pods'.
        pods: those that wait, by UID.
    """

    holder: str
    since: float
    priority: int = 0
    pods: dict[str, PodInfo] = field(default_factory=dict)


class LongWaiters:
    """Those that were refused.

    `activate` has pods tried again; `left` hears of each, by UID, that waits no more; `is_held` is whether room is
    reserved for a holder.
    """

    def __init__(
        self,
        after_seconds: float,
        most: int,
        clock: Clock,
        activate: Callable[[Mapping[str, PodInfo]], None],
        left: Callable[[str], None],
        is_held: Callable[[str], bool],
    ) -> None:
        self._after_seconds = after_seconds
        self._most = most
        self._clock = clock
        self._activate = activate
        self._left = left
        self._is_held = is_held
        self._waiters: dict[str, Waiter] = {}
        self._holder_of: dict[str, str] = {}
        self._timer: Timer | None = None

    def refused(self, holder: str, pods: Iterable[PodInfo]) -> bool:
        """No node had room for these pods. Whether room is to be reserved for them now."""
        waiter = self._waiters.get(holder)
        if waiter is None:
            waiter = self._waiters[holder] = Waiter(holder, self._clock.now())
        before, waiter.pods = waiter.pods, {pod.uid: pod for pod in pods}
        for uid in [uid for uid in waiter.pods if uid not in before]:
            self.pod_left(uid)  # whom it waited with until now
            self._holder_of[uid] = holder
        for uid in [uid for uid in before if uid not in waiter.pods]:
            del self._holder_of[uid]
            self._left(uid)
        waiter.priority = max(pod.priority for pod in waiter.pods.values())
        self._arm()
        return self._due(waiter) <= self._clock.now() and any(each.holder == holder for each in self.first())

    def first(self) -> list[Waiter]:
        """Those for whom room is to be reserved, the most important first."""
        now = self._clock.now()
        due = takewhile(lambda waiter: self._due(waiter) <= now, self._waiters.values())  # they came in this order
        return nsmallest(self._most, due, key=lambda waiter: (-waiter.priority, waiter.since))

    def over(self, holder: str, pods: Iterable[PodInfo]) -> None:
        """A group was placed, or lacks something else than room: neither it nor these pods of it wait any more."""
        waiter = self._waiters.get(holder)
        for uid in [*(pod.uid for pod in pods), *(waiter.pods if waiter is not None else ())]:
            self.pod_left(uid)

    def pod_left(self, uid: str) -> None:
        """The pod got a node, lacks something else, or is gone. A group waits as long as one of its pods does."""
        holder = self._holder_of.pop(uid, None)
        if holder is None:
            return
        waiter = self._waiters[holder]
        del waiter.pods[uid]
        if not waiter.pods:
            del self._waiters[holder]
        self._left(uid)

    def passed(self, holder: str) -> None:
        """No room can be reserved for it, now that it is due: it has its turn again when it has waited as long anew."""
        waiter = self._waiters.pop(holder, None)
        if waiter is not None:
            waiter.since = self._clock.now()
            self._waiters[holder] = waiter
            self._arm()

    def try_first(self) -> None:
        """Have those tried for whom room is to be reserved and is not."""
        for waiter in self.first():
            if not self._is_held(waiter.holder):
                self.try_again(waiter.holder)

    def try_again(self, holder: str) -> None:
        """Have it tried."""
        waiter = self._waiters.get(holder)
        if waiter is not None:
            self._activate({pod.key: pod for pod in waiter.pods.values()})

    def _due(self, waiter: Waiter) -> float:
        return waiter.since + self._after_seconds

    def _arm(self) -> None:
        if self._timer is not None:
            return
        now = self._clock.now()
        moment = next((due for waiter in self._waiters.values() if (due := self._due(waiter)) > now), None)
        if moment is not None:
            self._timer = self._clock.call_later(moment - now + SLACK_SECONDS, self._look)

    def _look(self) -> None:
        """Somebody has waited long enough: have those tried for whom room is to be reserved."""
        self._timer = None
        self.try_first()
        self._arm()
