"""The ports: everything that the engine needs from the outside, from the clock to the writer of Bindings.

The operator supplies them for a real cluster; tests, `muster simulate`, `muster explain` and replays supply their own.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..contract.api import Api, NoApi
from ..contract.extender import Extender
from ..contract.handle import Binder, Clock, ConditionWriter, EventSink, Lister, Timer
from ..metrics import SchedulerMetrics
from ..runtime.standstill import Standstill
from .node_choice import Pick, pick_best


def first_of_equals(equals: int) -> int:
    """A chooser that always takes the first."""
    return 0


def _always() -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Ports:
    """The implementations that `build_engine` receives.

    Attributes:
        clock: time.
        random: a number in [0, 1), for sampling.
        spawn: starts a coroutine as a task, and keeps a reference to it until it ends.
        wake: called when the queue may have an entity ready; see `SchedulingQueue`.
        binder: writes bindings.
        conditions: writes PodScheduled conditions.
        events: the EventSink of a profile, by schedulerName.
        listers: objects of the kinds that plugins declared in `watches`.
        metrics: metrics.
        api: reads and writes other objects for plugins.
        extenders: webhooks, in the order in which they are called.
        choose: `(n) -> 0 … n - 1`, chooses among n nodes with the same score: at random in a scheduler, always the
            first where answers have to be reproducible.
        pick: chooses one of several nodes by their scores, with `choose` among equals.
        standstill: makes other tasks wait while a long decision is in progress.
        stopwatch: seconds, for measuring durations; by default those of the clock.
        may_report: whether Events and conditions are written now.
    """

    clock: Clock
    random: Callable[[], float]
    spawn: Callable[[Coroutine[Any, Any, None]], object]
    wake: Callable[[], None]
    binder: Binder
    conditions: ConditionWriter
    events: Callable[[str], EventSink]
    listers: Mapping[str, Lister] = field(default_factory=dict)
    metrics: SchedulerMetrics = field(default_factory=SchedulerMetrics)
    api: Api = field(default_factory=NoApi)
    extenders: Sequence[Extender] = ()
    choose: Callable[[int], int] = first_of_equals
    pick: Pick = pick_best
    standstill: Standstill = field(default_factory=Standstill)
    stopwatch: Callable[[], float] | None = None
    may_report: Callable[[], bool] = _always

    def paced(self) -> Ports:
        """These ports, with timers and tasks that wait for the end of a decision in progress."""
        spawn, standstill = self.spawn, self.standstill
        return replace(self, clock=standstill.clock(self.clock), spawn=lambda work: spawn(standstill.pace_own(work)))

    @property
    def measured(self) -> Clock:
        """The clock, with the stopwatch in it."""
        clock = self.clock
        return clock if self.stopwatch is None else _Measured(self.stopwatch, clock.wall, clock.call_later)


@dataclass(frozen=True, slots=True)
class _Measured:
    """Implements `contract.Clock`."""

    now: Callable[[], float]
    wall: Callable[[], float]
    call_later: Callable[[float, Callable[[], None]], Timer]
