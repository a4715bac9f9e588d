"""The metrics of an attempt: the extension points that ran with their results, as in kube-scheduler."""

import pytest

from muster.framework.contract import Plugin, Status
from muster.framework.metrics import SchedulerMetrics
from tests.builders import make_node, make_pod
from tests.scheduler.conftest import SetStage
from tests.scheduler.scripted import filtering, permitting, reserving, scoring

NO = Status.unschedulable("no")


def points_of(metrics: SchedulerMetrics) -> list[str]:
    """The points that ran, each once, in their order, with what those came to that failed."""
    ran = metrics.extension_point_duration.counts()
    assert set(ran.values()) == {1}
    return [point if status == "Success" else f"{point} {status}" for point, status, _ in ran]


@pytest.mark.parametrize(
    ("plugins", "points"),
    [
        ((filtering("F", {"one": NO}),), ["PreFilter", "Filter"]),
        (
            (scoring("S", {"one": 1}), reserving("R"), permitting("P", NO)),
            ["PreFilter", "Filter", "Reserve", "Permit Unschedulable", "Unreserve"],
        ),
        ((reserving("R", NO),), ["PreFilter", "Filter", "Reserve Unschedulable", "Unreserve"]),
        ((reserving("R"),), ["PreFilter", "Filter", "Reserve", "Permit", "PreBind", "Bind", "PostBind"]),
    ],
    ids=["no node", "refused by Permit", "refused by Reserve", "bound"],
)
async def test_every_point_that_ran_is_observed_once(
    set_stage: SetStage, plugins: tuple[type[Plugin], ...], points: list[str]
) -> None:
    stage = set_stage(*plugins)
    stage.put_pod(make_pod("web"))
    await stage.settle()

    assert points_of(stage.metrics) == points
    assert stage.metrics.scheduling_algorithm_duration.counts() == {(): 1}


@pytest.mark.parametrize(
    ("scores", "points"),
    [
        (scoring("S", {"one": 101}), ["PreFilter", "Filter", "PreScore", "Score Error"]),
        (scoring("S", {}, pre_score=Status.failure("no")), ["PreFilter", "Filter", "PreScore Error"]),
    ],
)
async def test_scores_that_break_are_reported_as_errors(
    set_stage: SetStage, scores: type[Plugin], points: list[str]
) -> None:
    stage = set_stage(scores)
    stage.put_node(make_node("two"))
    stage.put_pod(make_pod("web"))
    await stage.settle()

    assert points_of(stage.metrics) == points
    assert stage.metrics.scheduling_algorithm_duration.counts() == {(): 1}
