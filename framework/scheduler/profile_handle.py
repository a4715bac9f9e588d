"""What the engine needs of the outside, and the handle that it gives the plugins of a profile.

The operator supplies the ports; tests and `muster explain` supply others.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, cast

from ..contract.api import Api, NoApi
from ..contract.cycle_state import CycleState, Unfinished
from ..contract.events import ASSIGNED_POD_DELETE
from ..contract.extender import Extender, PreemptionQuestion, Victims
from ..contract.handle import Binder, Clock, ConditionWriter, EventSink, Lister, Obj, Timer, WatchedKind
from ..contract.pod_group import DisruptionUnit
from ..contract.status import Status
from ..contract.verdicts import Diagnosis
from ..metrics import SchedulerMetrics
from ..model.pod_info import PodInfo
from ..queue.scheduling_queue import SchedulingQueue
from ..runtime.framework import Framework
from ..runtime.nominator import PodNominator
from ..runtime.standstill import Standstill
from ..runtime.waiting import WaitingPods
from ..snapshot.snapshot import Snapshot
from ..snapshot.view import NodeView
from .disruption import DisruptionUnits

_NOT_FOR_GROUPS = "extenders are not asked whom a member of a group may evict"


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
        metrics: metrics.
        api: reads and writes what plugins have to.
        extenders: webhooks that have a say, in the order of asking.
        choose: `(n) -> 0 … n - 1`, one of n nodes that are equally good: any in a process that schedules, the first
            where the same answer is wanted every time.
        standstill: what of the outside waits while a long decision is under way.
        stopwatch: seconds by which is measured how long something takes; by default the clock's.
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

    def held_up(self) -> Ports:
        """The same surroundings, whose timers and tasks wait for the end of a decision that is under way."""
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
    waiting_pods: WaitingPods
    nominator: PodNominator
    ports: Ports
    queue: SchedulingQueue
    units: DisruptionUnits
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

    @contextmanager
    def trial(self) -> Iterator[PodTrial]:
        """Put pods on nodes and take them off inside a `with`; when it ends all is as before."""
        with self.snapshot.trial():
            yield PodTrial(self.framework, self.snapshot)

    def run_filter_plugins_with_nominated_pods(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Diagnosis:
        """Ask the profile's Filter plugins about `nodes`, as they are in the trials around the call."""
        diagnosis = self.framework.run_filter_plugins_with_nominated_pods(state, pod, nodes)
        if state.long_work.left is not None:
            raise Unfinished("a Filter plugin has not come to an end")
        return diagnosis

    def work_out(self, state: CycleState, pod: PodInfo) -> None:
        """Do what a Filter plugin has left to do."""
        return self.framework.work_out(state, pod)

    def ask_extenders(
        self, state: CycleState, pod: PodInfo, victims: Mapping[str, Victims]
    ) -> Mapping[str, Victims] | Status | None:
        """Which of these evictions the extenders leave, by node; None while they have yet to be asked."""
        consultation = state.consultation
        if consultation is None or not any(
            extender.supports_preemption and extender.is_interested(pod) for extender in self.ports.extenders
        ):
            return victims
        if state.group:
            return Status.unschedulable(_NOT_FOR_GROUPS)
        if consultation.preemption is None:
            pods = {name: self._pods_on(name) | {pod.uid: pod for pod in victims[name].pods} for name in victims}
            consultation.preemption = PreemptionQuestion(victims, pods)
        return consultation.evictions

    def _pods_on(self, node_name: str) -> dict[str, PodInfo]:
        row = self.snapshot.row_of(node_name)
        return {} if row is None else {pod.uid: pod for pod in self.snapshot.pods[row].values()}

    def filters_depend_on_cluster(self, state: CycleState) -> bool:
        """Whether a Filter plugin that has not skipped the pod looks beyond each node."""
        return self.framework.filters_depend_on_cluster(state)

    def filter_epoch(self, state: CycleState) -> Hashable:
        """Changes with what the Filter plugins go by besides the pod, the node and the pods on it."""
        return self.framework.filter_epoch(state)

    def random(self) -> float:
        """A number in [0, 1)."""
        return self.ports.random()

    def activate(self, pods: Mapping[str, PodInfo]) -> None:
        """Move these pods (by `namespace/name`) to the active queue, wherever in the queue they are."""
        self.queue.activate(pods.values())

    def end_promise(self, pod: PodInfo) -> None:
        """The pod is nominated no more, and whoever waits for that capacity is tried."""
        if self.nominator.clear(pod.uid):
            self.queue.move_all(ASSIGNED_POD_DELETE, pod, None, besides=pod.uid)

    def disruption_unit(self, pod: PodInfo) -> DisruptionUnit | None:
        """Pods that run and need this one, as plugins know them."""
        return self.units.of(pod)

    def preempt(self, uid: str, plugin: str) -> bool:
        """Turn a pod away that has a node but is not bound."""
        return self.waiting_pods.preempt(uid, plugin)

    def lister(self, kind: WatchedKind[Obj]) -> Lister[Obj]:
        """Objects of a kind that a plugin declared in `watches`. Raises KeyError for any other."""
        return self.ports.listers[kind.resource]

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run this beside everything else."""
        self.ports.spawn(work)

    def paced(self, work: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]:
        """The same work for a task of its own within one of the plugin's."""
        return self.ports.standstill.pace_own(work)

    def shared(self, key: str, make: Callable[[], T]) -> T:
        """What the plugins of all profiles keep together under `key`; made by whoever asks first."""
        if key not in self.shared_values:
            self.shared_values[key] = make()
        return cast("T", self.shared_values[key])


@dataclass(frozen=True, slots=True)
class PodTrial:
    """Implements `contract.Trial`: changes of the snapshot under its undo log, told to the PreFilterExtensions."""

    framework: Framework
    snapshot: Snapshot

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node_name: str) -> Status | None:
        """Count `added` on the node while `pod` is being decided."""
        self.snapshot.add_pod(added, node_name)
        return self.framework.run_pre_filter_extension_add_pod(state, pod, added, node_name)

    def remove_pod(self, state: CycleState, pod: PodInfo, removed: PodInfo, node_name: str) -> Status | None:
        """Take `removed` off the node while `pod` is being decided."""
        self.snapshot.remove_pod(removed, node_name)
        return self.framework.run_pre_filter_extension_remove_pod(state, pod, removed, node_name)
