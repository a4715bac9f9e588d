"""Pods whose attempt failed, or that are not worth one, by what the informers have seen of them meanwhile."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from muster.framework.contract import Status, Wait
from muster.framework.contract.api import ApiError
from muster.framework.scheduler.reports import DECISIONS
from muster.plugins.resources.fit import NodeResourcesFit
from tests.builders import make_node, make_pod
from tests.scheduler.conftest import SetStage
from tests.scheduler.scripted import Log, broken, filtering, permitting, post_filtering
from tests.scheduler.stage import Stage

WEB = "default/web"
BINDINGS = {"web-a": "conflict", "web-b": "conflict", "web-c": "too many requests"}
"""The answer to the Binding of each pod."""
FULL = filtering("Full", {"one": Status.unschedulable("full")})


async def failing_binding(set_stage: SetStage) -> Stage:
    """A stage where the binding of `web` is under way and about to fail."""
    stage = set_stage()
    stage.hold_bindings()
    stage.answer_bindings(Status.failure("conflict"))
    stage.put_pod(make_pod("web"))
    await stage.settle()
    assert stage.binds == [(WEB, "one")]
    return stage


async def test_a_pod_that_vanished_is_forgotten_and_nothing_is_said(set_stage: SetStage) -> None:
    stage = await failing_binding(set_stage)
    uid = stage.uid(WEB)
    stage.drop_pod(WEB)

    stage.release_bindings()
    await stage.settle()

    assert stage.engine.queue.contents.get(uid) is None
    assert (stage.events, stage.conditions) == ([], {})


async def test_a_pod_bound_by_another_scheduler_is_not_requeued(set_stage: SetStage) -> None:
    stage = await failing_binding(set_stage)
    stage.put_node(make_node("two"))
    stage.put_pod(make_pod("web").node("two"))

    stage.release_bindings()
    await stage.settle()

    assert stage.place(WEB) == "bound"
    assert stage.engine.cache.node_of(stage.uid(WEB)) == "two"
    assert (stage.events, stage.conditions) == ([], {})


async def test_a_pod_whose_binding_went_through_although_the_answer_was_lost_stays_bound(set_stage: SetStage) -> None:
    stage = await failing_binding(set_stage)
    stage.put_pod(make_pod("web").node("one"))

    stage.release_bindings()
    await stage.settle()

    assert stage.place(WEB) == "bound"
    assert stage.events == []


async def test_a_pod_that_was_made_anew_is_another_pod(set_stage: SetStage) -> None:
    stage = await failing_binding(set_stage)
    first = stage.uid(WEB)
    stage.drop_pod(WEB)
    stage.put_pod(make_pod("web"))

    stage.release_bindings()
    await stage.settle()

    assert stage.engine.queue.contents.get(first) is None
    assert stage.conditions == {}
    assert stage.binds == [(WEB, "one")] * 2
    assert stage.notes(WEB, "Scheduled") == ["Successfully assigned default/web to one"]


async def test_a_pod_that_changed_is_tried_again_as_it_is_now(set_stage: SetStage) -> None:
    stage = await failing_binding(set_stage)
    stage.put_pod(make_pod("web").labels(version="2"))

    stage.release_bindings()
    await stage.settle()

    queued = stage.engine.queue.contents.get(stage.uid(WEB))
    assert queued is not None
    assert queued.info.labels == {"version": "2"}
    assert stage.place(WEB) == "error backoff"


async def test_a_pod_that_is_being_deleted_is_not_tried(set_stage: SetStage) -> None:
    stage = set_stage()
    pod = make_pod("web")
    pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    stage.put_pod(pod)

    await stage.settle()

    assert stage.binds == []
    assert stage.notes(WEB) == ["skip schedule deleting pod: default/web"]
    assert stage.conditions == {}
    assert stage.place(WEB) == ""


async def test_a_pod_that_is_deleted_while_it_is_tried_does_not_come_back(set_stage: SetStage) -> None:
    stage = set_stage(permitting("Gate", Wait(60)))
    stage.put_pod(make_pod("web"))
    await stage.settle()
    uid = stage.uid(WEB)
    stage.drop_pod(WEB)

    await stage.wait(400)

    assert stage.engine.queue.contents.get(uid) is None
    assert stage.engine.cache.pod_count == 0
    assert stage.binds == []


async def test_a_pod_that_is_given_back_after_the_last_report_is_not_spoken_of(set_stage: SetStage) -> None:
    stage = set_stage(permitting("Gate", Wait(60)))
    stage.put_pod(make_pod("web"))
    await stage.settle()

    stage.engine.scheduler.reports.end()
    for waiting in stage.engine.waiting_pods:
        waiting.fail(Status.unschedulable("the end"))
    await stage.breathe()

    assert stage.engine.cache.pod_count == 0
    assert stage.place(WEB) == "error backoff"
    assert (stage.events, stage.conditions) == ([], {})


async def test_any_event_in_flight_may_help_a_plugin_that_registers_for_nothing(set_stage: SetStage) -> None:
    stage = set_stage(permitting("Gate", Wait(60)))
    stage.put_pod(make_pod("web"))
    await stage.settle()
    stage.put_node(make_node("two"))
    stage.clock.move_to(stage.clock.now() + 61)
    await stage.breathe()

    assert stage.place(WEB) == "backoff"


async def test_an_unschedulable_pod_waits_for_events_of_the_rejecting_plugins(set_stage: SetStage) -> None:
    stage = set_stage(NodeResourcesFit)
    stage.put_node(make_node("one", cpu="1"))
    stage.put_pod(make_pod("web").requests(cpu="2"))
    await stage.settle()
    assert stage.conditions[WEB] == ("Unschedulable", "0/1 nodes are available: 1 Insufficient cpu.", "")
    assert stage.place(WEB) == "unschedulable"

    stage.put_node(make_node("one", cpu="1").labels(nothing="helps"))
    assert stage.place(WEB) == "unschedulable"

    stage.put_node(make_node("one", cpu="2").labels(nothing="helps"))
    await stage.wait(2.0)
    assert stage.binds == [(WEB, "one")]


async def test_a_pod_in_a_cluster_without_nodes_is_tried_again_and_again(set_stage: SetStage) -> None:
    stage = set_stage()
    stage.drop_node("one")
    stage.put_pod(make_pod("web"))

    for _ in range(4):
        await stage.wait(31)

    assert stage.conditions[WEB] == ("Unschedulable", "no nodes available to schedule pods", "")
    assert len(stage.notes(WEB)) >= 4


@dataclass(frozen=True)
class LastResort:
    """What the PostFilter plugins A, B and C answer to a pod that no node can run, and what comes of it.

    Attributes:
        said: what the message has behind the reasons of the nodes.
        nominated: what is written about the nomination; None for nothing.
        asked: the plugins that were asked.
    """

    answers: Sequence[tuple[str | None, Status | None]]
    said: str
    nominated: str | None
    asked: str


@pytest.mark.parametrize(
    "case",
    [
        LastResort([], said="", nominated="", asked=""),
        LastResort(
            [(None, Status.unschedulable("nobody.")), ("one", None), (None, None)], said="", nominated="one", asked="AB"
        ),
        LastResort(
            [(None, Status.unschedulable("first.")), (None, Status.unschedulable("second."))],
            said=" first., second.",
            nominated=None,
            asked="AB",
        ),
        LastResort(
            [(None, Status.unschedulable("first.")), ("", Status.unresolvable("hopeless.")), (None, None)],
            said=" hopeless.",
            nominated="",
            asked="AB",
        ),
        LastResort([(None, Status.failure("boom")), (None, None)], said=" boom", nominated=None, asked="A"),
    ],
    ids=["nobody to ask", "one helps", "none helps", "one knows that nothing helps", "one breaks"],
)
async def test_post_filter_is_asked_in_turn_when(case: LastResort, set_stage: SetStage) -> None:
    log: Log = []
    plugins = [post_filtering(name, node, said, log) for name, (node, said) in zip("ABC", case.answers, strict=False)]
    stage = set_stage(FULL, *plugins)
    stage.put_pod(make_pod("web"))

    await stage.settle()

    message = f"0/1 nodes are available: 1 full.{case.said}"
    assert stage.conditions[WEB] == ("Unschedulable", message, case.nominated)
    assert "".join(line[0] for line in log) == case.asked


async def test_errors_of_one_cause_back_off_and_are_logged_twice_a_minute_with_their_number(
    set_stage: SetStage, caplog: pytest.LogCaptureFixture
) -> None:
    failing = broken(filtering("Failing", {}), "filter", OSError("the disk is full"))
    stage = set_stage(failing)
    stage.put_pod(*(make_pod(f"pod-{number}") for number in range(50)))
    for _ in range(60):
        await stage.wait(1.0)

    attempts = sum(line.attempts for line in stage.engine.queue.contents.dump())
    lines = [record for record in caplog.records if record.message == "Attempt failed"]
    assert attempts <= 50 * 8  # after 1, 2, 4, 8 and then every 10 seconds, and a half more at most
    assert len(lines) == 2
    assert lines[0].exc_info
    assert "the disk is full" in str(lines[0].exc_info[1])
    [left_out] = [record.__dict__["pairs"]["notLogged"] for record in lines[1:]]
    assert 50 <= left_out < attempts


async def test_errors_of_different_causes_are_logged_each(
    set_stage: SetStage, caplog: pytest.LogCaptureFixture
) -> None:
    stage = set_stage()
    stage.answer_bindings(*(Status.failure(f'pods "{name}": {why}') for name, why in BINDINGS.items()))
    stage.put_pod(*(make_pod(name) for name in BINDINGS))
    await stage.settle()

    reported = [record.__dict__["pairs"]["pod"] for record in caplog.records if record.message == "Attempt failed"]
    assert reported == ["default/web-a", "default/web-c"]


async def test_a_pod_that_is_gone_when_its_binding_arrives_is_no_error_in_the_log(
    set_stage: SetStage, caplog: pytest.LogCaptureFixture
) -> None:
    stage = set_stage()
    stage.answer_bindings(Status.failure(error=ApiError('pods "web" not found', status=404)))
    stage.put_pod(make_pod("web"))
    with caplog.at_level(DECISIONS):
        await stage.settle()

    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []
    [line] = [record for record in caplog.records if record.message.endswith("possibly due to node not found; waiting")]
    assert line.__dict__["pairs"]["reason"] == 'running Bind plugin "DefaultBinder": pods "web" not found'
