"""What metrics are told of an attempt: the extension points that ran with what they came to, as kube-scheduler does."""

import pytest

from muster.framework.contract import Code, Plugin, Status
from muster.framework.contract.observer import NullObserver
from tests.builders import make_node, make_pod
from tests.scheduler.conftest import SetStage
from tests.scheduler.scripted import filtering, permitting, reserving, scoring

NO = Status.unschedulable("no")


class Points(NullObserver):
    """Remembers the points that ran, with what those that failed came to, and how often a node was sought."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.searches = 0

    def extension_point(self, point: str, status: Code, *, profile: str, seconds: float) -> None:
        self.seen.append(point if status is Code.SUCCESS else f"{point} {status.wire_name}")

    def algorithm_seconds(self, seconds: float) -> None:
        self.searches += 1


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
async def test_every_point_that_ran_is_told_once(
    set_stage: SetStage, plugins: tuple[type[Plugin], ...], points: list[str]
) -> None:
    observed = Points()
    stage = set_stage(*plugins, observer=observed)
    stage.put_pod(make_pod("web"))
    await stage.settle()

    assert observed.seen == points
    assert observed.searches == 1


@pytest.mark.parametrize(
    ("scores", "points"),
    [
        (scoring("S", {"one": 101}), ["PreFilter", "Filter", "PreScore", "Score Error"]),
        (scoring("S", {}, pre_score=Status.failure("no")), ["PreFilter", "Filter", "PreScore Error"]),
    ],
)
async def test_scores_that_break_are_told_as_errors(
    set_stage: SetStage, scores: type[Plugin], points: list[str]
) -> None:
    observed = Points()
    stage = set_stage(scores, observer=observed)
    stage.put_node(make_node("two"))
    stage.put_pod(make_pod("web"))
    await stage.settle()

    assert observed.seen == points
    assert observed.searches == 1
