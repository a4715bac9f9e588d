"""The known ends of pods: when they started, and when they end, by `spec.activeDeadlineSeconds` or by an annotation.

The pod informer feeds it. The plan reads when capacity becomes free, and how long other pods have run.
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
"""The time that a pod may take to end, which is its grace period by default."""


class ExpectedEnd(NamedTuple):
    """The end of a pod: its node, and the time in seconds on the engine's clock."""

    pod: PodInfo
    node_name: str
    at: float


def _bound_at(pod: Pod) -> str | None:
    """The time at which the pod got its node; the time of its creation if that is unknown."""
    condition = pod.status.condition(POD_SCHEDULED)
    bound = condition.last_transition_time if condition is not None and condition.status == "True" else None
    return bound or pod.metadata.creation_timestamp


class KnownEnds:
    """Pods on nodes: when they started, and when they end if they declare it.

    The times of events that this process saw are measured on its monotonic clock. All other times come from timestamps,
    so they are wrong by as much as the clocks differ.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._endings: dict[str, ExpectedEnd] = {}
        self._came: dict[str, float] = {}

    def follow(self, old: PodInfo | None, new: PodInfo | None) -> None:
        """A pod that has not ended was added, changed or removed."""
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
        """The ends after this moment. A pod that is long overdue is left out, because it may run forever."""
        for uid, ending in self._endings.items():
            at = self.end_after(moment, uid)
            if at < inf:
                yield ending._replace(at=at)

    def end_after(self, moment: float, uid: str) -> float:
        """When the pod with this UID ends, which has not ended at this moment; infinity if that is unknown."""
        ending = self._endings.get(uid)
        if ending is None:
            return inf
        at = ending.at if ending.at > moment else ending.at + OVERDUE_SECONDS
        return at if at > moment else inf

    def began(self, pod: PodInfo) -> float:
        """When the pod started, or else when it got its node; now if neither is known."""
        return self._came.get(pod.uid, self._clock.now())

    def _began(self, pod: PodInfo) -> float:
        """When the pod started, from which its end follows; for a pod that has not started, the latest estimate."""
        known = self._endings.get(pod.uid)
        if pod.pod.status.start_time is None:
            return self._clock.now() if known is None else known.at - run_seconds(known.pod.pod)
        return self.began(pod)

    def _at(self, stamp: str | None) -> float:
        """The time of a timestamp on the engine's clock, at the latest now."""
        now = self._clock.now()
        return now if stamp is None else min(now, now + parse_time(stamp) - self._clock.wall())
