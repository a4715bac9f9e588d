"""The recorder between an engine and its inputs, which passes every event to a sink, in order.

`muster run --record` and tests build an engine on `ports`, and drive the engine that `watch` returns. It decides as
without a recorder, except that its time stands still within an event and its randomness has a seed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any, cast

from muster.framework.runtime.standstill import Standstill

from .calls import RecordedApi, RecordedBinder
from .decisions import DecisionListener
from .events import (
    Ended,
    Expired,
    Flushed,
    MemberEnded,
    MemberEnding,
    ObjectAdded,
    ObjectChanged,
    ObjectGone,
    Stepped,
    TaskWentOn,
    TimerEnded,
)
from .tasks import Task, Tasks

if TYPE_CHECKING:
    from muster.framework.contract import Clock
    from muster.framework.contract.handle import Timer
    from muster.framework.embedded.known import KindHandler
    from muster.framework.groups.record import EndedHandler, EndedMember
    from muster.framework.queue.scheduling_queue import SchedulingQueue
    from muster.framework.scheduler.engine import Engine
    from muster.framework.scheduler.event_handlers import NodeEventHandler, ObjectEventHandler, PodEventHandler
    from muster.framework.scheduler.ports import Ports
    from muster.framework.scheduler.scheduler import Scheduler

    from .events import AnyEvent

PODS, NODES = "pods", "nodes"


class Recorder:
    """Records one engine. `sink` receives each event; `clock` is the clock of the process.

    Attributes:
        clock: the engine's clock, which stands still within an event.
        standstill: the engine's standstill, which reports the steps of tasks to the recorder.
    """

    def __init__(self, sink: Callable[[AnyEvent], None], clock: Clock, seed: int) -> None:
        self.clock = EventClock(self, clock)
        self._sink = sink
        self._seed = seed
        self._tasks = Tasks(self)
        self._listener = DecisionListener(self.record)
        self.standstill = Standstill(clock.now, self._tasks.follow)
        self._ended = False

    def ports(self, ports: Ports) -> Ports:
        """The ports to build the engine on."""
        return replace(
            ports,
            clock=self.clock,
            stopwatch=ports.stopwatch or ports.clock.now,
            random=Random(self._seed).random,
            choose=Random(self._seed).randrange,
            pick=self._listener.pick,
            standstill=self.standstill,
            binder=RecordedBinder(self.record, self.now, self._tasks, ports.binder),
            api=RecordedApi(self.record, self.now, self._tasks, ports.api),
        )

    def watch(self, engine: Engine) -> Engine:
        """The engine with recorded inputs, for its driver."""
        self._listener.follow(engine)
        return replace(
            engine,
            pod_handler=cast("PodEventHandler", _Pods(self, PODS, engine.pod_handler)),
            node_handler=cast("NodeEventHandler", _ReportedObjects(self, NODES, engine.node_handler)),
            object_handlers={
                kind: cast("ObjectEventHandler", _ReportedObjects(self, kind.resource, handler))
                for kind, handler in engine.object_handlers.items()
            },
            ended_handlers={
                plugin: self._ended_members(plugin, handler) for plugin, handler in engine.ended_handlers.items()
            },
            queue=cast("SchedulingQueue", _Queue(self, engine.queue)),
            scheduler=cast("Scheduler", _Scheduler(self, engine)),
        )

    def _ended_members(self, plugin: str, handler: EndedHandler) -> EndedHandler:
        def recorded(uid: str, old: EndedMember | None, new: EndedMember | None) -> None:
            was, now = (None if member is None else MemberEnding(*member) for member in (old, new))
            # Written before the engine handles it, so that a decision follows its cause in the file.
            self.record(MemberEnded(self.now(), plugin, uid, was, now))
            handler(uid, old, new)

        return recorded

    def end(self) -> None:
        """End the recording."""
        if not self._ended:
            self.record(Ended(self.now()))
            self._ended = True

    def now(self) -> float:
        """The time of an event that happens now. Time stands still while a decision is in progress."""
        if not self.standstill.under_way:
            self.clock.move_on()
        return self.clock.now()

    def record(self, event: AnyEvent) -> None:
        """Record an event, unless the recording has ended."""
        if not self._ended:
            self._sink(event)

    def begin(self, task: Task) -> None:
        """Record that a task continues, see `tasks.Steps`."""
        self.record(TaskWentOn(self.now(), task.number))


class EventClock:
    """Implements `contract.Clock` with another clock, but moves only from event to event."""

    def __init__(self, recorder: Recorder, clock: Clock) -> None:
        self._recorder = recorder
        self._clock = clock
        self._now = clock.now()
        self._wall = clock.wall() - self._now
        self._timers = 0

    def now(self) -> float:
        """Seconds on a monotonic clock."""
        return self._now

    def wall(self) -> float:
        """Seconds since the epoch."""
        return self._wall + self._now

    def move_on(self) -> None:
        """Move to the current time, for a new event."""
        self._now = max(self._now, self._clock.now())

    def move_to(self, moment: float) -> None:
        """Move to the time of an event."""
        self._now = max(self._now, moment)

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        """Call `callback` after `seconds`, unless the timer is cancelled."""
        self._timers += 1
        number = self._timers

        def over() -> None:
            self._recorder.record(TimerEnded(self._recorder.now(), number))
            callback()

        return self._clock.call_later(seconds, over)


class _ReportedObjects:
    """The handler of one kind."""

    def __init__(self, recorder: Recorder, kind: str, handler: KindHandler) -> None:
        self._recorder = recorder
        self._kind = kind
        self._handler = handler

    def on_add(self, obj: Any) -> None:
        self._recorder.record(ObjectAdded(self._recorder.now(), self._kind, obj))
        self._handler.on_add(obj)

    def on_update(self, old: Any, new: Any) -> None:
        self._recorder.record(ObjectChanged(self._recorder.now(), self._kind, new))
        self._handler.on_update(old, new)

    def on_delete(self, obj: Any) -> None:
        self._recorder.record(ObjectGone(self._recorder.now(), self._kind, obj))
        self._handler.on_delete(obj)


class _Pods(_ReportedObjects):
    """The recorded handler of pods."""

    def __init__(self, recorder: Recorder, kind: str, handler: PodEventHandler) -> None:
        super().__init__(recorder, kind, handler)
        self._pods = handler

    def expire(self, now: float) -> None:
        self._recorder.clock.move_to(now)
        self._recorder.record(Expired(self._recorder.clock.now()))
        self._pods.expire(self._recorder.clock.now())


class _Queue:
    """The queue, whose flushes are recorded as events if they have an effect."""

    def __init__(self, recorder: Recorder, queue: SchedulingQueue) -> None:
        self._recorder = recorder
        self._queue = queue

    def flush(self, now: float) -> None:
        clock = self._recorder.clock
        clock.move_to(now)
        if self._queue.flush_is_due(clock.now()):
            self._recorder.record(Flushed(clock.now()))
        self._queue.flush(clock.now())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._queue, name)


class _Scheduler:
    """The scheduler, whose steps are recorded. A decision is one event, however many steps it takes."""

    def __init__(self, recorder: Recorder, engine: Engine) -> None:
        self._recorder = recorder
        self._scheduler = engine.scheduler
        self._queue = engine.queue

    def step(self) -> bool:
        scheduler = self._scheduler
        has_work = self._queue.pop_is_due() or scheduler.has_long_work or scheduler.has_review_due
        if not scheduler.under_way and has_work:
            self._recorder.record(Stepped(self._recorder.now()))
        return scheduler.step()

    def abort(self) -> None:
        if self._scheduler.under_way:
            self._recorder.end()
        self._scheduler.abort()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._scheduler, name)
