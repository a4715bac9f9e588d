"""An annotation of a pod under Muster's prefix that it does not know: an Event, once, when this process leads."""

from typing import Any

import pytest

from muster.framework.model.run_seconds import RUN_SECONDS
from muster.testing import VirtualScheduler, configuration_of
from tests.builders import make_node, make_pod

CONFIGURATION = configuration_of(["Reservation"])
MISTYPED = (
    "UnknownAnnotation",
    "metadata.annotations[muster-scheduler.io/run-second]: unknown annotation, "
    'did you mean "muster-scheduler.io/run-seconds"?',
)


def reported(scheduler: VirtualScheduler, key: str = "default/a") -> list[tuple[str, str]]:
    return [(reason, note) for pod, reason, note in scheduler.events if pod == key and reason != "Scheduled"]


def annotate(scheduler: VirtualScheduler, name: str) -> None:
    def change(pod: dict[str, Any]) -> None:
        pod["metadata"]["annotations"] = {name: "60"}

    scheduler.api.change("pods", "default/a", change)


async def test_an_unknown_annotation_of_a_pod_is_reported_once_with_the_nearest_known_one() -> None:
    scheduler = VirtualScheduler(configuration=CONFIGURATION)
    scheduler.add_nodes(make_node("one"))
    scheduler.add(make_pod("a").annotations({"muster-scheduler.io/run-second": "60", "example.com/run-second": "60"}))
    scheduler.add(make_pod("b").annotations({RUN_SECONDS: "60"}))
    await scheduler.run(60)
    assert reported(scheduler) == [MISTYPED]
    assert reported(scheduler, "default/b") == []
    annotate(scheduler, RUN_SECONDS)
    await scheduler.run(5)
    assert reported(scheduler) == [MISTYPED]
    annotate(scheduler, "muster-scheduler.io/run-second")
    await scheduler.run(5)
    assert reported(scheduler) == [MISTYPED, MISTYPED]


async def test_a_process_that_does_not_lead_yet_reports_it_when_it_does() -> None:
    scheduler = VirtualScheduler(configuration=CONFIGURATION)
    scheduler.may_report = lambda: False
    scheduler.add_nodes(make_node("one"))
    scheduler.add(make_pod("a").annotations({"muster-scheduler.io/run-second": "60"}))
    await scheduler.run(10)
    assert reported(scheduler) == []
    scheduler.may_report = lambda: True
    await scheduler.run(2)
    assert reported(scheduler) == [MISTYPED]


@pytest.mark.parametrize("mended", [True, False], ids=["the annotation is mended", "the pod is deleted"])
async def test_nothing_is_reported_when_the_fault_is_gone_first(mended: bool) -> None:
    scheduler = VirtualScheduler(configuration=CONFIGURATION)
    scheduler.may_report = lambda: False
    scheduler.add_nodes(make_node("one"))
    scheduler.add(make_pod("a").annotations({"muster-scheduler.io/run-second": "60"}))
    await scheduler.run(3)
    if mended:
        annotate(scheduler, RUN_SECONDS)
    else:
        scheduler.delete("default/a")
    scheduler.may_report = lambda: True
    await scheduler.run(5)
    assert reported(scheduler) == []
