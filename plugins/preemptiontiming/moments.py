"""Moments from which times around preemption count: since when a pod waits, and since when it runs.

Both come from the pod's object, so that a new leader finds the same, in seconds since the epoch. Timestamps of the API
have whole seconds. One in the future, by a clock that is ahead, counts as now. Pure.
"""

from __future__ import annotations

from muster.framework.model.pod import POD_SCHEDULED, Pod, PodCondition, begins_to_wait
from muster.framework.model.times import parse_time


def waiting_since(pod: Pod, reason: str, now: float) -> float:
    """When the API was told that the pod waits as it does now: for nodes, or for what `reason` names.

    `now` before that, also while the pod waited for something else first: for the end of gates, for members of its
    gang, or for quota before it waits for nodes. So autoscalers, which see a pod while it waits for nodes, have all of
    a delay.
    """
    condition = pod.status.condition(POD_SCHEDULED)
    if condition is None or begins_to_wait(condition, PodCondition(POD_SCHEDULED, "False", reason)):
        return now
    return _past(condition.last_transition_time, now)


def running_since(pod: Pod, now: float) -> float:
    """When the kubelet started the pod; before that when the pod was bound, and `now` for a pod that is not bound."""
    if pod.status.start_time is not None:
        return _past(pod.status.start_time, now)
    condition = pod.status.condition(POD_SCHEDULED)
    if condition is None or condition.status != "True":
        return now
    return _past(condition.last_transition_time, now)


def _past(stamp: str | None, now: float) -> float:
    return now if stamp is None else min(now, parse_time(stamp))
