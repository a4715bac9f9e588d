"""A plugin with a bug costs an attempt, never a pod: the pod is somewhere, and its node is given back."""

from muster.framework.contract import Code, Plugin, PodFollower, PreEnqueuePlugin, Status
from muster.framework.model.pod_info import PodInfo
from tests.builders import make_node, make_pod
from tests.scheduler.conftest import SetStage
from tests.scheduler.scripted import Log, broken, permitting, post_binding, reserving

WEB = "default/web"
BUG = RuntimeError("a bug")


class Gate(PreEnqueuePlugin):
    """Breaks as often as a test says, then lets everything in."""

    name = "Gate"
    bugs = 0

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        if type(self).bugs:
            type(self).bugs -= 1
            raise BUG
        return None


class Follower(PodFollower):
    """Cannot follow anything."""

    name = "Follower"

    def on_pod(self, old: PodInfo | None, new: PodInfo | None) -> None:
        raise BUG


def unreserving_badly(log: Log) -> tuple[type[Plugin], type[Plugin]]:
    """Two plugins that reserve; the one that is to give back first cannot."""
    return reserving("Good", log=log), broken(reserving("Bad"), "unreserve", BUG)


async def test_a_pod_that_permit_refuses_gives_all_back_though_a_plugin_cannot(set_stage: SetStage) -> None:
    log: Log = []
    stage = set_stage(*unreserving_badly(log), permitting("Refuses", Status.unschedulable("no")))
    stage.put_pod(make_pod("web"))
    await stage.settle()

    assert log == ["Good reserves one", "Good unreserves one"]
    assert stage.place(WEB) == "unschedulable"
    assert stage.engine.cache.assumed_count == 0


async def test_a_pod_that_cannot_be_bound_is_unreserved_and_retried(set_stage: SetStage) -> None:
    log: Log = []
    stage = set_stage(*unreserving_badly(log))
    stage.answer_bindings(Status.failure("conflict"))
    stage.put_pod(make_pod("web"))
    await stage.settle()
    assert "Good unreserves one" in log
    assert stage.engine.cache.assumed_count == 0

    await stage.wait(2)
    assert stage.binds == [(WEB, "one"), (WEB, "one")]


async def test_a_bound_pod_gets_its_event_although_a_plugin_fails_at_post_bind(set_stage: SetStage) -> None:
    log: Log = []
    stage = set_stage(broken(post_binding("Bad", []), "post_bind", BUG), post_binding("Good", log))
    stage.put_pod(make_pod("web"))
    await stage.settle()

    assert stage.notes(WEB, "Scheduled") == ["Successfully assigned default/web to one"]
    assert log == ["Good knows of one"]


async def test_a_pod_whose_pre_enqueue_fails_reports_it_and_is_retried_until_it_is_admitted(
    set_stage: SetStage,
) -> None:
    Gate.bugs = 2
    stage = set_stage(Gate)
    stage.put_pod(make_pod("web"))
    await stage.settle()
    assert stage.place(WEB) == "error backoff"
    assert stage.notes(WEB, "FailedScheduling") == ['running PreEnqueue plugin "Gate": a bug']
    assert stage.conditions[WEB] == ("SchedulerError", 'running PreEnqueue plugin "Gate": a bug', None)

    await stage.wait(2)
    await stage.wait(5)
    assert [pod for pod, _ in stage.binds] == [WEB]


async def test_a_pod_that_fails_behind_a_gate_that_breaks_then_is_not_lost(set_stage: SetStage) -> None:
    Gate.bugs = 0
    stage = set_stage(Gate, permitting("Refuses", Status.unschedulable("no")))
    stage.put_pod(make_pod("web"))
    await stage.settle()
    Gate.bugs = 1
    stage.put_node(make_node("more"))
    assert stage.place(WEB) in ("error backoff", "backoff")

    stage.drop_pod(WEB)
    await stage.settle()
    assert stage.engine.queue.contents.counts() == dict.fromkeys(stage.engine.queue.contents.counts(), 0)


async def test_pods_are_scheduled_though_a_plugin_cannot_follow_them(set_stage: SetStage) -> None:
    stage = set_stage(Follower)
    stage.put_pod(make_pod("web"))
    await stage.settle()
    assert stage.binds == [(WEB, "one")]
    assert Code.SUCCESS.wire_name == stage.engine.scheduler.reports.last(WEB).code  # type: ignore[union-attr]

    stage.put_pod(make_pod("web").node("one"))
    stage.drop_pod(WEB)
    assert stage.engine.cache.assumed_count == 0
