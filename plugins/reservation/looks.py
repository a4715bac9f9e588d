"""Looks: waiting pods that no reservation can help are planned for again when something changes that may help them.

New or changed nodes may help, the end of a long-lived pod, and the end of another reservation. The plugin reports the
latter two; nodes are compared while such pods wait. Other changes, such as a device or a pod with affinity, are not
reported, so pods that lacked more than capacity are planned for again once in a while. Thousands may wait in vain: a
look takes some of them, and the next look continues.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from heapq import nsmallest

from muster.framework.contract import Clock, Timer

from .waiting import LongWaiters, Waiter

_EVERY_SECONDS = 5.0
_AT_ONCE = 16


class Looks:
    """Looks at those who wait in vain. `nodes` gives a value that changes with any node.

    Those that lack more than capacity are planned for again every `patience` seconds.
    """

    def __init__(self, waiters: LongWaiters, clock: Clock, nodes: Callable[[], Hashable], patience: float) -> None:
        self._waiters = waiters
        self._clock = clock
        self._nodes = nodes
        self._patience = patience
        self._nodes_before: Hashable = None
        self._anyway_at = 0.0
        self._outdated: dict[str, Waiter] = {}
        self._timer: Timer | None = None

    def begin(self) -> None:
        """Begin to look, because a waiter waits in vain."""
        if self._timer is None:
            self._nodes_before = self._nodes()
            self._anyway_at = self._clock.now() + self._patience
            self._arm()

    def changed(self) -> None:
        """Something has changed that may help."""
        if self._timer is not None:
            self._outdated = {waiter.holder: waiter for waiter in self._waiters.in_vain()}

    def _arm(self) -> None:
        self._timer = self._clock.call_later(_EVERY_SECONDS, self._look)

    def _look(self) -> None:
        now, nodes = self._clock.now(), self._nodes()
        in_vain = self._waiters.in_vain()
        if nodes != self._nodes_before:
            self._nodes_before = nodes
            self.changed()
        if now >= self._anyway_at:
            self._anyway_at = now + self._patience
            self._outdated |= {waiter.holder: waiter for waiter in in_vain if waiter.hindered}
        waiting = [waiter for waiter in in_vain if self._outdated.get(waiter.holder) is waiter]
        first = nsmallest(_AT_ONCE, waiting, key=lambda waiter: (-waiter.priority, waiter.since))
        self._outdated = {waiter.holder: waiter for waiter in waiting if waiter not in first}
        self._timer = None
        if in_vain:
            self._arm()
        for waiter in first:
            self._waiters.plan_for(waiter)
