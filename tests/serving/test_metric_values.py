"""The engine's numbers arrive in the right series."""

import pytest

from muster.framework.metrics import SchedulerMetrics
from muster.operator.metrics import State, StateMetrics, blocks, registry_of
from tests.serving.scraping import Scrape, scrape


@pytest.fixture
def engine() -> SchedulerMetrics:
    return SchedulerMetrics()


def exposed(*collectors: SchedulerMetrics | StateMetrics) -> Scrape:
    return scrape(blocks(registry_of(*collectors)))


def test_an_attempt_is_counted_and_timed_under_its_result_and_profile(engine: SchedulerMetrics) -> None:
    engine.pod_attempted("unschedulable", profile="muster", seconds=0.5)
    engine.pod_attempted("unschedulable", profile="muster", seconds=0.25)
    engine.pod_attempted("scheduled", profile="other", seconds=1.0)
    text = exposed(engine)
    unschedulable = {"result": "unschedulable", "profile": "muster"}
    assert text.value("scheduler_schedule_attempts_total", **unschedulable) == 2
    assert text.value("scheduler_scheduling_attempt_duration_seconds_count", **unschedulable) == 2
    assert text.value("scheduler_scheduling_attempt_duration_seconds_sum", **unschedulable) == 0.75
    assert text.value("scheduler_schedule_attempts_total", result="scheduled", profile="other") == 1


def test_an_observation_equal_to_a_bound_counts_in_its_bucket_and_all_higher_ones(engine: SchedulerMetrics) -> None:
    engine.pod_bound(attempts=2, sli_seconds=0.0, after_flush=False)
    text = exposed(engine)
    bucket = "scheduler_pod_scheduling_attempts_bucket"
    assert [text.value(bucket, le=le) for le in ("1", "2", "4", "+Inf")] == [0, 1, 1, 1]


def test_an_observation_past_the_last_bound_counts_only_as_infinite(engine: SchedulerMetrics) -> None:
    engine.scheduling_algorithm_duration.observe((), 100.0)
    text = exposed(engine)
    bucket = "scheduler_scheduling_algorithm_duration_seconds_bucket"
    assert [text.value(bucket, le=le) for le in ("16.384", "+Inf")] == [0, 1]


@pytest.mark.parametrize(("attempts", "label"), [(1, "1"), (14, "14"), (15, "15+"), (400, "15+")])
def test_the_attempts_label_ends_at_fifteen(engine: SchedulerMetrics, attempts: int, label: str) -> None:
    engine.pod_bound(attempts=attempts, sli_seconds=3.0, after_flush=False)
    assert exposed(engine).value("scheduler_pod_scheduling_sli_duration_seconds_sum", attempts=label) == 3.0


def test_a_pod_bound_after_a_flush_is_counted_apart(engine: SchedulerMetrics) -> None:
    engine.pod_bound(attempts=2, sli_seconds=300.0, after_flush=True)
    engine.pod_bound(attempts=1, sli_seconds=0.1, after_flush=False)
    assert exposed(engine).value("scheduler_pod_scheduled_after_flush_total") == 1


def test_a_group_entering_the_queue_is_one_entity_and_all_its_pods(engine: SchedulerMetrics) -> None:
    engine.queue_incoming("backoff", "ScheduleAttemptFailure", entity="podgroup", pods=30)
    text = exposed(engine)
    labels = {"queue": "backoff", "event": "ScheduleAttemptFailure"}
    assert text.value("scheduler_queue_incoming_pods_total", **labels) == 30
    assert text.value("scheduler_queue_incoming_entities_total", **labels, type="podgroup") == 1


def test_gauges_go_down_again(engine: SchedulerMetrics) -> None:
    engine.goroutines.add(("binding",), 1)
    engine.goroutines.add(("binding",), 1)
    engine.goroutines.add(("binding",), -1)
    engine.unschedulable_pods.add(("NodePorts", "muster"), 1)
    engine.unschedulable_pods.add(("NodePorts", "muster"), -1)
    text = exposed(engine)
    assert text.value("scheduler_goroutines", operation="binding") == 1
    assert text.value("scheduler_unschedulable_pods", plugin="NodePorts", profile="muster") == 0


def test_state_is_read_anew_at_each_scrape() -> None:
    pending = {"active": 3, "gated": 1}
    state = StateMetrics(
        State(
            pending_pods=lambda: pending,
            queued_entities=lambda: {("active", "podgroup"): 2},
            cache_size=lambda: {"assumed_pods": 7},
            leading=lambda: {"muster": False},
        )
    )
    registry = registry_of(state)
    first = scrape(blocks(registry))
    pending["active"] = 0
    second = scrape(blocks(registry))
    assert (
        first.value("scheduler_pending_pods", queue="active"),
        first.value("scheduler_pending_pods", queue="gated"),
    ) == (3, 1)
    assert second.value("scheduler_pending_pods", queue="active") == 0
    assert second.value("scheduler_queued_entities", queue="active", type="podgroup") == 2
    assert second.value("scheduler_cache_size", type="assumed_pods") == 7
    assert second.value("leader_election_master_status", name="muster") == 0


def test_two_sets_of_metrics_in_one_process_do_not_meet() -> None:
    one, other = SchedulerMetrics(), SchedulerMetrics()
    one.pod_attempted("scheduled", profile="muster", seconds=0.1)
    assert exposed(one).value("scheduler_schedule_attempts_total", result="scheduled", profile="muster") == 1
    assert "scheduler_schedule_attempts_total" not in exposed(other).types


def test_a_long_family_is_written_in_several_blocks_under_one_header(engine: SchedulerMetrics) -> None:
    for i in range(100):
        engine.plugin_evaluations.add_each((f"P{i}",), ("Filter", "muster"))
        engine.plugin_execution_duration.observe((f"P{i}", "Filter", "Success"), 0.1)
    written = list(blocks(registry_of(engine)))
    text = scrape(written)
    name = "scheduler_plugin_execution_duration_seconds"
    assert max(block.count(b"\n") for block in written) <= 402
    assert text.text.count(f"# TYPE {name} ") == text.text.count(f"# HELP {name} ") == 1
    assert [s.value for s in text.samples if s.name == f"{name}_count"] == [1] * 100
