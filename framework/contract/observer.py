"""How the engine tells the outside what it does, without knowing who listens.

The queue, the runtime and the cycles call an `Observer`; the operator listens with counters and histograms, tests and
embedders with `NullObserver`. The names follow the metrics of kube-scheduler that the calls end up in.

Rules for both sides:
- All calls come from the event loop's thread. An observer neither blocks, awaits nor raises.
- A call is worth about a microsecond: it is made a few times a pod, never once a node.
- What can be read from state at any moment (pods pending, cache size) is not reported here; it is read when wanted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

from .status import Code

Result = Literal["scheduled", "unschedulable", "error"]
GroupResult = Literal["scheduled", "unschedulable", "error", "waiting_on_preemption"]
PreemptionResult = Literal["success", "error"]
EntityType = Literal["pod", "podgroup"]
VolumeStage = Literal["predicate", "assume", "bind"]
DevicesResult = Literal["success", "failure", "timeout", "error"]


class Observer(Protocol):
    """What the engine reports. Durations are in seconds; `profile` is a profile's schedulerName."""

    def attempt(self, result: Result, *, profile: str, seconds: float) -> None:
        """A pod's attempt is over: when it is bound, or when its scheduling or binding cycle has failed."""

    def algorithm_seconds(self, seconds: float) -> None:
        """The choice of a node for one pod took this long; reported when there was a choice."""

    def group_attempt(self, result: GroupResult, *, profile: str, seconds: float) -> None:
        """A pod group's attempt is over."""

    def group_algorithm_seconds(self, seconds: float) -> None:
        """The placing of one group took this long."""

    def placements_generated(self, count: int, *, profile: str) -> None:
        """So many domains were found that a group may have to be tried in."""

    def placement_evaluated(self, *, feasible: bool, profile: str, seconds: float) -> None:
        """A group was tried in one domain, which took it or not."""

    def extension_point(self, point: str, status: Code, *, profile: str, seconds: float) -> None:
        """All plugins of one extension point (`PreFilter`, `Filter`, …) ran for a pod."""

    def plugin_execution(self, plugin: str, *, point: str, status: Code, seconds: float) -> None:
        """One plugin ran at one extension point. The caller reports one cycle in ten, chosen at random."""

    def plugins_evaluated(self, plugins: tuple[str, ...], *, point: str, profile: str) -> None:
        """These plugins had their say at a pod's PreFilter, Filter, PreScore or Score."""

    def plugin_slow(self, plugin: str, *, point: str, seconds: float) -> None:
        """A call of a plugin held up everything else for more than a tenth of a second."""

    def bound(self, *, attempts: int, sli_seconds: float, after_flush: bool) -> None:
        """A pod is bound.

        Args:
            attempts: how many it took, this one included.
            sli_seconds: time since the pod first entered the queue.
            after_flush: whether its last way out of the unschedulable pods was their time limit, not an event.
        """

    def permit_wait(self, result: Code, *, seconds: float) -> None:
        """A pod held by Permit was let go (SUCCESS) or turned away after waiting this long."""

    def group_denied(self) -> None:
        """A group was turned away because it was denied a moment ago."""

    def reservations(self, change: int) -> None:
        """Room is reserved for so many more pods and groups that have waited long; negative for fewer."""

    def group_bound(self, seconds: float, *, members: int) -> None:
        """A group's quorum is bound, so long after its first member was seen."""

    def queue_incoming(self, queue: str, event: str, *, entity: EntityType, pods: int) -> None:
        """A queue entry of so many pods (1 if it is a pod by itself) entered a part of the queue.

        Args:
            queue: `active`, `backoff` or `unschedulable`.
            event: label of what moved it, e.g. `UnscheduledPodAdd`, `BackoffComplete`.
            entity: what the entry is.
            pods: how many pods came with it.
        """

    def unschedulable_pods(self, plugin: str, *, profile: str, change: int) -> None:
        """The number of pods this plugin holds back went up (1) or down (-1)."""

    def goroutines(self, operation: str, *, change: int) -> None:
        """A concurrent piece of work, e.g. `binding`, began (1) or ended (-1)."""

    def preemption_attempted(self) -> None:
        """A plugin looked for pods to evict, whether it found any or not."""

    def group_preemption_attempted(self, result: Code) -> None:
        """A plugin looked for pods to evict for a group, and came to this."""

    def preemption_victims(self, victims: int, *, preemptor: EntityType, violations: int, disruptions: int) -> None:
        """So many pods are to be evicted for one pod or group; so many of them no PodDisruptionBudget lets go.

        `disruptions` is how many of those that go are pods, or wholes, of groups.
        """

    def preemption_executed(self, result: PreemptionResult, *, preemptor: EntityType, seconds: float) -> None:
        """The evictions for one pod or group have been asked for, or one of them failed."""

    def volume_stage_failed(self, stage: VolumeStage, *, times: int = 1) -> None:
        """Judging a node by a pod's volumes, assuming or binding them ended in an error, once or so many times."""

    def claim_created(self, result: Literal["success", "failure"]) -> None:
        """A ResourceClaim for a pod's extended resources was asked for."""

    def devices_awaited(
        self, result: DevicesResult, *, profile: str, drivers: Sequence[str], conditional: Sequence[str], seconds: float
    ) -> None:
        """The wait for a pod's devices is over: the driver of each device, and of each that had to be made ready."""

    def event_handled(self, event: str, *, seconds: float) -> None:
        """A change in the cluster went into cache and queue; `event` is its label, e.g. `NodeAdd`."""


