"""Timed retries: preemptors that wait only until they may evict pods, and the timers that retry them then.

A preemptor that waits for its own delay has a timer of its own. Where victims are protected, equal pods wait for the
same moment, and there may be thousands: one of them is tried for all, and the next one once that one no longer waits.
`PreemptionTiming` reports every decision, so a new leader, which decides every waiting pod, sets all timers anew.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from muster.framework.contract import EvictionWait, Handle, PodInfo, Timer

_SLACK_SECONDS = 0.01
"""Timers may fire a little early."""
_LEAST_SECONDS = 0.5
"""The time between two attempts for the same protected victims, of which many may become free one by one."""


class _Own(NamedTuple):
    """Pods that are retried together, and their timer."""

    pods: Sequence[PodInfo]
    timer: Timer


@dataclass(slots=True)
class _Kind:
    """Equal pods, by UID, and the timer that retries the first; no timer while one of them is tried."""

    waiting: dict[str, PodInfo] = field(default_factory=dict)
    timer: Timer | None = None


class TimedRetries:
    """The retries of one profile."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._own: dict[str, _Own] = {}
        self._kinds: dict[Hashable, _Kind] = {}
        self._kind_of: dict[str, Hashable] = {}
        self._changed: Timer | None = None

    def group_decided(self, group: str, waiting: Sequence[PodInfo], wait: EvictionWait | None) -> None:
        """A group was decided: retry it in time if it waits only for that."""
        self._cancel(group)
        if wait is not None:
            least = _LEAST_SECONDS if wait.shared else 0.0
            self._retry_at(group, waiting, wait.until, least=least)

    def pod_decided(self, pod: PodInfo, wait: EvictionWait | None) -> None:
        """A single pod was decided: retry it in time if it waits only for that."""
        kind = (pod.signature, pod.namespace) if wait is not None and wait.shared else None
        self._cancel(pod.uid)
        if self._kind_of.get(pod.uid) != kind:
            self._leave(pod.uid)
        if wait is None:
            return
        if kind is None:
            self._retry_at(pod.uid, (pod,), wait.until)
            return
        equals = self._kinds.setdefault(kind, _Kind())
        equals.waiting[pod.uid], self._kind_of[pod.uid] = pod, kind
        if equals.timer is not None:
            equals.timer.cancel()
        seconds = max(_LEAST_SECONDS, self._until(wait.until))
        equals.timer = self._handle.clock.call_later(seconds, partial(self._try_first, equals))

    def pod_left(self, uid: str) -> None:
        """The pod has a node, is gone, or is kept out of the queue."""
        self._cancel(uid)
        self._leave(uid)

    def retry_all(self) -> None:
        """Retry soon all that wait: times have changed."""
        if self._changed is None and (self._own or self._kinds):
            self._changed = self._handle.clock.call_later(_LEAST_SECONDS, self._retry_all)

    def _retry_all(self) -> None:
        self._changed = None
        own, self._own = self._own, {}
        for each in own.values():
            each.timer.cancel()
        for equals in [*self._kinds.values()]:
            if equals.timer is not None:
                equals.timer.cancel()
                self._try_first(equals)
        self._handle.activate({pod.key: pod for each in own.values() for pod in each.pods})

    def _retry_at(self, key: str, pods: Sequence[PodInfo], moment: float, *, least: float = 0.0) -> None:
        seconds = max(least, self._until(moment))
        self._own[key] = _Own(pods, self._handle.clock.call_later(seconds, partial(self._retry, key)))

    def _retry(self, key: str) -> None:
        self._handle.activate({pod.key: pod for pod in self._own.pop(key).pods})

    def _try_first(self, equals: _Kind) -> None:
        equals.timer = None
        first = next(iter(equals.waiting.values()), None)
        if first is not None:
            self._handle.activate({first.key: first})

    def _cancel(self, key: str) -> None:
        own = self._own.pop(key, None)
        if own is not None:
            own.timer.cancel()

    def _leave(self, uid: str) -> None:
        """The pod no longer waits with its equals. If it was tried for them, try the next one."""
        kind = self._kind_of.pop(uid, None)
        equals = self._kinds.get(kind)
        if equals is None:
            return
        del equals.waiting[uid]
        if not equals.waiting:
            del self._kinds[kind]
            if equals.timer is not None:
                equals.timer.cancel()
        elif equals.timer is None:
            # By a timer, because the queue may be the caller.
            equals.timer = self._handle.clock.call_later(0.0, partial(self._try_first, equals))

    def _until(self, moment: float) -> float:
        return max(0.0, moment - self._handle.clock.wall()) + _SLACK_SECONDS
