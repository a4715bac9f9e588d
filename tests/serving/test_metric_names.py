"""Every stable and beta metric of kube-scheduler 1.37 is there, spelled, labelled and bucketed as there.

The table is transcribed from kube-scheduler's reference by hand; the code under test does not see it.
"""

from dataclasses import dataclass

import pytest

from muster.framework.metrics import SchedulerMetrics
from muster.operator.metrics import ProcessMetrics, State, StateMetrics, blocks, registry_of
from muster.operator.versions import build
from tests.serving.scraping import Scrape, scrape


@dataclass(frozen=True)
class Row:
    name: str
    type: str
    level: str
    labels: frozenset[str] = frozenset()
    buckets: tuple[float, float, int] | None = None


def row(name: str, kind: str, level: str, labels: str = "", buckets: tuple[float, float, int] | None = None) -> Row:
    return Row(name, kind, level, frozenset(labels.split()), buckets)


A = (0.001, 2, 15)
P = (0.00001, 1.5, 20)

TABLE = (
    row("scheduler_schedule_attempts_total", "counter", "STABLE", "result profile"),
    row("scheduler_scheduling_attempt_duration_seconds", "histogram", "STABLE", "result profile", A),
    row("scheduler_preemption_victims", "histogram", "STABLE", "", (1, 2, 7)),
    row("scheduler_preemption_attempts_total", "counter", "STABLE"),
    row("scheduler_pending_pods", "gauge", "STABLE", "queue"),
    row("scheduler_pod_scheduling_attempts", "histogram", "STABLE", "", (1, 2, 5)),
    row(
        "scheduler_framework_extension_point_duration_seconds",
        "histogram",
        "STABLE",
        "extension_point status profile",
        (0.0001, 2, 12),
    ),
    row("scheduler_queue_incoming_pods_total", "counter", "STABLE", "queue event"),
    row("scheduler_scheduling_algorithm_duration_seconds", "histogram", "BETA", "", A),
    row("scheduler_goroutines", "gauge", "BETA", "operation"),
    row("scheduler_pod_scheduling_sli_duration_seconds", "histogram", "BETA", "attempts", (0.01, 2, 20)),
    row("scheduler_plugin_execution_duration_seconds", "histogram", "BETA", "plugin extension_point status", P),
    row("scheduler_permit_wait_duration_seconds", "histogram", "BETA", "result", A),
    row("scheduler_unschedulable_pods", "gauge", "BETA", "plugin profile"),
    row("scheduler_plugin_evaluation_total", "counter", "BETA", "plugin extension_point profile"),
    row("scheduler_event_handling_duration_seconds", "histogram", "ALPHA", "event", (0.0001, 2, 12)),
    row("scheduler_queued_entities", "gauge", "ALPHA", "queue type"),
    row("scheduler_queue_incoming_entities_total", "counter", "ALPHA", "queue event type"),
    row("scheduler_cache_size", "gauge", "ALPHA", "type"),
    row("scheduler_pod_scheduled_after_flush_total", "counter", "ALPHA"),
    row("scheduler_podgroup_schedule_attempts_total", "counter", "ALPHA", "result profile"),
    row("scheduler_podgroup_scheduling_attempt_duration_seconds", "histogram", "ALPHA", "result profile", A),
    row("scheduler_podgroup_scheduling_algorithm_duration_seconds", "histogram", "ALPHA", "", A),
    row("scheduler_generated_placements_total", "counter", "ALPHA", "profile"),
    row("scheduler_placement_evaluations_total", "counter", "ALPHA", "result profile"),
    row("scheduler_placement_evaluation_duration_seconds", "histogram", "ALPHA", "", A),
    row("scheduler_workload_preemption_attempts_total", "counter", "ALPHA", "result"),
    row("scheduler_workload_preemption_victims", "histogram", "ALPHA", "", (1, 2, 11)),
    row("scheduler_preemption_workload_disruptions", "histogram", "ALPHA", "preemptor", (1, 2, 11)),
    row("scheduler_preemption_execution_duration_seconds", "histogram", "ALPHA", "preemptor result", (0.001, 2, 16)),
    row("scheduler_preemption_goroutines_execution_total", "counter", "ALPHA", "result"),
    row("scheduler_preemption_pdb_violations_total", "counter", "ALPHA", "preemptor"),
    row("scheduler_volume_scheduling_stage_error_total", "counter", "ALPHA", "operation"),
    row("scheduler_dra_bindingconditions_allocations_total", "counter", "ALPHA", "profile driver status"),
    row(
        "scheduler_dra_bindingconditions_wait_duration_seconds",
        "histogram",
        "ALPHA",
        "profile driver status",
        (0.1, 2, 14),
    ),
    row(
        "dynamic_resource_allocation_resourceclaim_creates_total",
        "counter",
        "ALPHA",
        "status admin_access owner_api_group owner_api_kind",
    ),
    row("leader_election_master_status", "gauge", "ALPHA", "name"),
    row("rest_client_requests_total", "counter", "ALPHA", "code method host"),
    row("rest_client_request_duration_seconds", "histogram", "ALPHA", "verb host"),
    row(
        "kubernetes_build_info",
        "gauge",
        "BETA",
        "major minor git_version git_commit git_tree_state build_date go_version compiler platform",
    ),
)


