"""A node that a pod will be bound to, but not at once, is told the API, and taken back when nothing comes of it."""

from muster.framework.contract import Status
from tests.builders import make_pod
from tests.scheduler.conftest import SetStage
from tests.scheduler.scripted import permitting, pre_binding

WEB = "default/web"


async def test_a_pod_that_is_bound_at_once_is_not_announced(set_stage: SetStage) -> None:
    stage = set_stage(pre_binding("Idle", None, ahead=Status.skip()))
    stage.put_pod(make_pod("web"))
    await stage.settle()
    assert (stage.binds, stage.nominations) == ([(WEB, "one")], [])


async def test_a_pod_that_something_is_done_for_first_is_announced(set_stage: SetStage) -> None:
    stage = set_stage(pre_binding("Busy", None))
    stage.put_pod(make_pod("web"))
    await stage.settle()
    assert (stage.binds, stage.nominations) == ([(WEB, "one")], [(WEB, "one")])


async def test_a_pod_that_permit_holds_is_announced_before_it_may_go_on(set_stage: SetStage) -> None:
    stage = set_stage(permitting("Gate", Status.wait("not yet")))
    stage.put_pod(make_pod("web"))
    await stage.settle()
    assert (stage.binds, stage.nominations) == ([], [(WEB, "one")])


async def test_what_was_announced_is_taken_back_with_the_reason(set_stage: SetStage) -> None:
    stage = set_stage(pre_binding("Broken", Status.failure("no")))
    stage.put_pod(make_pod("web"))
    await stage.settle()
    reason, _, nominated = stage.conditions[WEB]
    assert (reason, nominated) == ("SchedulerError", "")
    assert stage.nominations == [(WEB, "one")]


async def test_a_pod_whose_work_ahead_cannot_be_told_is_not_held_by_permit(set_stage: SetStage) -> None:
    stage = set_stage(
        permitting("Gate", Status.wait("not yet")), pre_binding("Broken", None, ahead=Status.failure("no"))
    )
    stage.put_pod(make_pod("web"))
    await stage.settle()
    assert stage.place(WEB) == "error backoff"
    assert len(stage.engine.waiting) == 0
    assert stage.nominations == []
