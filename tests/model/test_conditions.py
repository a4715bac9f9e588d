"""A pod's condition tells whether it waits for nodes, or for something for which autoscalers add none."""

import pytest

from muster.framework.model.pod import PodCondition, waits_for_nodes


@pytest.mark.parametrize(
    ("status", "reason", "waits"),
    [
        ("False", "Unschedulable", True),
        ("False", "SchedulerError", True),
        ("False", "WaitingOnPermit", True),
        ("False", "SchedulingGated", False),
        ("False", "WaitingForPods", False),
        ("False", "GatedPods", False),
        ("False", "QuotaExceeded", False),
        ("False", "AskedElsewhere", False),
        ("True", "Unschedulable", False),
        ("True", "", False),
    ],
)
def test_a_pod_that_is_tried_waits_for_nodes_and_no_other(status: str, reason: str, waits: bool) -> None:
    assert waits_for_nodes(PodCondition("PodScheduled", status, reason)) is waits


def test_a_pod_without_the_condition_does_not_wait_yet() -> None:
    assert not waits_for_nodes(None)