def everything_once(metrics: SchedulerMetrics) -> None:
    metrics.pod_attempted("scheduled", profile="muster", seconds=0.1)
    metrics.scheduling_algorithm_duration.observe((), 0.1)
    metrics.group_attempted("waiting_on_preemption", profile="muster", seconds=0.1)
    metrics.podgroup_scheduling_algorithm_duration.observe((), 0.1)
    metrics.extension_point_duration.observe(("Filter", "Success", "muster"), 0.1)
    metrics.plugin_execution_duration.observe(("NodeResourcesFit", "Filter", "Success"), 0.1)
    metrics.plugin_evaluations.add_each(("NodeResourcesFit",), ("Filter", "muster"))
    metrics.plugin_slow_calls.add(("NodeResourcesFit", "Filter"))
    metrics.pod_bound(attempts=1, sli_seconds=0.1, after_flush=False)
    metrics.permit_wait_duration.observe(("Success",), 0.1)
    metrics.queue_incoming("active", "UnscheduledPodAdd", entity="pod", pods=1)
    metrics.unschedulable_pods.add(("NodeResourcesFit", "muster"), 1)
    metrics.goroutines.add(("binding",), 1)
    metrics.event_handling_duration.observe(("NodeAdd",), 0.1)
    metrics.quorum_bound(0.1, members=65)
    metrics.reservations.add((), 1)
    metrics.generated_placements.add(("muster",), 3)
    metrics.placement_evaluated(feasible=True, profile="muster", seconds=0.1)
    metrics.workload_preemption_attempts.add(("Success",))
    metrics.victims_chosen(2, preemptor="podgroup", violations=1, disruptions=1)
    metrics.preemption_executed("success", preemptor="podgroup", seconds=0.1)
    metrics.volume_stage_errors.add(("predicate",), 2)
    metrics.resourceclaim_creates.add(("success", "false", "", "Pod"))
    metrics.devices_awaited("timeout", profile="muster", drivers=["gpu"], conditional=["gpu"], seconds=0.1)


