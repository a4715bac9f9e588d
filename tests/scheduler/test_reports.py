"""Reports to users follow reasons, not the numbers in their text."""

import pytest

from muster.framework.contract.status import Status
from muster.framework.model.pod_info import PodInfo
from muster.framework.scheduler.reports import REFRESH_SECONDS, Reports
from tests.builders import make_node, make_pod
from tests.scheduler.conftest import SetStage
from tests.scheduler.stage import Stage

FULL = "0/{nodes} nodes are available: {nodes} Insufficient cpu."
TAINTED = "0/{nodes} nodes are available: 1 Insufficient cpu, {rest} node(s) had untolerated taint(s)."


@pytest.fixture
def stage(set_stage: SetStage) -> Stage:
    return set_stage()


def waiting(stage: Stage, *names: str) -> list[PodInfo]:
    """Pods that the reports are about. The scheduler takes no step, so it says nothing of its own."""
    infos = []
    for name in names:
        stage.put_pod(make_pod(name))
        info = stage.engine.known.get(f"default/{name}")
        assert info is not None
        infos.append(info)
    return infos


def reports(stage: Stage) -> Reports:
    return stage.engine.scheduler.reports


def refuse(text: str, **numbers: int) -> Status:
    return Status.unschedulable(text.format(**numbers))


async def test_other_numbers_are_reported_half_a_minute_later_and_the_latest_only(stage: Stage) -> None:
    [web] = waiting(stage, "web")
    for nodes in (5, 6, 7):
        reports(stage).failed(web, refuse(FULL, nodes=nodes), None)
    assert stage.notes("default/web") == [FULL.format(nodes=5)]

    stage.clock.move_to(stage.clock.now() + REFRESH_SECONDS)
    assert stage.notes("default/web") == [FULL.format(nodes=5), FULL.format(nodes=7)]
    assert stage.conditions["default/web"][1] == FULL.format(nodes=7)


async def test_other_reasons_are_reported_at_once(stage: Stage) -> None:
    [web] = waiting(stage, "web")
    reported = [
        refuse(FULL, nodes=5),
        refuse(TAINTED, nodes=5, rest=4),
        Status.failure("etcd is away"),
        refuse(FULL, nodes=5),
    ]
    for status in reported:
        reports(stage).failed(web, status, None)

    assert stage.notes("default/web") == [status.message for status in reported]


async def test_the_order_in_which_numbers_put_reasons_is_no_reason(stage: Stage) -> None:
    [web] = waiting(stage, "web")
    reports(stage).failed(web, Status.unschedulable("0/9 nodes are available: 1 too small, 8 tainted."), None)
    reports(stage).failed(web, Status.unschedulable("0/9 nodes are available: 3 tainted, 6 too small."), None)

    assert len(stage.notes("default/web")) == 1


async def test_of_pods_that_are_alike_each_is_reported_once_and_then_one_at_a_time(stage: Stage) -> None:
    pods = waiting(stage, "a", "b", "c")
    for nodes in range(5, 9):
        for pod in pods:
            reports(stage).failed(pod, refuse(FULL, nodes=nodes), None)
    assert len(stage.events) == 3

    stage.clock.move_to(stage.clock.now() + REFRESH_SECONDS)
    assert len(stage.events) == 4


async def test_members_of_a_group_share_one_repeated_report(stage: Stage) -> None:
    pods = [*waiting(stage, "leader"), *waiting(stage, "worker")]
    for nodes in (5, 6):
        for pod in pods:
            reports(stage).failed(pod, refuse(FULL, nodes=nodes), None, "default/g")
    stage.clock.move_to(stage.clock.now() + REFRESH_SECONDS)

    assert len(stage.events) == 3


async def test_a_nomination_is_reported_at_once(stage: Stage) -> None:
    [web] = waiting(stage, "web")
    reports(stage).failed(web, refuse(FULL, nodes=5), "")
    reports(stage).failed(web, refuse(FULL, nodes=5), "one")

    assert stage.conditions["default/web"][2] == "one"


async def test_a_pod_that_was_placed_in_between_gets_its_new_reason_at_once(stage: Stage) -> None:
    stage.answer_bindings(Status.failure("conflict"), Status.failure("conflict"))
    stage.put_node(make_node("one"))
    stage.put_pod(make_pod("web"))
    await stage.settle()
    await stage.wait(3)

    assert len(stage.notes("default/web")) == 2


async def test_nothing_is_reported_about_a_pod_that_is_gone_or_has_a_node_by_then(stage: Stage) -> None:
    gone, bound = waiting(stage, "gone", "bound")
    for nodes in (5, 6):
        for pod in (gone, bound):
            reports(stage).failed(pod, refuse(FULL, nodes=nodes), None, pod.name)
    stage.drop_pod("default/gone")
    stage.put_pod(make_pod("bound").node("one"))
    stage.clock.move_to(stage.clock.now() + REFRESH_SECONDS)

    assert len(stage.events) == 2


async def test_nothing_that_was_said_of_a_pod_outlives_it(stage: Stage) -> None:
    [web] = waiting(stage, "web")
    reports(stage).failed(web, refuse(FULL, nodes=5), None)
    assert reports(stage).last("default/web") is not None
    stage.drop_pod("default/web")
    assert reports(stage).last("default/web") is None
