"""The watch over plugins' calls: which call is in progress, how long it has run, and which plugin blocked the loop.

`PluginCalls` notes each call here, and the process's watchdog reads `current` from its own thread. A worker whose
function stops at a checkpoint suspends the current call, because other work runs then, not that plugin. A call that
stops again and again has a budget (`CallBudgets`); when the budget is used up, the call is ended at its next
checkpoint. What the scheduler cleans up within the call is done to its end before (`work.shielded`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import NamedTuple

from ..contract.plugin import Plugin
from ..metrics import SchedulerMetrics
from .budgets import LEAST_STRETCH_SECONDS, BudgetExceeded, CallBudgets
from .points import Point
from .subjects import Subject, pair_of

log = logging.getLogger(__name__)

SLOW_SECONDS = 0.1
"""A call that runs for longer without a checkpoint is named in the log."""
_QUIET_SECONDS = 10.0
"""How long a plugin is not named again at the same point."""


class Running(NamedTuple):
    """A call in progress: the plugin, the point, the subject, and since when, in seconds on the engine's clock."""

    plugin: Plugin
    point: Point
    about: Subject
    since: float


class _Suspended(NamedTuple):
    """The state when `suspend` was called: the call, the time, `CallWatch.paused`."""

    running: Running | None
    at: float
    paused: float


class CallWatch:
    """Watches the calls of all profiles' plugins. `now` returns seconds on the engine's clock.

    Attributes:
        current: the innermost call in progress.
        paused: the seconds that the running function has spent at checkpoints. The difference of two readings within a
            call is the time in which the plugin did not work.
        accounts: by the id of a call in progress that has stopped at checkpoints, the seconds that it has worked.
    """

    __slots__ = ("_budgets", "_metrics", "_named", "_now", "_resumed", "accounts", "current", "paused")

    def __init__(self, now: Callable[[], float], metrics: SchedulerMetrics) -> None:
        self.current: Running | None = None
        self.paused = 0.0
        self.accounts: dict[int, float] = {}
        self._budgets = CallBudgets(now)
        self._now = now
        self._metrics = metrics
        self._resumed = 0.0
        self._named: dict[tuple[str, str], float] = {}

    def suspend(self) -> _Suspended:
        """The running function stops at a checkpoint. Returns the argument for `resume`."""
        now, running = self._now(), self.current
        if running is not None:
            self.ended(running, now)
            self._charge(running, max(LEAST_STRETCH_SECONDS, now - max(running.since, self._resumed)))
        self.current = None
        return _Suspended(running, now, self.paused)

    def resume(self, suspended: _Suspended) -> None:
        """The call continues."""
        self.current = suspended.running
        self._resumed = self._now()
        self.paused = suspended.paused + self._resumed - suspended.at

    def ending(self) -> BudgetExceeded | None:
        """The exception that ends the call in progress because it has used up its budget.

        What the call does after that, such as cleaning up, is charged to the next budget, which is smaller.
        """
        running = self.current
        if running is None:
            return None
        budget = self._budgets.seconds(running.point, running.plugin, running.about)
        if self.accounts[id(running)] < budget:
            return None
        self._budgets.exceeded(running.point, running.plugin, running.about)
        self.accounts[id(running)] = 0.0
        return BudgetExceeded(budget)

    def close(self, running: Running, outer: Running | None) -> None:
        """Close the account of a call that has ended: what it spent, the call in which it was made has spent."""
        spent = self.accounts.pop(id(running), 0.0)
        if spent and outer is not None:
            self._charge(outer, spent)

    def _charge(self, running: Running, seconds: float) -> None:
        self.accounts[id(running)] = self.accounts.get(id(running), 0.0) + seconds

    def ended(self, running: Running, now: float) -> None:
        """A call has ended, or stops, at `now`: log its plugin if it blocked the loop."""
        seconds = now - max(running.since, self._resumed)
        if seconds <= SLOW_SECONDS:
            return
        plugin, point = running.plugin.name, running.point.name
        self._metrics.plugin_slow_calls.add((plugin, point))
        if now - self._named.get((plugin, point), -_QUIET_SECONDS) >= _QUIET_SECONDS:
            self._named[plugin, point] = now
            pairs = {"plugin": plugin, "point": point, **pair_of(running.about), "seconds": f"{seconds:.3f}"}
            log.warning("A plugin held up the scheduler", extra={"pairs": pairs})
