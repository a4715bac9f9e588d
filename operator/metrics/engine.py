"""The engine's metrics: kube-scheduler's names, labels and buckets, fed by what the engine reports.

The process makes one `EngineMetrics`, hands it to queue, runtime and cycles as their `Observer`, and registers it for
scraping. Dashboards and alerts written for kube-scheduler find every stable and beta series they ask for. Families
without labels stand at 0 from the start, those with labels appear with their first series, as in kube-scheduler.

One number counts something else: plugin_evaluation_total at Filter and Score grows by one a pod, not by one a node,
because plugins here judge all nodes in one call.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from prometheus_client.core import Metric

from muster.framework.contract.observer import (
    DevicesResult,
    EntityType,
    GroupResult,
    PreemptionResult,
    Result,
    VolumeStage,
)
from muster.framework.contract.status import Code

from .series import Counter, Gauge, Histogram, JointCounter, exponential

_MILLISECONDS = exponential(0.001, 2, 15)
_EXTENSION_POINT = exponential(0.0001, 2, 12)
_PLUGIN = exponential(0.00001, 1.5, 20)
_LOOP = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
_END_TO_END = exponential(0.01, 2, 20)

_GROUP_SIZES = (8, 64, 512)
"""Groups of up to so many members share a series; larger ones have one together."""

_STATUS = tuple(code.wire_name for code in sorted(Code))
_ATTEMPTS = (*map(str, range(15)), "15+")
_MOST_ATTEMPTS = len(_ATTEMPTS) - 1


class EngineMetrics:
    """An `Observer` that counts; `muster.framework.contract.observer` explains the calls."""

    def __init__(self) -> None:
        self._attempts = Counter(
            "scheduler_schedule_attempts_total",
            "[STABLE] Attempts to schedule a pod, by result: 'unschedulable' found no place, 'error' broke.",
            ("result", "profile"),
        )
        self._attempt_seconds = Histogram(
            "scheduler_scheduling_attempt_duration_seconds",
            "[STABLE] How long an attempt took, choice of the node and binding together.",
            ("result", "profile"),
            bounds=_MILLISECONDS,
        )
        self._algorithm_seconds = Histogram(
            "scheduler_scheduling_algorithm_duration_seconds",
            "[BETA] How long the choice of a node took.",
            bounds=_MILLISECONDS,
        )
        self._extension_point_seconds = Histogram(
            "scheduler_framework_extension_point_duration_seconds",
            "[STABLE] How long all plugins of an extension point took together.",
            ("extension_point", "status", "profile"),
            bounds=_EXTENSION_POINT,
        )
        self._plugin_seconds = Histogram(
            "scheduler_plugin_execution_duration_seconds",
            "[BETA] How long a plugin took at an extension point; one cycle in ten is measured.",
            ("plugin", "extension_point", "status"),
            bounds=_PLUGIN,
        )
        self._plugin_evaluations = JointCounter(
            "scheduler_plugin_evaluation_total",
            "[BETA] Pods a plugin judged, at PreFilter, Filter, PreScore and Score.",
            ("plugin", "extension_point", "profile"),
        )
        self._slow_calls = Counter(
            "muster_plugin_slow_calls_total",
            "Calls of a plugin that held up the scheduler for more than a tenth of a second.",
            ("plugin", "extension_point"),
        )
        self._api_writes = Counter(
            "muster_api_writes_total",
            "[ALPHA] Writes that were sent to the API server: bindings, Events, statuses.",
            ("verb", "resource"),
        )
        self._loop_held = Histogram(
            "muster_event_loop_held_seconds",
            "[ALPHA] For how long at a time the event loop, on which everything runs, did not turn.",
            bounds=_LOOP,
        )
        self._loop_worked = Histogram(
            "muster_event_loop_worked_seconds",
            "[ALPHA] For how long of the time that the event loop did not turn its thread was at work, at most.",
            bounds=_LOOP,
        )
        self._bound_attempts = Histogram(
            "scheduler_pod_scheduling_attempts",
            "[STABLE] Attempts a pod took until it was bound.",
            bounds=exponential(1, 2, 5),
        )
        self._bound_seconds = Histogram(
            "scheduler_pod_scheduling_sli_duration_seconds",
            "[BETA] From a pod's entry into the queue until it was bound, by the number of attempts.",
            ("attempts",),
            bounds=_END_TO_END,
        )
        self._bound_after_flush = Counter(
            "scheduler_pod_scheduled_after_flush_total",
            "[ALPHA] Pods bound after waiting out the time limit; many of them mean a plugin misses an event.",
        )
        self._permit_wait_seconds = Histogram(
            "scheduler_permit_wait_duration_seconds",
            "[BETA] How long Permit held a pod.",
            ("result",),
            bounds=_MILLISECONDS,
        )
        self._incoming_pods = Counter(
            "scheduler_queue_incoming_pods_total",
            "[STABLE] Pods that entered a part of the queue, by the event that moved them.",
            ("queue", "event"),
        )
        self._incoming_entities = Counter(
            "scheduler_queue_incoming_entities_total",
            "[ALPHA] Entries, single pods or pod groups, that entered a part of the queue.",
            ("queue", "event", "type"),
        )
        self._unschedulable = Gauge(
            "scheduler_unschedulable_pods",
            "[BETA] Pods a plugin holds back; a pod counts once for each plugin that rejected it.",
            ("plugin", "profile"),
        )
        self._reservations = Gauge(
            "muster_reservations",
            "[ALPHA] Pods and groups that have waited long and for which room is reserved.",
            (),
        )
        self._goroutines = Gauge(
            "scheduler_goroutines",
            "[BETA] Work going on concurrently, such as binding.",
            ("operation",),
        )
        self._event_seconds = Histogram(
            "scheduler_event_handling_duration_seconds",
            "[ALPHA] How long a change in the cluster took to reach cache and queue.",
            ("event",),
            bounds=_EXTENSION_POINT,
        )
        self._group_attempts = Counter(
            "scheduler_podgroup_schedule_attempts_total",
            "[ALPHA] Attempts to schedule a pod group, by result.",
            ("result", "profile"),
        )
        self._group_attempt_seconds = Histogram(
            "scheduler_podgroup_scheduling_attempt_duration_seconds",
            "[ALPHA] How long an attempt to schedule a pod group took.",
            ("result", "profile"),
            bounds=_MILLISECONDS,
        )
        self._group_algorithm_seconds = Histogram(
            "scheduler_podgroup_scheduling_algorithm_duration_seconds",
            "[ALPHA] How long the placing of a pod group took.",
            bounds=_MILLISECONDS,
        )
        self._group_quorum_seconds = Histogram(
            "muster_podgroup_quorum_duration_seconds",
            "[ALPHA] From a pod group's first member until its quorum was bound, by the most members that it may need.",
            ("size",),
            bounds=_END_TO_END,
        )
        self._placements = Counter(
            "scheduler_generated_placements_total",
            "[ALPHA] Topology domains that groups may have had to be tried in.",
            ("profile",),
        )
        self._placement_evaluations = Counter(
            "scheduler_placement_evaluations_total",
            "[ALPHA] Trials of a group in one topology domain, by whether that took it.",
            ("result", "profile"),
        )
        self._placement_seconds = Histogram(
            "scheduler_placement_evaluation_duration_seconds",
            "[ALPHA] How long these trials took.",
            bounds=exponential(0.001, 2, 15),
        )
        self._group_denials = Counter(
            "muster_podgroup_denied_total",
            "[ALPHA] Times a pod group was turned away because it had been denied a moment ago.",
        )
        self._preemptions = Counter(
            "scheduler_preemption_attempts_total",
            "[STABLE] Attempts to make room by preemption.",
        )
        self._victims = Histogram(
            "scheduler_preemption_victims",
            "[STABLE] Pods chosen to leave, per preemption.",
            bounds=exponential(1, 2, 7),
        )
        self._group_preemptions = Counter(
            "scheduler_workload_preemption_attempts_total",
            "[ALPHA] Attempts to make room for a group by preemption, by what they came to.",
            ("result",),
        )
        self._group_victims = Histogram(
            "scheduler_workload_preemption_victims",
            "[ALPHA] Pods chosen to leave, per preemption for a group.",
            bounds=exponential(1, 2, 11),
        )
        self._disruptions = Histogram(
            "scheduler_preemption_workload_disruptions",
            "[ALPHA] Groups that have to leave as a whole, and pods of others, per preemption that takes any.",
            ("preemptor",),
            bounds=exponential(1, 2, 11),
        )
        self._violations = Counter(
            "scheduler_preemption_pdb_violations_total",
            "[ALPHA] Pods chosen to leave although a PodDisruptionBudget forbids it.",
            ("preemptor",),
        )
        self._preemption_seconds = Histogram(
            "scheduler_preemption_execution_duration_seconds",
            "[ALPHA] From the decision to evict until every eviction was asked for.",
            ("preemptor", "result"),
            bounds=exponential(0.001, 2, 16),
        )
        self._preemption_runs = Counter(
            "scheduler_preemption_goroutines_execution_total",
            "[ALPHA] Evictions for one pod or group, by whether all could be asked for.",
            ("result",),
        )
        self._volume_failures = Counter(
            "scheduler_volume_scheduling_stage_error_total",
            "[ALPHA] Errors at a stage of volume scheduling: 'predicate', 'assume' or 'bind'.",
            ("operation",),
        )
        self._claims_created = Counter(
            "dynamic_resource_allocation_resourceclaim_creates_total",
            "[ALPHA] ResourceClaims that were asked for, here for extended resources of pods.",
            ("status", "admin_access", "owner_api_group", "owner_api_kind"),
        )
        self._conditional_devices = Counter(
            "scheduler_dra_bindingconditions_allocations_total",
            "[ALPHA] Devices that had to be made ready before a pod was bound, by how that ended.",
            ("profile", "driver", "status"),
        )
        self._device_seconds = Histogram(
            "scheduler_dra_bindingconditions_wait_duration_seconds",
            "[ALPHA] How long a pod waited for its devices to be made ready.",
            ("profile", "driver", "status"),
            bounds=exponential(0.1, 2, 14),
        )

    def attempt(self, result: Result, *, profile: str, seconds: float) -> None:
        labels = (result, profile)
        self._attempts.add(labels)
        self._attempt_seconds.observe(labels, seconds)

    def algorithm_seconds(self, seconds: float) -> None:
        self._algorithm_seconds.observe((), seconds)

    def group_attempt(self, result: GroupResult, *, profile: str, seconds: float) -> None:
        labels = (result, profile)
        self._group_attempts.add(labels)
        self._group_attempt_seconds.observe(labels, seconds)

    def group_algorithm_seconds(self, seconds: float) -> None:
        self._group_algorithm_seconds.observe((), seconds)

    def extension_point(self, point: str, status: Code, *, profile: str, seconds: float) -> None:
        self._extension_point_seconds.observe((point, _STATUS[status], profile), seconds)

    def plugin_execution(self, plugin: str, *, point: str, status: Code, seconds: float) -> None:
        self._plugin_seconds.observe((plugin, point, _STATUS[status]), seconds)

    def plugins_evaluated(self, plugins: tuple[str, ...], *, point: str, profile: str) -> None:
        self._plugin_evaluations.add_each(plugins, (point, profile))

    def plugin_slow(self, plugin: str, *, point: str, seconds: float) -> None:
        self._slow_calls.add((plugin, point))

    def api_write(self, verb: str, resource: str) -> None:
        """A write such as `POST`, `pods/binding` goes out to the API server; told by the process, not by the engine."""
        self._api_writes.add((verb, resource))

    def loop_held(self, seconds: float, at_work: float) -> None:
        """The event loop turned again after so many seconds, at work for at most so many of them; the process tells."""
        self._loop_held.observe((), seconds)
        self._loop_worked.observe((), at_work)

    def bound(self, *, attempts: int, sli_seconds: float, after_flush: bool) -> None:
        self._bound_attempts.observe((), attempts)
        self._bound_seconds.observe((_ATTEMPTS[min(attempts, _MOST_ATTEMPTS)],), sli_seconds)
        if after_flush:
            self._bound_after_flush.add(())

    def permit_wait(self, result: Code, *, seconds: float) -> None:
        self._permit_wait_seconds.observe((_STATUS[result],), seconds)

    def group_denied(self) -> None:
        self._group_denials.add(())

    def reservations(self, change: int) -> None:
        self._reservations.add((), change)

    def group_bound(self, seconds: float, *, members: int) -> None:
        size = next((str(most) for most in _GROUP_SIZES if members <= most), "+Inf")
        self._group_quorum_seconds.observe((size,), seconds)

    def queue_incoming(self, queue: str, event: str, *, entity: EntityType, pods: int) -> None:
        self._incoming_pods.add((queue, event), pods)
        self._incoming_entities.add((queue, event, entity))

    def unschedulable_pods(self, plugin: str, *, profile: str, change: int) -> None:
        self._unschedulable.add((plugin, profile), change)

    def goroutines(self, operation: str, *, change: int) -> None:
        self._goroutines.add((operation,), change)

    def event_handled(self, event: str, *, seconds: float) -> None:
        self._event_seconds.observe((event,), seconds)

    def placements_generated(self, count: int, *, profile: str) -> None:
        self._placements.add((profile,), count)

    def placement_evaluated(self, *, feasible: bool, profile: str, seconds: float) -> None:
        self._placement_evaluations.add(("feasible" if feasible else "infeasible", profile))
        self._placement_seconds.observe((), seconds)

    def preemption_attempted(self) -> None:
        self._preemptions.add(())

    def group_preemption_attempted(self, result: Code) -> None:
        self._group_preemptions.add((result.wire_name,))

    def preemption_victims(self, victims: int, *, preemptor: EntityType, violations: int, disruptions: int) -> None:
        (self._victims if preemptor == "pod" else self._group_victims).observe((), victims)
        if disruptions:
            self._disruptions.observe((preemptor,), disruptions)
        if violations:
            self._violations.add((preemptor,), violations)

    def preemption_executed(self, result: PreemptionResult, *, preemptor: EntityType, seconds: float) -> None:
        self._preemption_seconds.observe((preemptor, result), seconds)
        self._preemption_runs.add((result,))

    def volume_stage_failed(self, stage: VolumeStage, *, times: int = 1) -> None:
        self._volume_failures.add((stage,), times)

    def claim_created(self, result: str) -> None:
        self._claims_created.add((result, "false", "", "Pod"))

    def devices_awaited(
        self, result: DevicesResult, *, profile: str, drivers: Sequence[str], conditional: Sequence[str], seconds: float
    ) -> None:
        for driver in drivers:
            self._device_seconds.observe((profile, driver, result), seconds)
        for driver in conditional:
            self._conditional_devices.add((profile, driver, result))

    def collect(self) -> Iterator[Metric]:
        """Every family that has series; called by a prometheus-client registry at a scrape."""
        for family in vars(self).values():
            yield from family.collect()
