"""Assume, Reserve and Permit: all or nothing, and nothing is left behind."""

import pytest

from muster.framework.contract import Plugin, Status, Wait
from tests.builders import make_node, make_pod
from tests.scheduler.conftest import SetStage
from tests.scheduler.scripted import Log, broken, permitting, reserving
from tests.scheduler.stage import Stage

WEB = "default/web"


def wait(seconds: float) -> Wait:
    return Wait(seconds, ("for a sign",))


def free(stage: Stage) -> bool:
    """Whether nothing is counted anywhere."""
    return stage.engine.cache.pod_count == 0 and not stage.engine.waiting_pods


async def test_a_pod_is_counted_from_the_moment_it_is_decided(set_stage: SetStage) -> None:
    stage = set_stage()
    stage.hold_bindings()
    stage.put_pod(make_pod("web"))

    assert stage.step()

    assert stage.place(WEB) == "in flight"
    assert stage.engine.cache.node_of(stage.uid(WEB)) == "one"
    assert stage.engine.cache.is_assumed(stage.uid(WEB))


async def test_reserve_asks_plugins_in_order_and_a_refusal_undoes_all_in_reverse_order(set_stage: SetStage) -> None:
    log: Log = []
    refusing = reserving("B", Status.unschedulable("out of licences"), log)
    stage = set_stage(reserving("A", None, log), refusing, reserving("C", None, log))
    stage.put_pod(make_pod("web"))

    await stage.settle()

    assert log == ["A reserves one", "B reserves one", "C unreserves one", "B unreserves one", "A unreserves one"]
    assert stage.conditions[WEB] == ("Unschedulable", "0/1 nodes are available: 1 out of licences.", "")
    assert stage.place(WEB) == "unschedulable"
    assert free(stage)


@pytest.mark.parametrize(
    ("plugin", "message"),
    [
        (reserving("A", Status.failure("boom")), 'running Reserve plugin "A": boom'),
        (permitting("A", Status.failure("boom")), 'running Permit plugin "A": boom'),
        (broken(reserving("A"), "reserve", ValueError("bug")), 'running Reserve plugin "A": bug'),
        (broken(permitting("A", None), "permit", ValueError("bug")), 'running Permit plugin "A": bug'),
    ],
    ids=["reserve fails", "permit fails", "reserve raises", "permit raises"],
)
async def test_an_error_gives_everything_back_and_the_pod_is_tried_again(
    plugin: type[Plugin], message: str, set_stage: SetStage
) -> None:
    log: Log = []
    stage = set_stage(reserving("First", None, log), plugin)
    stage.put_pod(make_pod("web"))

    await stage.settle()

    assert log == ["First reserves one", "First unreserves one"]
    assert stage.conditions[WEB] == ("SchedulerError", message, "")
    assert stage.place(WEB) == "error backoff"
    assert free(stage)
    await stage.wait(2.0)
    assert log == ["First reserves one", "First unreserves one"] * 2


async def test_permit_may_turn_a_pod_away_and_later_plugins_are_not_asked(set_stage: SetStage) -> None:
    log: Log = []
    stage = set_stage(
        reserving("R", None, log),
        permitting("Closed", Status.unschedulable("closed")),
        broken(permitting("Never", None), "permit", AssertionError("nobody asks")),
    )
    stage.put_pod(make_pod("web"))

    await stage.settle()

    assert log == ["R reserves one", "R unreserves one"]
    assert stage.notes(WEB) == ["0/1 nodes are available: 1 closed."]
    assert stage.place(WEB) == "unschedulable"


async def test_a_pod_that_every_plugin_permits_is_bound_at_once(set_stage: SetStage) -> None:
    stage = set_stage(permitting("A", None), permitting("B", None))
    stage.put_pod(make_pod("web"))

    await stage.settle()

    assert stage.binds == [(WEB, "one")]


async def test_a_pod_that_has_to_wait_keeps_its_place_and_is_bound_when_it_is_allowed(set_stage: SetStage) -> None:
    stage = set_stage(permitting("A", wait(60)), permitting("B", wait(60)), permitting("C", None))
    stage.put_node(make_node("one", cpu="1"))
    stage.put_pod(make_pod("web").requests(cpu="700m"), make_pod("next").requests(cpu="700m"))
    await stage.settle()
    waiting = stage.engine.waiting_pods.get(stage.uid(WEB))
    assert waiting is not None
    assert (waiting.node_name, waiting.pending_plugins) == ("one", frozenset({"A", "B"}))

    waiting.allow("A")
    await stage.settle()
    assert stage.binds == []

    waiting.allow("B")
    await stage.settle()
    assert stage.binds[0] == (WEB, "one")
    assert len(stage.engine.waiting_pods) == 1  # the next pod waits in its turn


async def test_time_that_is_up_gives_the_place_to_others(set_stage: SetStage) -> None:
    log: Log = []
    stage = set_stage(reserving("R", None, log), permitting("Gate", wait(30)))
    stage.put_pod(make_pod("web"))
    await stage.settle()

    await stage.wait(30)

    text = "rejected due to timeout after waiting 30s at plugin Gate"
    assert stage.notes(WEB) == [f"0/1 nodes are available: 1 {text}."]
    assert log[:2] == ["R reserves one", "R unreserves one"]


async def test_a_wait_is_never_longer_than_a_quarter_of_an_hour(set_stage: SetStage) -> None:
    stage = set_stage(permitting("Gate", wait(24 * 3600)))
    stage.put_pod(make_pod("web"))
    await stage.settle()

    await stage.wait(15 * 60)

    assert stage.notes(WEB) == [
        "0/1 nodes are available: 1 rejected due to timeout after waiting 15m0s at plugin Gate."
    ]


async def test_a_pod_that_is_deleted_while_it_waits_gives_its_place_back(set_stage: SetStage) -> None:
    log: Log = []
    stage = set_stage(reserving("R", None, log), permitting("Gate", wait(30)))
    stage.put_pod(make_pod("web"))
    await stage.settle()
    uid = stage.uid(WEB)

    stage.drop_pod(WEB)
    await stage.settle()

    assert log == ["R reserves one", "R unreserves one"]
    assert free(stage)
    assert stage.engine.queue.contents.get(uid) is None
    assert stage.events == []


async def test_an_end_of_the_wait_that_is_no_rejection_is_an_error(set_stage: SetStage) -> None:
    stage = set_stage(permitting("Gate", wait(30)))
    stage.put_pod(make_pod("web"))
    await stage.settle()

    for waiting in stage.engine.waiting_pods:
        waiting.fail(Status.failure("the scheduler is shutting down"))
    await stage.breathe()

    message = "waiting on permit for pod: the scheduler is shutting down"
    assert stage.conditions[WEB] == ("SchedulerError", message, "")
    assert stage.place(WEB) == "error backoff"
