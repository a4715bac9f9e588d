"""A plugin that raises or answers wrongly fails one pod's attempt, with plugin and point named, and never the loop."""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

import pytest

from muster.framework.contract import CycleState, Plugin, PodInfo, Status, Wait
from muster.framework.runtime.call_watch import Running
from muster.framework.scheduler.explain import explain
from muster.testing.cluster import info
from tests.builders import make_node, make_pod
from tests.scheduler.conftest import SetStage
from tests.scheduler.scripted import (
    binding,
    broken,
    filtering,
    permitting,
    post_filtering,
    pre_binding,
    pre_filtering,
    reserving,
    scoring,
)

WEB = "default/web"
PRE_FILTER = pre_filtering("P", None)
POINTS: dict[str, tuple[type[Plugin], str, str]] = {
    "PreFilter": (PRE_FILTER, "pre_filter", 'running PreFilter plugin "P"'),
    "Filter": (filtering("P", {}), "filter", 'running "P" filter plugin'),
    "PreScore": (scoring("P", {}), "pre_score", 'running PreScore plugin "P"'),
    "Score": (scoring("P", {}), "score", 'running Score plugins: plugin "P" failed with'),
    "NormalizeScore": (
        scoring("P", {}),
        "normalize_score",
        'running Normalize on Score plugins: plugin "P" failed with',
    ),
    "Reserve": (reserving("P"), "reserve", 'running Reserve plugin "P"'),
    "Permit": (permitting("P", None), "permit", 'running Permit plugin "P"'),
    "PreBindPreFlight": (pre_binding("P"), "pre_bind_pre_flight", 'running PreBindPreFlight "P"'),
    "PreBind": (pre_binding("P"), "pre_bind", 'running PreBind plugin "P"'),
    "Bind": (binding("P", None), "bind", 'running Bind plugin "P"'),
}


class Unspeakable(Exception):
    """Cannot even say what is wrong."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


class OfNoKind(BaseException):
    """Is no Exception."""


def answering(plugin: type[Plugin], method: str, answer: object) -> type[Plugin]:
    """A plugin one of whose methods answers something else than it should."""
    return type(plugin.__name__, (plugin,), {method: lambda *_: answer})


async def what_becomes_of(plugin: type[Plugin], set_stage: SetStage) -> str:
    """The condition of a pod that meets the plugin, which is the only one."""
    stage = set_stage(plugin)
    stage.put_node(make_node("two"))
    stage.put_pod(make_pod("web"))
    await stage.settle()
    reason, message, _ = stage.conditions[WEB]
    assert reason == "SchedulerError"
    assert stage.place(WEB) == "error backoff"
    assert stage.engine.cache.assumed_count == 0
    assert stage.engine.call_watch.current is None
    return message


@pytest.mark.parametrize(("plugin", "method", "words"), POINTS.values(), ids=list(POINTS))
@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("a bug"), "a bug"),
        (asyncio.CancelledError(), "CancelledError"),
        (OfNoKind("odd"), "odd"),
        (Unspeakable(), "Unspeakable"),
        (StopIteration(), "StopIteration"),
    ],
    ids=[
        "an exception",
        "a cancellation of its own",
        "no exception",
        "nothing that can be reported",
        "the end of a loop",
    ],
)
async def test_an_error_names_plugin_and_point_when_it_raises(
    plugin: type[Plugin], method: str, words: str, error: Any, text: str, set_stage: SetStage
) -> None:
    assert await what_becomes_of(broken(plugin, method, error), set_stage) == f"{words}: {text}"


@pytest.mark.parametrize(
    ("point", "answer"),
    [
        ("PreFilter", "no"),
        ("Filter", None),
        ("Filter", [0, 0]),
        ("PreScore", 3),
        ("Score", None),
        ("Score", "high"),
        ("Reserve", False),
        ("Permit", Status.wait()),
        ("Permit", (None,)),
        ("PreBindPreFlight", True),
        ("PreBind", None),  # something that cannot be awaited
        ("Bind", None),
    ],
)
async def test_an_answer_that_means_nothing_is_an_error_of_plugin_and_point(
    point: str, answer: object, set_stage: SetStage
) -> None:
    plugin, method, words = POINTS[point]
    if point == "Permit" and isinstance(answer, Status):
        words = 'running Permit plugin "P"'
    assert (await what_becomes_of(answering(plugin, method, answer), set_stage)).startswith(words)


@pytest.mark.parametrize("method", ["reserve", "unreserve"])
async def test_a_plugin_that_breaks_while_a_decision_is_explained_ends_nothing(
    method: str, set_stage: SetStage, caplog: pytest.LogCaptureFixture
) -> None:
    class Planning(reserving("P"), pre_binding("P")):  # type: ignore[misc]  # classes that functions make
        def planned(self, state: CycleState, pod: PodInfo, node_name: str) -> Mapping[str, Any]:
            return {"widgets": [node_name]}

    Planning.name = "P"
    stage = set_stage(broken(Planning, method, OfNoKind("odd")))
    said = f'running {method.capitalize()} plugin "P": odd'

    found = explain(stage.engine.algorithms["muster"], info(make_pod("web")))

    assert found.planned == ({"P": said} if method == "reserve" else {"widgets": ["one"]})
    assert method == "reserve" or 'running Unreserve plugin "P"' in caplog.text
    assert stage.engine.cache.assumed_count == 0


async def test_a_post_filter_that_breaks_is_reported_behind_the_reasons_of_the_nodes(set_stage: SetStage) -> None:
    full = filtering("Full", {"one": Status.unschedulable("full")})
    stage = set_stage(full, broken(post_filtering("P", None, None), "post_filter", asyncio.CancelledError()))
    stage.put_pod(make_pod("web"))
    await stage.settle()

    reported = '0/1 nodes are available: 1 full. running PostFilter plugin "P": CancelledError'
    assert stage.conditions[WEB] == ("Unschedulable", reported, None)


async def test_a_call_that_takes_too_long_is_named_once_in_ten_seconds(
    set_stage: SetStage, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[Running | None] = []

    def dawdle(plugin: Any, *_: object) -> None:
        seen.append(stage.engine.call_watch.current)
        stage.clock.move_to(stage.clock.now() + 0.2)

    plugin = type("Slow", (reserving("Slow"),), {"reserve": dawdle})
    stage = set_stage(plugin)
    with caplog.at_level(logging.WARNING):
        stage.put_pod(make_pod("web"), make_pod("next"))
        await stage.settle()

    assert stage.metrics.plugin_slow_calls.values() == {("Slow", "Reserve"): 2}
    assert [record.message for record in caplog.records] == ["A plugin held up the scheduler"]
    # What another thread would see while the calls run.
    running = {(by.name, point.name, pod.key) for by, point, pod, _ in filter(None, seen)}
    assert running == {("Slow", "Reserve", WEB), ("Slow", "Reserve", "default/next")}


async def test_a_pod_that_permit_holds_is_in_the_log_and_the_newest_decision(
    set_stage: SetStage, caplog: pytest.LogCaptureFixture
) -> None:
    stage = set_stage(permitting("Doorman", Wait(30.0)))
    with caplog.at_level(logging.DEBUG, "muster"):
        stage.put_pod(make_pod("web"))
        await stage.settle()

    last = stage.engine.scheduler.reports.last(WEB)
    assert last is not None
    assert (last.node, last.code, last.plugin) == ("one", "Wait", "Doorman")
    assert "Pod waits on permit" in [record.message for record in caplog.records]
