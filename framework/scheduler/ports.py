"""What the engine needs of the outside, in one place. The operator supplies it; tests and `muster explain` do too."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..contract.api import Api, NoApi
from ..contract.handle import Binder, Clock, ConditionWriter, EventSink, Lister
from ..contract.observer import NullObserver, Observer


def first_of_equals(equals: int) -> int:
    """A chooser that is always of the same mind."""
    return 0


@dataclass(frozen=True, slots=True)
class Ports:
    """The engine's surroundings.

    Attributes:
        clock: time.
        random: a number in [0, 1), for sampling.
        spawn: start a coroutine as a task that somebody keeps and ends.
        wake: the queue may have something ready; see `SchedulingQueue`.
        binder: writes bindings.
        conditions: writes PodScheduled conditions.
        events: the EventSink of a profile, by schedulerName.
        listers: objects of the kinds that plugins declared in `watches`.
        observer: metrics.
        api: reads and writes what plugins have to.
        choose: `(n) -> 0 … n - 1`, one of n nodes that are equally good: any in a process that schedules, the first
            where the same answer is wanted every time.
    """

    clock: Clock
    random: Callable[[], float]
    spawn: Callable[[Coroutine[Any, Any, None]], object]
    wake: Callable[[], None]
    binder: Binder
    conditions: ConditionWriter
    events: Callable[[str], EventSink]
    listers: Mapping[str, Lister] = field(default_factory=dict)
    observer: Observer = field(default_factory=NullObserver)
    api: Api = field(default_factory=NoApi)
    choose: Callable[[int], int] = first_of_equals
