"""What the engine reports arrives in the right series."""

import pytest

from muster.framework.contract.status import Code
from muster.operator.metrics import EngineMetrics, State, StateMetrics, blocks, registry_of
from tests.serving.scraping import Scrape, scrape


@pytest.fixture
def engine() -> EngineMetrics:
    return EngineMetrics()


def exposed(*collectors: EngineMetrics | StateMetrics) -> Scrape:
    return scrape(blocks(registry_of(*collectors)))


def test_an_attempt_is_counted_and_timed_under_its_result_and_profile(engine: EngineMetrics) -> None:
    engine.attempt("unschedulable", profile="muster", seconds=0.5)
    engine.attempt("unschedulable", profile="muster", seconds=0.25)
    engine.attempt("scheduled", profile="other", seconds=1.0)
    text = exposed(engine)
    unschedulable = {"result": "unschedulable", "profile": "muster"}
    assert text.value("scheduler_schedule_attempts_total", **unschedulable) == 2
    assert text.value("scheduler_scheduling_attempt_duration_seconds_count", **unschedulable) == 2
    assert text.value("scheduler_scheduling_attempt_duration_seconds_sum", **unschedulable) == 0.75
    assert text.value("scheduler_schedule_attempts_total", result="scheduled", profile="other") == 1


def test_an_observation_on_a_bound_belongs_to_its_bucket_and_those_above(engine: EngineMetrics) -> None:
    engine.bound(attempts=2, sli_seconds=0.0, after_flush=False)
    text = exposed(engine)
    bucket = "scheduler_pod_scheduling_attempts_bucket"
    assert [text.value(bucket, le=le) for le in ("1", "2", "4", "+Inf")] == [0, 1, 1, 1]


def test_an_observation_past_the_last_bound_counts_only_as_infinite(engine: EngineMetrics) -> None:
    engine.algorithm_seconds(100.0)
    text = exposed(engine)
    bucket = "scheduler_scheduling_algorithm_duration_seconds_bucket"
    assert [text.value(bucket, le=le) for le in ("16.384", "+Inf")] == [0, 1]


@pytest.mark.parametrize(("attempts", "label"), [(1, "1"), (14, "14"), (15, "15+"), (400, "15+")])
def test_the_attempts_label_ends_at_fifteen(engine: EngineMetrics, attempts: int, label: str) -> None:
    engine.bound(attempts=attempts, sli_seconds=3.0, after_flush=False)
    assert exposed(engine).value("scheduler_pod_scheduling_sli_duration_seconds_sum", attempts=label) == 3.0


def test_a_pod_bound_after_a_flush_is_counted_apart(engine: EngineMetrics) -> None:
    engine.bound(attempts=2, sli_seconds=300.0, after_flush=True)
    engine.bound(attempts=1, sli_seconds=0.1, after_flush=False)
    assert exposed(engine).value("scheduler_pod_scheduled_after_flush_total") == 1


@pytest.mark.parametrize("code", Code)
def test_statuses_are_spelled_as_kube_scheduler_prints_them(engine: EngineMetrics, code: Code) -> None:
    engine.extension_point("Permit", code, profile="muster", seconds=0.1)
    engine.plugin_execution("Coscheduling", point="Permit", status=code, seconds=0.1)
    engine.permit_wait(code, seconds=0.1)
    text = exposed(engine)
    assert text.value(
        "scheduler_framework_extension_point_duration_seconds_count",
        extension_point="Permit",
        status=code.wire_name,
        profile="muster",
    )
    assert text.value(
        "scheduler_plugin_execution_duration_seconds_count",
        plugin="Coscheduling",
        extension_point="Permit",
        status=code.wire_name,
    )
    assert text.value("scheduler_permit_wait_duration_seconds_count", result=code.wire_name)


def test_a_group_entering_the_queue_is_one_entity_and_all_its_pods(engine: EngineMetrics) -> None:
    engine.queue_incoming("backoff", "ScheduleAttemptFailure", entity="podgroup", pods=30)
    text = exposed(engine)
    labels = {"queue": "backoff", "event": "ScheduleAttemptFailure"}
    assert text.value("scheduler_queue_incoming_pods_total", **labels) == 30
    assert text.value("scheduler_queue_incoming_entities_total", **labels, type="podgroup") == 1


def test_gauges_go_down_again(engine: EngineMetrics) -> None:
    engine.goroutines("binding", change=1)
    engine.goroutines("binding", change=1)
    engine.goroutines("binding", change=-1)
    engine.unschedulable_pods("NodePorts", profile="muster", change=1)
    engine.unschedulable_pods("NodePorts", profile="muster", change=-1)
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
    one, other = EngineMetrics(), EngineMetrics()
    one.attempt("scheduled", profile="muster", seconds=0.1)
    assert exposed(one).value("scheduler_schedule_attempts_total", result="scheduled", profile="muster") == 1
    assert "scheduler_schedule_attempts_total" not in exposed(other).types


def test_a_long_family_is_written_in_several_blocks_under_one_header(engine: EngineMetrics) -> None:
    for i in range(100):
        engine.plugins_evaluated((f"P{i}",), point="Filter", profile="muster")
        engine.plugin_execution(f"P{i}", point="Filter", status=Code.SUCCESS, seconds=0.1)
    written = list(blocks(registry_of(engine)))
    text = scrape(written)
    name = "scheduler_plugin_execution_duration_seconds"
    assert max(block.count(b"\n") for block in written) <= 402
    assert text.text.count(f"# TYPE {name} ") == text.text.count(f"# HELP {name} ") == 1
    assert [s.value for s in text.samples if s.name == f"{name}_count"] == [1] * 100
