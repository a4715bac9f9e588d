"""The first rejections of pods, whichever process led then: they begin the waits that `LongWaiters` measures.

A wait begins when the condition `PodScheduled` of a pod says that it waits for nodes. The API stores that time, so a
new leader continues the measurement, and reserves when the previous leader would have. A pod that waits for something
else, such as the end of a hold, members of its gang or quota, does not wait for capacity: its wait begins after that.
No wait begins before its pod was created, even if a slow clock wrote an earlier time, or a clock that jumps shows a
later one.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

from muster.framework.contract import Clock, PodInfo
from muster.framework.model.pod import POD_SCHEDULED, waits_for_nodes
from muster.framework.model.times import parse_time


class Rejections:
    """Times of first rejections, in seconds on the engine's clock. A pod's creation is noted when it is first seen."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._created: dict[str, float] = {}

    def pod_came(self, pod: PodInfo) -> None:
        """Note when a pod without a node was created, so that later jumps of the clock do not matter."""
        if pod.uid not in self._created:
            self._created[pod.uid] = self._at(pod.pod.metadata.creation_timestamp)

    def forget(self, uid: str) -> None:
        """Forget a pod that got a node, or is gone."""
        self._created.pop(uid, None)

    def first(self, pods: Iterable[PodInfo]) -> float:
        """The earliest rejection of these pods according to their conditions; now if none was rejected before.

        Conditions carry the time of a leader's clock, but no pod is rejected before it is created.
        """
        found = self._clock.now()
        for pod in pods:
            condition = pod.pod.status.condition(POD_SCHEDULED)
            if condition is not None and waits_for_nodes(condition) and condition.last_transition_time:
                created = self._created.get(pod.uid, self._at(pod.pod.metadata.creation_timestamp))
                found = min(found, max(created, self._at(condition.last_transition_time)))
        return found

    def _at(self, stamp: str | None) -> float:
        """The time of a timestamp on the engine's clock, according to this process's wall clock."""
        return -inf if stamp is None else self._clock.now() - self._clock.wall() + parse_time(stamp)
