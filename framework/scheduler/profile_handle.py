"""What the engine needs of the outside, and the handle that it gives the plugins of a profile.

The operator supplies the ports; tests and `muster explain` supply others.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from ..contract.api import Api, NoApi
from ..contract.cycle_state import CycleState
from ..contract.handle import Binder, Clock, ConditionWriter, EventSink, Lister
from ..contract.observer import NullObserver, Observer
from ..contract.status import Status
from ..contract.verdicts import Diagnosis
from ..model.pod_info import PodInfo
from ..runtime.framework import Framework
from ..runtime.nominator import PodNominator
from ..runtime.waiting import WaitingPods
from ..snapshot.snapshot import Snapshot
from ..snapshot.view import NodeView


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


T = TypeVar("T")


@dataclass(slots=True)
class ProfileHandle:
    """Implements `contract.handle.Handle` for one profile. `framework` is set once its plugins have been made."""

    profile_name: str
    snapshot: Snapshot
    waiting_pods: WaitingPods
    nominator: PodNominator
    ports: Ports
    activate: Callable[[Mapping[str, PodInfo]], None]
    shared_values: dict[str, object]
    framework: Framework = field(init=False)

    @property
    def clock(self) -> Clock:
        """Time."""
        return self.ports.clock

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
    def observer(self) -> Observer:
        """Metrics."""
        return self.ports.observer

    @contextmanager
    def trial(self) -> Iterator[PodTrial]:
        """Put pods on nodes and take them off inside a `with`; when it ends all is as before."""
        with self.snapshot.trial():
            yield PodTrial(self.framework, self.snapshot)

    def run_filter_plugins_with_nominated_pods(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Diagnosis:
        """Ask the profile's Filter plugins about `nodes`, as they are in the trials around the call."""
        return self.framework.run_filter_plugins_with_nominated_pods(state, pod, nodes)

    def filters_depend_on_cluster(self, state: CycleState) -> bool:
        """Whether a Filter plugin that has not skipped the pod looks beyond each node."""
        return self.framework.filters_depend_on_cluster(state)

    def random(self) -> float:
        """A number in [0, 1)."""
        return self.ports.random()

    def preempt(self, uid: str, plugin: str) -> bool:
        """Turn a pod away that has a node but is not bound."""
        return self.waiting_pods.preempt(uid, plugin)

    def lister(self, resource: str) -> Lister:
        """Objects of a kind that a plugin declared in `watches`. Raises KeyError for any other."""
        return self.ports.listers[resource]

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run this beside everything else."""
        self.ports.spawn(work)

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
