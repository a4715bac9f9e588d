"""The node of a pod that is not bound at once is nominated in the API, and cleared if the pod does not go there."""

from muster.framework.contract import Status, Wait
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
    stage = set_stage(permitting("Gate", Wait(300.0, ("not yet",))))
    stage.put_pod(make_pod("web"))
    await stage.settle()
    assert (stage.binds, stage.nominations) == ([], [(WEB, "one")])


async def test_an_announced_nomination_is_withdrawn_with_the_reason(set_stage: SetStage) -> None:
    stage = set_stage(pre_binding("Broken", Status.failure("no")))
    stage.put_pod(make_pod("web"))
    await stage.settle()
    reason, _, nominated = stage.conditions[WEB]
    assert (reason, nominated) == ("SchedulerError", "")
    assert stage.nominations == [(WEB, "one")]


async def test_a_pod_whose_pre_bind_work_is_unknown_is_not_held_by_permit(set_stage: SetStage) -> None:
    stage = set_stage(
        permitting("Gate", Wait(300.0, ("not yet",))), pre_binding("Broken", None, ahead=Status.failure("no"))
    )
    stage.put_pod(make_pod("web"))
    await stage.settle()
    assert stage.place(WEB) == "error backoff"
    assert len(stage.engine.waiting_pods) == 0
    assert stage.nominations == []


async def test_a_pod_that_permit_holds_for_long_has_a_reason_until_it_goes_on(set_stage: SetStage) -> None:
    stage = set_stage(permitting("Gate", Wait(300.0, ("closed until noon",))), permitting("Door", None))
    stage.put_pod(make_pod("web"))
    await stage.run(4)
    assert (stage.events, stage.conditions) == ([], {})
    await stage.run(2)
    message = "waits on node one for Gate to permit it: closed until noon"
    assert stage.events == [(WEB, "WaitingOnPermit", message)]
    assert stage.conditions[WEB] == ("WaitingOnPermit", message, None)

    waiting = stage.engine.waiting_pods.get(stage.uid(WEB))
    assert waiting is not None
    waiting.allow("Gate")
    await stage.run(60)
    assert [reason for _, reason, _ in stage.events] == ["WaitingOnPermit", "Scheduled"]


async def test_a_pod_that_permit_holds_and_then_rejects_gets_both_events(set_stage: SetStage) -> None:
    stage = set_stage(permitting("Gate", Wait(20.0)))
    stage.put_pod(make_pod("web"))
    await stage.run(15)
    assert stage.conditions[WEB][:2] == ("WaitingOnPermit", "waits on node one for Gate to permit it")
    await stage.run(5.5)
    assert stage.conditions[WEB][0] == "Unschedulable"
    assert "rejected due to timeout after waiting 20s at plugin Gate" in stage.conditions[WEB][1]
