"""Budgets: how long a plugin's call may take from checkpoint to checkpoint before it is ended.

`CallWatch` reads them. While such a call runs, no other pod is decided and informers wait, so an endless call would
block everything. The budget is far above what well-behaved plugins need on 5,000 nodes (docs/security.md). A plugin
that exceeds it gets a quarter of the budget for a while, then a quarter of that, so that pods or groups for which this
happens again and again leave most of the time to others.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import NamedTuple

from ..contract.plugin import Plugin
from .points import POD_GROUP_POST_FILTER, Point
from .subjects import Subject, pods_of

CALL_SECONDS = 20.0
GROUP_SECONDS = 60.0
"""Preemption for a group takes trials of all its members together."""
MEMBER_SECONDS = 0.1
"""What each further member of a group adds, where the call is about the members."""
LEAST_STRETCH_SECONDS = 0.001
"""What each stop is charged at least, so that an endless call ends where the clock stands, as in a simulation."""
_REDUCTION = 4
_LEAST_SECONDS = 0.05
REDUCED_FOR_SECONDS = 600.0


class BudgetExceeded(BaseException):
    """Ends a call that has used up its budget of so many seconds. Code that catches it must raise it again."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"it has not come to an end within {seconds:.3g} s")


class _Reduced(NamedTuple):
    """The share of the full budget, and since when there has been less than all of it."""

    share: float
    since: float


class CallBudgets:
    """The budgets of all profiles' plugins. `now` gives seconds.

    A budget is reduced for the point and the plugin that exceeded it, and for the subject: pods of one signature, or
    whatever else has the same key.
    """

    __slots__ = ("_now", "_reduced")

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._reduced: dict[tuple[Point, str, Hashable], _Reduced] = {}

    def seconds(self, point: Point, plugin: Plugin, about: Subject) -> float:
        """The time that the plugin may work now on the subject."""
        full = GROUP_SECONDS if point is POD_GROUP_POST_FILTER else CALL_SECONDS
        full += MEMBER_SECONDS * max(0, len(pods_of(about)) - 1)
        reduced = self._reduced.get((point, plugin.name, _alike(about)))
        if reduced is None or self._is_over(reduced):
            return full
        return max(_LEAST_SECONDS, full * reduced.share)

    def exceeded(self, point: Point, plugin: Plugin, about: Subject) -> None:
        """Reduce the budget that the plugin has just exceeded."""
        self._reduced = {case: each for case, each in self._reduced.items() if not self._is_over(each)}
        case = point, plugin.name, _alike(about)
        share, since = self._reduced.get(case, _Reduced(1.0, self._now()))
        self._reduced[case] = _Reduced(share / _REDUCTION, since)

    def _is_over(self, reduced: _Reduced) -> bool:
        return self._now() - reduced.since >= REDUCED_FOR_SECONDS


def _alike(about: Subject) -> Hashable:
    """A key that subjects which share a budget have in common."""
    pods = pods_of(about)
    return pods[0].signature if pods else (type(about), about.key)