class NullObserver:
    """Listens to nothing."""

    def attempt(self, result: Result, *, profile: str, seconds: float) -> None:
        pass

    def algorithm_seconds(self, seconds: float) -> None:
        pass

    def group_attempt(self, result: GroupResult, *, profile: str, seconds: float) -> None:
        pass

    def group_algorithm_seconds(self, seconds: float) -> None:
        pass

    def placements_generated(self, count: int, *, profile: str) -> None:
        pass

    def placement_evaluated(self, *, feasible: bool, profile: str, seconds: float) -> None:
        pass

    def extension_point(self, point: str, status: Code, *, profile: str, seconds: float) -> None:
        pass

    def plugin_execution(self, plugin: str, *, point: str, status: Code, seconds: float) -> None:
        pass

    def plugins_evaluated(self, plugins: tuple[str, ...], *, point: str, profile: str) -> None:
        pass

    def plugin_slow(self, plugin: str, *, point: str, seconds: float) -> None:
        pass

    def bound(self, *, attempts: int, sli_seconds: float, after_flush: bool) -> None:
        pass

    def permit_wait(self, result: Code, *, seconds: float) -> None:
        pass

    def group_denied(self) -> None:
        pass

    def reservations(self, change: int) -> None:
        pass

    def group_bound(self, seconds: float, *, members: int) -> None:
        pass

    def queue_incoming(self, queue: str, event: str, *, entity: EntityType, pods: int) -> None:
        pass

    def unschedulable_pods(self, plugin: str, *, profile: str, change: int) -> None:
        pass

    def goroutines(self, operation: str, *, change: int) -> None:
        pass

    def event_handled(self, event: str, *, seconds: float) -> None:
        pass

    def preemption_attempted(self) -> None:
        pass

    def group_preemption_attempted(self, result: Code) -> None:
        pass

    def preemption_victims(self, victims: int, *, preemptor: EntityType, violations: int, disruptions: int) -> None:
        pass

    def preemption_executed(self, result: PreemptionResult, *, preemptor: EntityType, seconds: float) -> None:
        pass

    def volume_stage_failed(self, stage: VolumeStage, *, times: int = 1) -> None:
        pass

    def claim_created(self, result: Literal["success", "failure"]) -> None:
        pass

    def devices_awaited(
        self, result: DevicesResult, *, profile: str, drivers: Sequence[str], conditional: Sequence[str], seconds: float
    ) -> None:
        pass
