"""Budgets: how long a plugin's call may take for one pod or group, from checkpoint to checkpoint, before it is ended.

`Watch` reads them. While such a call runs, no other pod is decided and informers wait, so an endless call would block
everything. The budget is far above what well-behaved plugins need on 5,000 nodes (docs/security.md). A plugin that
exceeds it gets a quarter of the budget for a while, then a quarter of that, so that pods for which this happens again
and again leave most of the time to others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from weakref import WeakKeyDictionary

from ..contract.plugin import Plugin
from ..model.pod_info import PodInfo, PodSignature
from .points import POD_GROUP_POST_FILTER, Point

POD_SECONDS = 20.0
GROUP_SECONDS = 60.0
"""Preemption for a group takes trials of all its members together."""
MEMBER_SECONDS = 0.1
"""What each further member of a group adds."""
LEAST_STRETCH_SECONDS = 0.001
"""What each stop is charged at least, so that an endless call ends where the clock stands, as in a simulation."""
_REDUCTION = 4
_LEAST_SECONDS = 0.05
REDUCED_FOR_SECONDS = 600.0


class CallBudgets:
    """The budgets of all profiles' plugins. `now` gives seconds.

    A budget is reduced for pods of one signature, by the point and the plugin that exceeded it.
    """

    __slots__ = ("_now", "_reduced")

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._reduced: WeakKeyDictionary[PodSignature, dict[tuple[Point, str], tuple[float, float]]]
        self._reduced = WeakKeyDictionary()

    def seconds(self, point: Point, plugin: Plugin, pods: Sequence[PodInfo]) -> float:
        """The time that the plugin may work now for the pod, or for the members of a group."""
        base = GROUP_SECONDS if point is POD_GROUP_POST_FILTER else POD_SECONDS
        reduced = self._reduced.get(pods[0].signature, {})
        share, since = reduced.get((point, plugin.name), (1.0, 0.0))
        if share < 1.0 and self._now() - since >= REDUCED_FOR_SECONDS:
            del reduced[point, plugin.name]
            share = 1.0
        return max(_LEAST_SECONDS, (base + MEMBER_SECONDS * (len(pods) - 1)) * share)

    def exceeded(self, point: Point, plugin: Plugin, pods: Sequence[PodInfo]) -> None:
        """Reduce the budget that the plugin has just exceeded."""
        reduced = self._reduced.setdefault(pods[0].signature, {})
        share, since = reduced.get((point, plugin.name), (1.0, self._now()))
        reduced[point, plugin.name] = share / _REDUCTION, since
