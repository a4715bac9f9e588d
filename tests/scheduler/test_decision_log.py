"""The log of a decision at the highest verbosity: kube-scheduler's lines, one for each node."""

import logging

import pytest

from muster.framework.contract import Status
from tests.builders import make_node, make_pod
from tests.scheduler.scripted import filtering, scoring
from tests.scheduler.stage import Stage


def _lines(caplog: pytest.LogCaptureFixture) -> list[tuple[str, dict[str, object]]]:
    return [(record.getMessage(), record.pairs) for record in caplog.records if hasattr(record, "pairs")]


async def _decided(caplog: pytest.LogCaptureFixture, verbosity: int) -> list[tuple[str, dict[str, object]]]:
    full = Status.unschedulable("node(s) were full")
    stage = Stage(filtering("Room", {"a": full}), scoring("Taste", {"b": 7, "c": 5}))
    stage.put_node(*(make_node(name) for name in "abc"))
    with caplog.at_level(logging.INFO - verbosity, "muster.framework.scheduler.decision_log"):
        stage.put_pod(make_pod("web"))
        await stage.settle()
    await stage.close()
    return _lines(caplog)


async def test_every_nodes_rejection_and_scores_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    pod = {"pod": "default/web"}
    assert await _decided(caplog, 10) == [
        ("Plugin rejected node for pod", {**pod, "plugin": "Room", "node": "a", "status": "node(s) were full"}),
        ("Plugin scored node for pod", {**pod, "plugin": "Taste", "node": "b", "score": 7}),
        ("Plugin scored node for pod", {**pod, "plugin": "Taste", "node": "c", "score": 5}),
        ("Calculated node's final score for pod", {**pod, "node": "b", "score": 7}),
        ("Calculated node's final score for pod", {**pod, "node": "c", "score": 5}),
    ]


async def test_below_that_verbosity_nothing_of_it_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    assert await _decided(caplog, 9) == []
