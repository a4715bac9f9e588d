"""When pods began, and when they end if they declare it: by `spec.activeDeadlineSeconds`, or by an annotation.

The pod informer feeds it. The plan asks when capacity becomes free and since when other pods have run, the filter
whether a new pod ends in time.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import NamedTuple

from muster.framework.contract import Clock, PodInfo
from muster.framework.model.pod import POD_SCHEDULED, Pod
from muster.framework.model.run_seconds import run_seconds
from muster.framework.model.times import parse_time

OVERDUE_SECONDS = 30.0
"""Pods take a while to end, by default as long as their grace period is."""


class ExpectedEnd(NamedTuple):
    """A pod that ends: where it is, and when, in seconds on the engine's clock."""

    pod: PodInfo
    node_name: str
    at: float


def _bound_at(pod: Pod) -> str | None:
    """The time at which the pod got its node; its creation, if that is unknown."""
    condition = pod.status.condition(POD_SCHEDULED)
    bound = condition.last_transition_time if condition is not None and condition.status == "True" else None
    return bound or pod.metadata.creation_timestamp


class KnownEnds:
    """Pods on nodes: when they began, and the end of those that say it.

    Of what this process saw happen it knows the moment by its own count of seconds. Timestamps, which tell of the rest,
    are as wrong as its clock is off.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._endings: dict[str, ExpectedEnd] = {}
        self._came: dict[str, float] = {}

    def follow(self, old: PodInfo | None, new: PodInfo | None) -> None:
        """A pod that has not ended came, changed or went."""
        if old is not None and (new is None or new.uid != old.uid):
            self._endings.pop(old.uid, None)
            self._came.pop(old.uid, None)
        if new is None or not new.node_name:
            return
        started = new.pod.status.start_time
        if new.uid not in self._came:
            came = self._clock.now() if old is not None else self._at(started or _bound_at(new.pod))
            self._came[new.uid] = came
        elif old is not None and started != old.pod.status.start_time:
            self._came[new.uid] = max(self._came[new.uid], self._at(started))
        seconds = run_seconds(new.pod)
        if seconds == inf:
            self._endings.pop(new.uid, None)
        else:
            self._endings[new.uid] = ExpectedEnd(new, new.node_name, self._began(new) + seconds)

    def later_than(self, moment: float) -> Iterator[ExpectedEnd]:
        """The endings after this moment; a pod that should have ended a while ago may stay for ever."""
        for ending in self._endings.values():
            if ending.at > moment:
                yield ending
            elif ending.at + OVERDUE_SECONDS > moment:
                yield ending._replace(at=ending.at + OVERDUE_SECONDS)

    def ends(self, uid: str) -> bool:
        """Whether this pod says when it ends."""
        return uid in self._endings

    def began(self, pod: PodInfo) -> float:
        """When the pod started; one that has not, when it got its node, or now where that is not known."""
        return self._came.get(pod.uid, self._clock.now())

    def _began(self, pod: PodInfo) -> float:
        """When the pod started, to compute its end: one that has not started begins now at the latest that is known."""
        known = self._endings.get(pod.uid)
        if pod.pod.status.start_time is None:
            return self._clock.now() if known is None else known.at - run_seconds(known.pod.pod)
        return self.began(pod)

    def _at(self, stamp: str | None) -> float:
        """The moment of a timestamp on the engine's clock; now at the latest."""
        now = self._clock.now()
        return now if stamp is None else min(now, now + parse_time(stamp) - self._clock.wall())
