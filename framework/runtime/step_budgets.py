"""Step budgets: how long a plugin may work in steps at a point for one pod or group, before its attempt fails.

`PluginCalls` asks here for whatever answers steps. While these are taken nothing else is decided and informers wait, so
steps without an end would stop everybody. The budget is far above what honest plugins take on 5,000 nodes, which
docs/security.md tells. Whoever exceeds it is given a quarter, and a quarter of that, for a while: pods for which that
happens again and again leave most of the time to others.
"""

from __future__ import annotations

from collections.abc import Callable
from weakref import WeakKeyDictionary

from ..contract.plugin import Plugin
from ..model.pod_info import PodInfo, PodSignature
from .points import POD_GROUP_POST_FILTER, Point

POD_SECONDS = 20.0
GROUP_SECONDS = 60.0
"""To make room for a group takes trials of all members together."""
MEMBER_SECONDS = 0.1
"""What each member of a group adds."""
LEAST_STEP_SECONDS = 5e-6
"""What a step counts as at least, so that endless ones end where the clock stands, as in a simulation."""
_REDUCTION = 4
_LEAST_SECONDS = 0.05
REDUCED_FOR_SECONDS = 600.0


class StepBudgets:
    """The budgets of one profile's plugins. `now` gives seconds.

    A budget is reduced for pods of one signature, by the point and the plugin that exceeded it.
    """

    __slots__ = ("_now", "_reduced")

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._reduced: WeakKeyDictionary[PodSignature, dict[tuple[Point, str], tuple[float, float]]]
        self._reduced = WeakKeyDictionary()

    def seconds(self, point: Point, plugin: Plugin, pod: PodInfo, members: int) -> float:
        """How long the plugin may work for the pod now, or for its group of so many `members`; 0 for none."""
        base = GROUP_SECONDS if point is POD_GROUP_POST_FILTER else POD_SECONDS
        share, since = self._reduced.get(pod.signature, {}).get((point, plugin.name), (1.0, 0.0))
        if share < 1.0 and self._now() - since >= REDUCED_FOR_SECONDS:
            del self._reduced[pod.signature][point, plugin.name]
            share = 1.0
        return max(_LEAST_SECONDS, (base + MEMBER_SECONDS * members) * share)

    def exceeded(self, point: Point, plugin: Plugin, pod: PodInfo) -> None:
        """Reduce the budget that the plugin has just exceeded."""
        reduced = self._reduced.setdefault(pod.signature, {})
        share, since = reduced.get((point, plugin.name), (1.0, self._now()))
        reduced[point, plugin.name] = share / _REDUCTION, since