@pytest.fixture(scope="module")
def exposed() -> Scrape:
    engine = SchedulerMetrics()
    everything_once(engine)
    state = State(
        pending_pods=lambda: {"active": 1},
        queued_entities=lambda: {("active", "pod"): 1},
        cache_size=lambda: {"nodes": 1},
        leading=lambda: {"muster": True},
        reserved_shares=lambda: {"cpu": 0.25},
        quotas=lambda: {("ml/quota", "cpu", "used"): 1.5},
        unmet_quotas=lambda: {"ml/quota": 2},
    )
    process = ProcessMetrics("api:6443", build())
    process.answered("GET", "200", 0.1)
    process.written("POST", "pods/binding")
    return scrape(blocks(registry_of(engine, StateMetrics(state), process)))


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_a_metric_has_the_type_and_stability_level_of_kube_scheduler(exposed: Scrape, row: Row) -> None:
    assert exposed.types[row.name] == row.type
    assert f"# HELP {row.name} [{row.level}] " in exposed.text


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_a_metric_has_exactly_the_labels_of_kube_scheduler(exposed: Scrape, row: Row) -> None:
    name = f"{row.name}_count" if row.type == "histogram" else row.name
    assert [set(sample.labels) for sample in exposed.samples if sample.name == name] == [row.labels]


@pytest.mark.parametrize("row", [row for row in TABLE if row.buckets], ids=lambda row: row.name)
def test_a_histogram_has_exactly_the_buckets_of_kube_scheduler(exposed: Scrape, row: Row) -> None:
    assert row.buckets is not None
    bound, factor, count = row.buckets
    expected = []
    for _ in range(count):
        expected.append(bound)
        bound *= factor
    found = [sample.labels["le"] for sample in exposed.samples if sample.name == f"{row.name}_bucket"]
    assert [float(le) for le in found] == [*expected, float("inf")]


STARTED = {"muster_podgroup_denied_total", "muster_reservations"}
OWN = {
    "muster_api_writes_total": "counter",
    "muster_event_loop_blocked_seconds": "histogram",
    "muster_event_loop_worked_seconds": "histogram",
    "muster_oldest_waiting_podgroup_seconds": "gauge",
    "muster_plugin_slow_calls_total": "counter",
    "muster_podgroup_denied_total": "counter",
    "muster_pods_waiting_at_permit": "gauge",
    "muster_reservations": "gauge",
    "muster_reserved_share": "gauge",
    "muster_podgroup_quorum_duration_seconds": "histogram",
    "muster_quota": "gauge",
    "muster_quota_unmet_pods": "gauge",
    "muster_tasks": "gauge",
    "muster_waiting_podgroups": "gauge",
}


def test_every_metric_is_kube_schedulers_or_has_musters_prefix(exposed: Scrape) -> None:
    found = {name for name in exposed.types if not name.startswith("process_")}
    assert found == {row.name for row in TABLE} | OWN.keys()
    assert {name: exposed.types[name] for name in OWN} == OWN


def test_groups_are_timed_by_their_size(exposed: Scrape) -> None:
    name = "muster_podgroup_quorum_duration_seconds_count"
    assert [sample.labels for sample in exposed.samples if sample.name == name] == [{"size": "512"}]


def test_requests_are_counted_as_client_go_counts_them(exposed: Scrape) -> None:
    assert exposed.value("rest_client_requests_total", code="200", method="GET", host="api:6443") == 1
    assert exposed.value("rest_client_request_duration_seconds_sum", verb="GET", host="api:6443") == 0.1
    seconds = (0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, float("inf"))
    bounds = [s.labels["le"] for s in exposed.samples if s.name == "rest_client_request_duration_seconds_bucket"]
    assert tuple(map(float, bounds)) == seconds


def test_no_created_series_are_exposed(exposed: Scrape) -> None:
    assert "_created" not in exposed.text


def test_the_process_reports_its_memory_and_processor_time(exposed: Scrape) -> None:
    assert exposed.value("process_resident_memory_bytes") > 0
    assert exposed.value("process_cpu_seconds_total") > 0


def test_before_anything_happens_only_metrics_without_labels_stand_at_zero() -> None:
    fresh = scrape(blocks(registry_of(SchedulerMetrics())))
    ours = {name for name in fresh.types if not name.startswith("process_")}
    assert ours == {row.name for row in TABLE if not row.labels} | STARTED
    assert fresh.value("scheduler_preemption_attempts_total") == 0
    assert fresh.value("scheduler_preemption_victims_count") == 0
