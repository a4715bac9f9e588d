"""Frameworks and algorithms over a snapshot that a test fills itself, with nothing remembered yet."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar, cast

from muster.framework.config import ResolvedProfile
from muster.framework.contract import Handle, Plugin
from muster.framework.embedded.clock import VirtualClock
from muster.framework.metrics import SchedulerMetrics
from muster.framework.model.pod_info import PodInfo
from muster.framework.runtime.call_watch import CallWatch
from muster.framework.runtime.framework import Framework, SharedParts
from muster.framework.runtime.nominator import PodNominator
from muster.framework.runtime.standstill import Standstill
from muster.framework.runtime.waiting_pods import PodsAtPermit
from muster.framework.scheduler.algorithm import Algorithm
from muster.framework.snapshot.snapshot import Snapshot

T = TypeVar("T")


@dataclass
class SnapshotHandle:
    """As much of a handle as plugins need that look at the snapshot only."""

    snapshot: Snapshot
    profile_name: str
    clock: VirtualClock
    waiting_pods: PodsAtPermit
    metrics: SchedulerMetrics = field(default_factory=SchedulerMetrics)

    def activate(self, pods: Mapping[str, PodInfo]) -> None:
        """There is no queue."""

    def shared(self, key: str, make: Callable[[], T]) -> T:
        """Nothing is shared: there is but one profile."""
        return make()


def algorithm_of(profile: ResolvedProfile, registry: Mapping[str, type[Plugin]], snapshot: Snapshot) -> Algorithm:
    """A profile that is about to look at the snapshot for the first time."""
    nominator, waiting, clock = PodNominator(), PodsAtPermit(Standstill()), VirtualClock()
    handle = SnapshotHandle(snapshot, profile.scheduler_name, clock, waiting)
    metrics = handle.metrics
    framework = Framework(
        profile,
        registry,
        lambda *_: cast("Handle", handle),
        SharedParts(snapshot, nominator, waiting, clock, metrics, CallWatch(clock.now, metrics)),
    )
    return Algorithm(framework, snapshot, nominator)
