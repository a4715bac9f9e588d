"""Time limits: what a preemptor reports that may evict pods later but not now, and when it is worth another try.

DefaultPreemption calls it before the search for victims, and after a search that found none. Plugins set the limits
(`EvictionLimitPlugin`); without one, nothing here is called. Everything here is pure. Times are in seconds since the
epoch.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from math import ceil, inf

from muster.framework.contract import EvictionLimit, EvictionRule, EvictionWait, Placed, Status, checkpoint
from muster.framework.model.pod_info import PodInfo
from muster.framework.model.times import rfc3339

from .units import Units


def own_wait(rule: EvictionRule, now: float) -> EvictionWait | None:
    """The wait of a preemptor that may not evict any pod yet."""
    limit = rule.limit
    return EvictionWait(limit.not_before, shared=False) if limit is not None and limit.not_before > now else None


def too_early(limit: EvictionLimit) -> str:
    """The message for a preemptor that may not evict any pod yet."""
    return f"not eligible before {_time(limit.not_before)} due to {limit.reason}"


def protected(until: float) -> Status:
    """The status of a preemptor whose possible victims are protected until then."""
    return Status.unschedulable(f"no victims may be evicted before {_time(until)} due to their minimum run time")


def without_limit(rule: EvictionRule) -> EvictionRule:
    """The rule as it will be when all limits have passed."""
    return replace(rule, limit=None)


def next_end(pods: Iterable[PodInfo], rule: EvictionRule, units: Units) -> float:
    """When the limit next ceases to protect one of these pods that the rule permits; infinity if it protects none.

    Another search before that finds what this one found, unless something else changes.
    """
    limit, earliest = rule.limit, inf
    if limit is None:
        return inf
    for pod in pods:
        checkpoint()
        if rule.permits(pod, pod.priority) and (until := units.protected_until(pod, limit)):
            earliest = min(earliest, until)
    return earliest


def all_unprotected(victims: Collection[PodInfo], rule: EvictionRule, units: Units) -> float:
    """When none of these victims is protected any longer."""
    limit = rule.limit
    return 0.0 if limit is None else max((units.protected_until(pod, limit) for pod in victims), default=0.0)


def members_of(victims: Iterable[Placed]) -> list[PodInfo]:
    """The victims without their nodes."""
    return [placed.pod for placed in victims]


def _time(moment: float) -> str:
    return rfc3339(ceil(moment))
