"""The ports that the engine needs from the outside, and the handle that it gives the plugins of a profile.

The operator supplies the ports; tests and `muster explain` supply others.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, cast

from ..contract.api import Api, NoApi
from ..contract.events import ASSIGNED_POD_DELETE
from ..contract.extender import Extender
from ..contract.handle import Binder, Clock, ConditionWriter, EventSink, Lister, Obj, Timer, WatchedKind
from ..metrics import SchedulerMetrics
from ..model.pod_info import PodInfo
from ..queue.scheduling_queue import SchedulingQueue
from ..runtime.framework import Framework
from ..runtime.nominator import PodNominator
from ..runtime.standstill import Standstill
from ..runtime.waiting import HeldPods
from ..snapshot.snapshot import Snapshot


def first_of_equals(equals: int) -> int:
    """A chooser that is always of the same mind."""
    return 0


def _always() -> bool:
    return True


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
        metrics: metrics.
        api: reads and writes what plugins have to.
        extenders: webhooks that have a say, in the order of asking.
        choose: `(n) -> 0 … n - 1`, one of n nodes that are equally good: any in a process that schedules, the first
            where the same answer is wanted every time.
        standstill: what of the outside waits while a long decision is under way.
        stopwatch: seconds by which is measured how long something takes; by default the clock's.
        may_report: whether people are to read now what is wrong with pods.
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
    standstill: Standstill = field(default_factory=Standstill)
    stopwatch: Callable[[], float] | None = None
    may_report: Callable[[], bool] = _always

    def held_up(self) -> Ports:
        """These ports, with timers and tasks that wait for the end of a decision that is under way."""
        spawn, standstill = self.spawn, self.standstill
        return replace(self, clock=standstill.clock(self.clock), spawn=lambda work: spawn(standstill.pace_own(work)))

    @property
    def measured(self) -> Clock:
        """The clock, with the stopwatch in it."""
        clock = self.clock
        return clock if self.stopwatch is None else _Measured(self.stopwatch, clock.wall, clock.call_later)


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Measured:
    """Implements `contract.Clock`."""

    now: Callable[[], float]
    wall: Callable[[], float]
    call_later: Callable[[float, Callable[[], None]], Timer]


@dataclass(frozen=True, slots=True)
class ProfileHandle:
    """Implements `contract.handle.Handle` for one profile, that of `framework`."""

    framework: Framework
    snapshot: Snapshot
    waiting_pods: HeldPods
    nominator: PodNominator
    ports: Ports
    queue: SchedulingQueue
    shared_values: dict[str, object]

    @property
    def profile_name(self) -> str:
        """The schedulerName that the profile answers to."""
        return self.framework.name

    @property
    def clock(self) -> Clock:
        """Time."""
        return self.ports.clock

    @property
    def stopwatch(self) -> Callable[[], float]:
        """Seconds by which is measured how long something takes."""
        return self.ports.measured.now

    @property
    def events(self) -> EventSink:
        """Events for people, in this profile's name."""
        return self.ports.events(self.profile_name)

    @property
    def binder(self) -> Binder:
        """Writes bindings."""
        return self.ports.binder

    @property
    def api(self) -> Api:
        """Reads and writes other objects."""
        return self.ports.api

    @property
    def metrics(self) -> SchedulerMetrics:
        """Metrics."""
        return self.ports.metrics

    def may_report(self) -> bool:
        """Whether people are to read now what is wrong with pods."""
        return self.ports.may_report()

    def random(self) -> float:
        """A number in [0, 1)."""
        return self.ports.random()

    def activate(self, pods: Mapping[str, PodInfo]) -> None:
        """Move these pods (by `namespace/name`) to the active queue, wherever in the queue they are."""
        self.queue.activate(pods.values())

    def end_nomination(self, pod: PodInfo) -> None:
        """The pod is nominated no more, and whoever waits for that capacity is tried."""
        if self.nominator.clear(pod.uid):
            self.queue.move_all(ASSIGNED_POD_DELETE, pod, None, besides=pod.uid)

    def lister(self, kind: WatchedKind[Obj]) -> Lister[Obj]:
        """Objects of a kind that a plugin declared in `watches`. Raises KeyError for any other."""
        return self.ports.listers[kind.resource]

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run this beside everything else."""
        self.ports.spawn(work)

    def paced(self, work: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]:
        """Work to be run as a task of its own within one of the plugin's."""
        return self.ports.standstill.pace_own(work)

    def shared(self, key: str, make: Callable[[], T]) -> T:
        """The object that the plugins of all profiles share under `key`; the first caller makes it."""
        if key not in self.shared_values:
            self.shared_values[key] = make()
        return cast("T", self.shared_values[key])
