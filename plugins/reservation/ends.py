"""When pods end, as far as they say: by `spec.activeDeadlineSeconds`, or by an annotation of who knows better.

Fed from the pod informer; the plan asks what comes free when, the filter whether a newcomer ends in time.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import NamedTuple

from muster.framework.contract import Clock, PodInfo
from muster.framework.model.pod import Pod
from muster.framework.model.times import parse_time

RUN_SECONDS = "muster-scheduler.io/run-seconds"
"""Annotation of a pod: it runs for so many seconds at most."""
_LONGEST = 10
"""Digits of a number of seconds. More are centuries, at whose end no date can be named: that is never."""


class Ending(NamedTuple):
    """A pod that ends: where it is, and when, in seconds on the engine's clock."""

    pod: PodInfo
    node_name: str
    at: float


def run_seconds(pod: Pod) -> float:
    """How long the pod runs at most; infinity when it does not say, or nothing that can be read."""
    deadline = pod.spec.active_deadline_seconds
    said = inf if deadline is None else deadline
    text = pod.metadata.annotations.get(RUN_SECONDS, "")
    if text and text.isascii() and text.isdigit() and len(text) <= _LONGEST:
        return min(said, int(text))
    return said


def says_its_end(pod: Pod) -> bool:
    """Whether it is on a node and says how long it runs."""
    return bool(pod.spec.node_name) and run_seconds(pod) < inf


class KnownEnds:
    """Pods on nodes that say when they end."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._endings: dict[str, Ending] = {}

    def follow(self, old: PodInfo | None, new: PodInfo | None) -> None:
        """A pod that has not ended came, changed or went."""
        if old is not None and (new is None or new.uid != old.uid):
            self._endings.pop(old.uid, None)
        if new is None or not new.node_name:
            return
        seconds = run_seconds(new.pod)
        if seconds == inf:
            self._endings.pop(new.uid, None)
        else:
            self._endings[new.uid] = Ending(new, new.node_name, self._began(new) + seconds)

    def later_than(self, moment: float) -> Iterator[Ending]:
        """Those that end after this moment; who should have ended already may stay for ever."""
        return (ending for ending in self._endings.values() if ending.at > moment)

    def _began(self, pod: PodInfo) -> float:
        """When the pod started; one that has not begins now at the latest that is known."""
        now, stamp = self._clock.now(), pod.pod.status.start_time
        known = self._endings.get(pod.uid)
        if stamp is None:
            return now if known is None else known.at - run_seconds(known.pod.pod)
        return min(now, now + parse_time(stamp) - self._clock.wall())
