"""The handle that `Cluster` gives a plugin: all that a `Handle` has, and a record of what the plugin did with it.

There is no queue, no API server and no binding cycle. Requests to them are recorded; work that the plugin spawns runs
when the test calls `Cluster.settle`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple, TypeVar, cast

from muster.framework.contract import Api, Binder, Lister, PodInfo, Status, WatchedKind
from muster.framework.contract.api import NoApi
from muster.framework.contract.handle import Obj
from muster.framework.embedded.clock import VirtualClock
from muster.framework.embedded.known import KnownObjects
from muster.framework.metrics import SchedulerMetrics
from muster.framework.runtime.nominator import PodNominator
from muster.framework.runtime.standstill import Standstill
from muster.framework.runtime.waiting_pods import PodsAtPermit
from muster.framework.snapshot.snapshot import Snapshot

T = TypeVar("T")


class RecordedEvent(NamedTuple):
    """An Event that a plugin wrote, about a pod `namespace/name`."""

    regarding: str
    reason: str
    note: str


class NoBinder:
    """Implements `contract.Binder` for a cluster without an API."""

    async def bind(self, pod: PodInfo, node_name: str) -> Status | None:
        """Fails."""
        return Status.failure(f"there is no API server to bind {pod.key} at")


@dataclass
class ClusterHandle:
    """Implements `contract.Handle`.

    Attributes:
        recorded: the Events that plugins wrote.
        activated: keys of the pods that plugins moved to the active queue.
        ended_nominations: keys of the pods whose nomination plugins ended.
        spawned: work that plugins started and that has not run yet.
    """

    snapshot: Snapshot
    clock: VirtualClock
    profile_name: str = "muster"
    binder: Binder = field(default_factory=NoBinder)
    api: Api = field(default_factory=NoApi)
    metrics: SchedulerMetrics = field(default_factory=SchedulerMetrics)
    nominator: PodNominator = field(default_factory=PodNominator)
    waiting_pods: PodsAtPermit = field(default_factory=lambda: PodsAtPermit(Standstill()))
    random: Callable[[], float] = field(default_factory=lambda: Random(0).random)
    objects: defaultdict[str, KnownObjects] = field(default_factory=lambda: defaultdict(KnownObjects))
    values: dict[str, Any] = field(default_factory=dict)
    recorded: list[RecordedEvent] = field(default_factory=list)
    activated: list[str] = field(default_factory=list)
    ended_nominations: list[str] = field(default_factory=list)
    spawned: list[Coroutine[Any, Any, None]] = field(default_factory=list)

    @property
    def stopwatch(self) -> Callable[[], float]:
        """The clock's seconds."""
        return self.clock.now

    @property
    def events(self) -> ClusterHandle:
        """The recorder of Events: `recorded`."""
        return self

    def event(
        self, regarding: PodInfo, *, type: str, reason: str, action: str, note: str, related: PodInfo | None = None
    ) -> None:
        """Record an Event."""
        self.recorded.append(RecordedEvent(regarding.key, reason, note))

    def lister(self, kind: WatchedKind[Obj]) -> Lister[Obj]:
        """The objects that the cluster keeps of the kind."""
        return self.objects[kind.resource]

    def end_nomination(self, pod: PodInfo) -> None:
        """End the nomination."""
        self.nominator.clear(pod.uid)
        self.ended_nominations.append(pod.key)

    def may_report(self) -> bool:
        """True: this scheduler is the only one, and knows the whole cluster."""
        return True

    def report_gate(self, pod: PodInfo, message: str) -> None:
        """Record an Event: there is no condition."""
        self.recorded.append(RecordedEvent(pod.key, "FailedScheduling", message))

    def activate(self, pods: Mapping[str, PodInfo]) -> None:
        """Record the pods: there is no queue."""
        self.activated += pods

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Keep the work until the cluster settles."""
        self.spawned.append(work)

    def paced(self, work: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]:
        """The work itself: no decision is ever in progress."""
        return work

    def shared(self, key: str, make: Callable[[], T]) -> T:
        """The object that all plugins of the cluster share."""
        if key not in self.values:
            self.values[key] = make()
        return cast("T", self.values[key])
