"""The binding cycle: PreBind, Bind and PostBind, and what is undone when one of them fails."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from muster.framework.contract import Plugin, Status, Wait
from muster.plugins.nodes.taint_toleration import TaintToleration
from muster.plugins.resources.fit import NodeResourcesFit
from tests.builders import make_node, make_pod
from tests.scheduler.conftest import SetStage
from tests.scheduler.scripted import Log, binding, broken, permitting, post_binding, pre_binding, reserving
from tests.scheduler.stage import Stage

WEB = "default/web"
UNSUPPORTED = "which is unsupported. It is supposed to return Success, Skip, or Error status"


async def test_a_pod_is_pre_bound_bound_and_reported_in_this_order(set_stage: SetStage) -> None:
    log: Log = []
    stage = set_stage(pre_binding("Pre", None, log), binding("Binder", None, log), post_binding("Post", log))
    stage.put_pod(make_pod("web"))

    await stage.settle()

    assert log == ["Pre pre-binds to one", "Binder binds to one", "Post knows of one"]
    assert stage.notes(WEB, "Scheduled") == ["Successfully assigned default/web to one"]
    assert stage.place(WEB) == "assumed"  # until the informer reports it


async def test_a_bind_plugin_may_pass_the_pod_on(set_stage: SetStage) -> None:
    log: Log = []
    stage = set_stage(binding("A", Status.skip(), log), binding("B", None, log), binding("C", None, log))
    stage.put_pod(make_pod("web"))

    await stage.settle()

    assert log == ["A binds to one", "B binds to one"]
    assert stage.binds == []


async def test_the_default_binder_takes_what_all_others_pass_on(set_stage: SetStage) -> None:
    stage = set_stage(binding("A", Status.skip()), binding("B", Status.skip()))
    stage.put_pod(make_pod("web"))

    await stage.settle()

    assert stage.binds == [(WEB, "one")]


async def test_a_pre_bind_plugin_that_has_nothing_to_do_is_left_out(set_stage: SetStage) -> None:
    log: Log = []
    stage = set_stage(pre_binding("Idle", None, log, ahead=Status.skip()), pre_binding("Busy", None, log))
    stage.put_pod(make_pod("web"))

    await stage.settle()

    assert log == ["Busy pre-binds to one"]
    assert stage.binds == [(WEB, "one")]


@pytest.mark.parametrize(
    ("plugin", "reason", "message"),
    [
        (pre_binding("P", Status.failure("boom")), "SchedulerError", 'running PreBind plugin "P": boom'),
        (pre_binding("P", Status.unschedulable("no volume")), "Unschedulable", "no volume"),
        (pre_binding("P", ahead=Status.failure("boom")), "SchedulerError", 'running PreBindPreFlight "P": boom'),
        (
            pre_binding("P", ahead=Status.unschedulable("no")),
            "SchedulerError",
            f'PreBindPreFlight P returned "Unschedulable", {UNSUPPORTED}',
        ),
        (binding("P", Status.failure("boom")), "SchedulerError", 'running Bind plugin "P": boom'),
        (binding("P", Status.unschedulable("no seat")), "Unschedulable", "no seat"),
        (broken(pre_binding("P"), "pre_bind", ValueError("bug")), "SchedulerError", 'running PreBind plugin "P": bug'),
        (broken(binding("P", None), "bind", ValueError("bug")), "SchedulerError", 'running Bind plugin "P": bug'),
    ],
    ids=lambda value: value if isinstance(value, str) and value != "SchedulerError" else None,
)
async def test_a_failure_gives_the_place_back_and_the_pod_is_tried_again_after_backoff(
    plugin: type[Plugin], reason: str, message: str, set_stage: SetStage
) -> None:
    log: Log = []
    stage = set_stage(reserving("A", None, log), reserving("B", None, log), plugin)
    stage.put_pod(make_pod("web"))

    await stage.settle()

    assert log == ["A reserves one", "B reserves one", "B unreserves one", "A unreserves one"]
    assert stage.conditions[WEB] == (reason, message, "")
    assert stage.notes(WEB) == [message]
    assert stage.place(WEB) == "error backoff"
    assert stage.engine.cache.pod_count == 0


async def test_a_binding_that_the_api_refuses_is_tried_again(set_stage: SetStage) -> None:
    stage = set_stage()
    stage.answer_bindings(Status.failure("etcdserver: request timed out"))
    stage.put_pod(make_pod("web"))
    await stage.settle()
    assert stage.notes(WEB) == ['running Bind plugin "DefaultBinder": etcdserver: request timed out']

    await stage.wait(2.0)

    assert stage.binds == [(WEB, "one")] * 2
    assert stage.notes(WEB, "Scheduled") == ["Successfully assigned default/web to one"]


async def test_capacity_released_by_a_failed_binding_goes_to_a_waiting_pod(set_stage: SetStage) -> None:
    stage = set_stage(NodeResourcesFit)
    stage.put_node(make_node("one", cpu="1"))
    stage.hold_bindings()
    stage.answer_bindings(Status.failure("refused"))
    stage.put_pod(make_pod("a").requests(cpu="700m"), make_pod("b").requests(cpu="700m"))
    await stage.settle()
    assert stage.place("default/b") == "unschedulable"

    stage.release_bindings()
    await stage.breathe()
    await stage.settle()

    assert stage.binds == [("default/a", "one"), ("default/b", "one")]


async def test_post_bind_is_not_called_for_pods_that_were_not_bound(set_stage: SetStage) -> None:
    log: Log = []
    stage = set_stage(binding("B", Status.failure("boom")), post_binding("Post", log))
    stage.put_pod(make_pod("web"))

    await stage.settle()

    assert log == []


@pytest.fixture
async def held(set_stage: SetStage) -> Stage:
    """A stage where Permit holds `web`, which needs 700m of the one CPU of node `one`."""
    stage = set_stage(TaintToleration, NodeResourcesFit, permitting("Gate", Wait(60)))
    stage.put_node(make_node("one", cpu="1"))
    stage.put_pod(make_pod("web").requests(cpu="700m"))
    await stage.settle()
    return stage


async def let_go(stage: Stage) -> None:
    """Permit lets `web` go, and the binding cycle goes on."""
    waiting = stage.engine.waiting_pods.get(stage.uid(WEB))
    assert waiting is not None
    waiting.allow("Gate")
    await stage.breathe()


async def test_a_pod_that_was_held_is_bound_when_nothing_has_changed(held: Stage) -> None:
    await let_go(held)

    assert held.binds == [(WEB, "one")]


async def test_a_pod_that_was_held_is_bound_beside_one_that_another_scheduler_bound(held: Stage) -> None:
    held.put_pod(make_pod("theirs").scheduler("other").requests(cpu="300m").node("one"))

    await let_go(held)

    assert held.binds == [(WEB, "one")]


@dataclass(frozen=True)
class Change:
    """What happened to the node of a pod that was held, and what is said of it."""

    happen: Callable[[Stage], None]
    reason: str


@pytest.mark.parametrize(
    "change",
    [
        Change(
            lambda stage: stage.put_pod(make_pod("theirs").scheduler("other").requests(cpu="400m").node("one")),
            "Insufficient cpu",
        ),
        Change(
            lambda stage: stage.put_node(make_node("one", cpu="1").taint("broken")),
            "node(s) had untolerated taint(s)",
        ),
        Change(lambda stage: stage.put_node(make_node("one", cpu="500m")), "Insufficient cpu"),
        Change(lambda stage: stage.drop_node("one"), 'nodeinfo not found for node name "one"'),
    ],
    ids=["another scheduler bound a pod there", "it was tainted", "it shrank", "it is gone"],
)
async def test_a_pod_that_was_held_is_not_bound_to_a_node_after(change: Change, held: Stage) -> None:
    change.happen(held)

    await let_go(held)

    assert held.binds == []
    assert held.conditions[WEB] == ("Unschedulable", f"0/1 nodes are available: 1 {change.reason}.", "")
    assert held.engine.cache.node_of(held.uid(WEB)) is None
