"""The engine's metrics: kube-scheduler's names, labels and buckets, each family declared once.

The builder of an engine creates one `SchedulerMetrics` and passes it to `build_engine`; plugins find it as
`handle.metrics`. A family that changes alone is updated where the thing happens:
`metrics.preemption_attempts.add(())`. Where one event changes several families, a method here does it. Dashboards and
alerts written for kube-scheduler find every stable and beta series that they query. Families without labels are 0 from
the start; those with labels appear with their first series, as in kube-scheduler. Durations are in seconds; the label
`profile` is a profile's schedulerName.

One family differs: plugin_evaluation_total at Filter and Score grows by one per pod, not by one per node, because
plugins answer about all nodes in one call.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Literal

from .families import Counter, Family, Gauge, Histogram, JointCounter, Labels, exponential

Result = Literal["scheduled", "unschedulable", "error"]
GroupResult = Literal["scheduled", "unschedulable", "error", "waiting_on_preemption"]
PreemptionResult = Literal["success", "error"]
EntityType = Literal["pod", "podgroup"]
DevicesResult = Literal["success", "failure", "timeout", "error"]

_MILLISECONDS = exponential(0.001, 2, 15)
_EXTENSION_POINT = exponential(0.0001, 2, 12)
_PLUGIN = exponential(0.00001, 1.5, 20)
_END_TO_END = exponential(0.01, 2, 20)

_GROUP_SIZES = (8, 64, 512)
"""Groups of up to so many members share a series; larger ones have one together."""

_ATTEMPTS = (*map(str, range(15)), "15+")
_MOST_ATTEMPTS = len(_ATTEMPTS) - 1


def _counter(name: str, text: str, labels: Labels = ()) -> Counter:
    return field(default_factory=lambda: Counter(name, text, labels))


def _joint_counter(name: str, text: str, labels: Labels) -> JointCounter:
    return field(default_factory=lambda: JointCounter(name, text, labels))


def _gauge(name: str, text: str, labels: Labels = ()) -> Gauge:
    return field(default_factory=lambda: Gauge(name, text, labels))


def _histogram(name: str, text: str, labels: Labels = (), *, bounds: tuple[float, ...]) -> Histogram:
    return field(default_factory=lambda: Histogram(name, text, labels, bounds=bounds))


@dataclass(eq=False)
class SchedulerMetrics:
    """All families of one engine."""

    schedule_attempts: Counter = _counter(
        "scheduler_schedule_attempts_total",
        "[STABLE] Attempts to schedule a pod, by result: 'scheduled', 'unschedulable' or 'error'.",
        ("result", "profile"),
    )
    scheduling_attempt_duration: Histogram = _histogram(
        "scheduler_scheduling_attempt_duration_seconds",
        "[STABLE] Duration of an attempt, from the choice of a node to the end of binding.",
        ("result", "profile"),
        bounds=_MILLISECONDS,
    )
    scheduling_algorithm_duration: Histogram = _histogram(
        "scheduler_scheduling_algorithm_duration_seconds",
        "[BETA] Time taken to choose a node.",
        bounds=_MILLISECONDS,
    )
    extension_point_duration: Histogram = _histogram(
        "scheduler_framework_extension_point_duration_seconds",
        "[STABLE] Duration of an extension point, all plugins together.",
        ("extension_point", "status", "profile"),
        bounds=_EXTENSION_POINT,
    )
    plugin_execution_duration: Histogram = _histogram(
        "scheduler_plugin_execution_duration_seconds",
        "[BETA] Duration of a plugin at an extension point; one cycle in ten is measured.",
        ("plugin", "extension_point", "status"),
        bounds=_PLUGIN,
    )
    plugin_evaluations: JointCounter = _joint_counter(
        "scheduler_plugin_evaluation_total",
        "[BETA] Pods that a plugin evaluated at PreFilter, Filter, PreScore and Score.",
        ("plugin", "extension_point", "profile"),
    )
    plugin_slow_calls: Counter = _counter(
        "muster_plugin_slow_calls_total",
        "[ALPHA] Calls of a plugin that blocked the scheduler for more than 100 ms.",
        ("plugin", "extension_point"),
    )
    pod_scheduling_attempts: Histogram = _histogram(
        "scheduler_pod_scheduling_attempts",
        "[STABLE] Attempts that a pod needed until it was bound.",
        bounds=exponential(1, 2, 5),
    )
    pod_scheduling_sli_duration: Histogram = _histogram(
        "scheduler_pod_scheduling_sli_duration_seconds",
        "[BETA] From a pod's entry into the queue until it was bound, by the number of attempts.",
        ("attempts",),
        bounds=_END_TO_END,
    )
    pods_scheduled_after_flush: Counter = _counter(
        "scheduler_pod_scheduled_after_flush_total",
        "[ALPHA] Pods bound after the time limit woke them; many of them mean that a plugin misses an event.",
    )
    permit_wait_duration: Histogram = _histogram(
        "scheduler_permit_wait_duration_seconds",
        "[BETA] Time for which a pod waited at Permit.",
        ("result",),
        bounds=_MILLISECONDS,
    )
    queue_incoming_pods: Counter = _counter(
        "scheduler_queue_incoming_pods_total",
        "[STABLE] Pods that entered a part of the queue, by the event that moved them.",
        ("queue", "event"),
    )
    queue_incoming_entities: Counter = _counter(
        "scheduler_queue_incoming_entities_total",
        "[ALPHA] Entries, single pods or pod groups, that entered a part of the queue.",
        ("queue", "event", "type"),
    )
    unschedulable_pods: Gauge = _gauge(
        "scheduler_unschedulable_pods",
        "[BETA] Pods that a plugin rejected and that wait; a pod counts once for each such plugin.",
        ("plugin", "profile"),
    )
    reservations: Gauge = _gauge(
        "muster_reservations",
        "[ALPHA] Pods and groups that have waited long and for which capacity is reserved.",
    )
    goroutines: Gauge = _gauge(
        "scheduler_goroutines",
        "[BETA] Concurrent work in progress, such as bindings.",
        ("operation",),
    )
    event_handling_duration: Histogram = _histogram(
        "scheduler_event_handling_duration_seconds",
        "[ALPHA] Duration of the handling of a cluster event by cache and queue.",
        ("event",),
        bounds=_EXTENSION_POINT,
    )
    podgroup_schedule_attempts: Counter = _counter(
        "scheduler_podgroup_schedule_attempts_total",
        "[ALPHA] Attempts to schedule a pod group, by result.",
        ("result", "profile"),
    )
    podgroup_scheduling_attempt_duration: Histogram = _histogram(
        "scheduler_podgroup_scheduling_attempt_duration_seconds",
        "[ALPHA] Duration of an attempt to schedule a pod group.",
        ("result", "profile"),
        bounds=_MILLISECONDS,
    )
    podgroup_scheduling_algorithm_duration: Histogram = _histogram(
        "scheduler_podgroup_scheduling_algorithm_duration_seconds",
        "[ALPHA] Time taken to choose nodes for a pod group.",
        bounds=_MILLISECONDS,
    )
    podgroup_quorum_duration: Histogram = _histogram(
        "muster_podgroup_quorum_duration_seconds",
        "[ALPHA] From the first sight of a Coscheduling group's first member until its quorum was bound, by size.",
        ("size",),
        bounds=_END_TO_END,
    )
    podgroups_denied: Counter = _counter(
        "muster_podgroup_denied_total",
        "[ALPHA] Times a pod group was rejected without a trial because it had been denied recently.",
    )
    generated_placements: Counter = _counter(
        "scheduler_generated_placements_total",
        "[ALPHA] Topology domains that were candidates for groups.",
        ("profile",),
    )
    placement_evaluations: Counter = _counter(
        "scheduler_placement_evaluations_total",
        "[ALPHA] Trials of a group in one topology domain, by result.",
        ("result", "profile"),
    )
    placement_evaluation_duration: Histogram = _histogram(
        "scheduler_placement_evaluation_duration_seconds",
        "[ALPHA] Duration of a trial of a group in one topology domain.",
        bounds=_MILLISECONDS,
    )
    preemption_attempts: Counter = _counter(
        "scheduler_preemption_attempts_total",
        "[STABLE] Attempts to find capacity by preemption, whether any was found or not.",
    )
    preemption_victims: Histogram = _histogram(
        "scheduler_preemption_victims",
        "[STABLE] Pods chosen to be evicted, per preemption.",
        bounds=exponential(1, 2, 7),
    )
    workload_preemption_attempts: Counter = _counter(
        "scheduler_workload_preemption_attempts_total",
        "[ALPHA] Attempts to find capacity for a group by preemption, by result.",
        ("result",),
    )
    workload_preemption_victims: Histogram = _histogram(
        "scheduler_workload_preemption_victims",
        "[ALPHA] Pods chosen to be evicted, per preemption for a group.",
        bounds=exponential(1, 2, 11),
    )
    preemption_workload_disruptions: Histogram = _histogram(
        "scheduler_preemption_workload_disruptions",
        "[ALPHA] Groups evicted as a whole, and other victims, per preemption that evicts any.",
        ("preemptor",),
        bounds=exponential(1, 2, 11),
    )
    preemption_pdb_violations: Counter = _counter(
        "scheduler_preemption_pdb_violations_total",
        "[ALPHA] Pods chosen to be evicted against a PodDisruptionBudget.",
        ("preemptor",),
    )
    preemption_execution_duration: Histogram = _histogram(
        "scheduler_preemption_execution_duration_seconds",
        "[ALPHA] From the decision to evict until every eviction was requested.",
        ("preemptor", "result"),
        bounds=exponential(0.001, 2, 16),
    )
    preemption_executions: Counter = _counter(
        "scheduler_preemption_goroutines_execution_total",
        "[ALPHA] Preemptions for one pod or group, by whether all evictions could be requested.",
        ("result",),
    )
    volume_stage_errors: Counter = _counter(
        "scheduler_volume_scheduling_stage_error_total",
        "[ALPHA] Errors at a stage of volume scheduling: 'predicate', 'assume' or 'bind'.",
        ("operation",),
    )
    resourceclaim_creates: Counter = _counter(
        "dynamic_resource_allocation_resourceclaim_creates_total",
        "[ALPHA] ResourceClaims created for extended resources of pods.",
        ("status", "admin_access", "owner_api_group", "owner_api_kind"),
    )
    bindingconditions_allocations: Counter = _counter(
        "scheduler_dra_bindingconditions_allocations_total",
        "[ALPHA] Devices that had to be prepared before a pod was bound, by result.",
        ("profile", "driver", "status"),
    )
    bindingconditions_wait_duration: Histogram = _histogram(
        "scheduler_dra_bindingconditions_wait_duration_seconds",
        "[ALPHA] Time for which a pod waited until its devices were prepared.",
        ("profile", "driver", "status"),
        bounds=exponential(0.1, 2, 14),
    )

    def families(self) -> Iterator[Family]:
        """Every family, in the order above."""
        yield from (getattr(self, row.name) for row in fields(self))

    def pod_attempted(self, result: Result, *, profile: str, seconds: float) -> None:
        """A pod's attempt is over: it is bound, or its scheduling or binding cycle has failed."""
        labels = (result, profile)
        self.schedule_attempts.add(labels)
        self.scheduling_attempt_duration.observe(labels, seconds)

    def pod_bound(self, *, attempts: int, sli_seconds: float, after_flush: bool) -> None:
        """A pod is bound.

        Args:
            attempts: how many it took, this one included.
            sli_seconds: time since the pod first entered the queue.
            after_flush: whether it last left unschedulablePods because of their time limit, not because of an event.
        """
        self.pod_scheduling_attempts.observe((), attempts)
        self.pod_scheduling_sli_duration.observe((_ATTEMPTS[min(attempts, _MOST_ATTEMPTS)],), sli_seconds)
        if after_flush:
            self.pods_scheduled_after_flush.add(())

    def group_attempted(self, result: GroupResult, *, profile: str, seconds: float) -> None:
        """A pod group's attempt is over."""
        labels = (result, profile)
        self.podgroup_schedule_attempts.add(labels)
        self.podgroup_scheduling_attempt_duration.observe(labels, seconds)

    def quorum_bound(self, seconds: float, *, members: int) -> None:
        """The quorum of a group with so many `members` is bound, `seconds` after its first member was seen."""
        size = next((str(most) for most in _GROUP_SIZES if members <= most), "+Inf")
        self.podgroup_quorum_duration.observe((size,), seconds)

    def queue_incoming(self, queue: str, event: str, *, entity: EntityType, pods: int) -> None:
        """A queue entry of so many pods (1 if it is a pod by itself) entered a part of the queue.

        Args:
            queue: `active`, `backoff` or `unschedulable`.
            event: label of what moved it, e.g. `UnscheduledPodAdd`, `BackoffComplete`.
            entity: what the entry is.
            pods: how many pods came with it.
        """
        self.queue_incoming_pods.add((queue, event), pods)
        self.queue_incoming_entities.add((queue, event, entity))

    def placement_evaluated(self, *, feasible: bool, profile: str, seconds: float) -> None:
        """A group was tried in one domain, which took it or not."""
        self.placement_evaluations.add(("feasible" if feasible else "infeasible", profile))
        self.placement_evaluation_duration.observe((), seconds)

    def victims_chosen(self, victims: int, *, preemptor: EntityType, violations: int, disruptions: int) -> None:
        """So many pods are to be evicted for one pod or group.

        Args:
            victims: how many.
            preemptor: for what.
            violations: how many of them a PodDisruptionBudget protects.
            disruptions: how many of them are pods of groups, with a group that is evicted as a whole counted once.
        """
        (self.preemption_victims if preemptor == "pod" else self.workload_preemption_victims).observe((), victims)
        if disruptions:
            self.preemption_workload_disruptions.observe((preemptor,), disruptions)
        if violations:
            self.preemption_pdb_violations.add((preemptor,), violations)

    def preemption_executed(self, result: PreemptionResult, *, preemptor: EntityType, seconds: float) -> None:
        """The evictions for one pod or group have been asked for, or one of them failed."""
        self.preemption_execution_duration.observe((preemptor, result), seconds)
        self.preemption_executions.add((result,))

    def devices_awaited(
        self, result: DevicesResult, *, profile: str, drivers: Sequence[str], conditional: Sequence[str], seconds: float
    ) -> None:
        """The wait for a pod's devices is over: the driver of each device, and of each that had to be made ready."""
        for driver in drivers:
            self.bindingconditions_wait_duration.observe((profile, driver, result), seconds)
        for driver in conditional:
            self.bindingconditions_allocations.add((profile, driver, result))
