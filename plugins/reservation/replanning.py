"""Replanning: a pod or group that no reservation could help gets a new plan when a change may help it.

A new or changed node may help, and so may the end of a long-lived pod or of another reservation. The plugin reports
ends; nodes are compared every few seconds while such waiters exist. Other changes, such as a new device or a pod with
affinity, are not reported, so waiters that lacked more than capacity get a new plan once in a while. There may be
thousands of them: each round takes some, and the next round continues.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from heapq import nsmallest

from muster.framework.contract import Clock, Timer

from .waiters import LongWaiters, Waiter

_EVERY_SECONDS = 5.0
_AT_ONCE = 16


class Replanning:
    """Plans again for waiters that no reservation could help. `nodes` returns a value that changes with any node.

    Waiters that lack more than capacity get a new plan every `patience` seconds.
    """

    def __init__(self, waiters: LongWaiters, clock: Clock, nodes: Callable[[], Hashable], patience: float) -> None:
        self._waiters = waiters
        self._clock = clock
        self._nodes = nodes
        self._patience = patience
        self._nodes_before: Hashable = None
        self._all_hindered_at = 0.0
        self._outdated: dict[str, Waiter] = {}
        self._timer: Timer | None = None

    def begin(self) -> None:
        """Start the rounds, because a reservation would not help a waiter."""
        if self._timer is None:
            self._nodes_before = self._nodes()
            self._all_hindered_at = self._clock.now() + self._patience
            self._arm()

    def changed(self) -> None:
        """Mark such waiters for a new plan, because capacity came free or will, which helps none that lacks more."""
        if self._timer is not None:
            self._outdated |= {waiter.holder: waiter for waiter in self._waiters.in_vain() if not waiter.lacks_more}

    def _arm(self) -> None:
        self._timer = self._clock.call_later(_EVERY_SECONDS, self._plan_some)

    def _plan_some(self) -> None:
        now, nodes = self._clock.now(), self._nodes()
        in_vain = self._waiters.in_vain()
        if nodes != self._nodes_before:
            self._nodes_before = nodes
            self._outdated = {waiter.holder: waiter for waiter in in_vain}
        if now >= self._all_hindered_at:
            self._all_hindered_at = now + self._patience
            self._outdated |= {waiter.holder: waiter for waiter in in_vain if waiter.hindered}
        waiting = [waiter for waiter in in_vain if self._outdated.get(waiter.holder) is waiter]
        first = nsmallest(_AT_ONCE, waiting, key=lambda waiter: (-waiter.priority, waiter.since))
        self._outdated = {waiter.holder: waiter for waiter in waiting if waiter not in first}
        self._timer = None
        if in_vain:
            self._arm()
        for waiter in first:
            self._waiters.plan_for(waiter)
