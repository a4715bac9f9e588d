"""When pods were refused first, under whichever leader: the start of the waits that `LongWaiters` counts.

A wait begins when the condition `PodScheduled` of a pod became False. The API stores that time, so a new leader
continues the count, and reserves when the previous leader would have. The wait of a pod that was gated, as those of a
held group are, begins after that. No wait begins before its pod was created, even if a clock that was behind wrote an
earlier time, or a clock that jumps shows a later one.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

from muster.framework.contract import Clock, PodInfo
from muster.framework.model.pod import POD_SCHEDULED, SCHEDULING_GATED, PodCondition
from muster.framework.model.times import parse_time

_NOTHING_SAID = PodCondition()


class Refusals:
    """Moments on the engine's clock, in seconds; when each pod was created is noted as the pod is seen to come."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._created: dict[str, float] = {}

    def pod_came(self, pod: PodInfo) -> None:
        """A pod without a node is there: from now on it is known when it was created, whatever the clock says later."""
        if pod.uid not in self._created:
            self._created[pod.uid] = self._at(pod.pod.metadata.creation_timestamp)

    def forget(self, uid: str) -> None:
        """The pod got a node, or is gone for good."""
        self._created.pop(uid, None)

    def first(self, pods: Iterable[PodInfo]) -> float:
        """When the first of these was refused first, as their conditions say; now where none has been.

        A leader's clock writes a condition, and no pod is refused before it is created.
        """
        found = self._clock.now()
        for pod in pods:
            condition = pod.pod.status.condition(POD_SCHEDULED) or _NOTHING_SAID
            was_refused = condition.status == "False" and condition.reason != SCHEDULING_GATED
            if was_refused and condition.last_transition_time:
                created = self._created.get(pod.uid, self._at(pod.pod.metadata.creation_timestamp))
                found = min(found, max(created, self._at(condition.last_transition_time)))
        return found

    def _at(self, stamp: str | None) -> float:
        """The moment of a timestamp on the engine's clock, as this process's clock on the wall says."""
        return -inf if stamp is None else self._clock.now() - self._clock.wall() + parse_time(stamp)
