"""The handle that the engine gives to the plugins of a profile; `preemption_handle` extends it for preemption."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from ..contract.api import Api
from ..contract.events import ASSIGNED_POD_DELETE
from ..contract.handle import Binder, Clock, EventSink, Lister, Obj, WatchedKind
from ..metrics import SchedulerMetrics
from ..model.pod_info import PodInfo
from ..queue.scheduling_queue import SchedulingQueue
from ..runtime.framework import Framework
from ..runtime.nominator import PodNominator
from ..runtime.waiting_pods import PodsAtPermit
from ..snapshot.snapshot import Snapshot
from .ports import Ports
from .reports import Reports

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ProfileHandle:
    """Implements `contract.handle.Handle` for one profile, that of `framework`."""

    framework: Framework
    snapshot: Snapshot
    waiting_pods: PodsAtPermit
    nominator: PodNominator
    ports: Ports
    reports: Reports
    queue: SchedulingQueue
    shared_values: dict[str, object]

    @property
    def profile_name(self) -> str:
        """The schedulerName of the profile."""
        return self.framework.name

    @property
    def clock(self) -> Clock:
        """The engine's clock."""
        return self.ports.clock

    @property
    def stopwatch(self) -> Callable[[], float]:
        """Seconds for measuring durations."""
        return self.ports.measured.now

    @property
    def events(self) -> EventSink:
        """Records Events for users, in this profile's name."""
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
        """Whether plugins may report on waiting pods now."""
        return self.ports.may_report()

    def report_gate(self, pod: PodInfo, message: str) -> None:
        """Report a pod that the plugin gates."""
        self.reports.gated(pod, message)

    def random(self) -> float:
        """A number in [0, 1)."""
        return self.ports.random()

    def activate(self, pods: Mapping[str, PodInfo]) -> None:
        """Move these pods, by `namespace/name`, to activeQ from wherever they wait."""
        self.queue.activate(pods.values())

    def end_nomination(self, pod: PodInfo) -> None:
        """End the pod's nomination, and move the pods that wait for its capacity."""
        if self.nominator.clear(pod.uid):
            self.queue.move_all(ASSIGNED_POD_DELETE, pod, None, except_uid=pod.uid)

    def lister(self, kind: WatchedKind[Obj]) -> Lister[Obj]:
        """Objects of a kind that a plugin declared in `watches`. Raises KeyError for any other."""
        return self.ports.listers[kind.resource]

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run this as a task beside everything else."""
        self.ports.spawn(work)

    def paced(self, work: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]:
        """The work, for a task of its own within one of the plugin's tasks."""
        return self.ports.standstill.pace_own(work)

    def shared(self, key: str, make: Callable[[], T]) -> T:
        """The object that the plugins of all profiles share under `key`; the first caller makes it."""
        if key not in self.shared_values:
            self.shared_values[key] = make()
        return cast("T", self.shared_values[key])
