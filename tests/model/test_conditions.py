"""A pod's condition tells whether it waits for nodes, or for something for which autoscalers add none."""

import pytest

from muster.framework.model.pod import PodCondition, is_rejected, waits_for_nodes


@pytest.mark.parametrize(
    ("status", "reason", "rejected", "for_nodes"),
    [
        ("False", "Unschedulable", True, True),
        ("False", "SchedulerError", True, True),
        ("False", "WaitingOnPermit", True, True),
        ("False", "QuotaExceeded", True, False),
        ("False", "AskedElsewhere", True, False),
        ("False", "SchedulingGated", False, False),
        ("False", "WaitingForPods", False, False),
        ("False", "GatedPods", False, False),
        ("True", "Unschedulable", False, False),
        ("True", "", False, False),
    ],
)
def test_a_condition_tells_whether_its_pod_was_rejected_and_whether_it_waits_for_nodes(
    status: str, reason: str, rejected: bool, for_nodes: bool
) -> None:
    condition = PodCondition("PodScheduled", status, reason)
    assert (is_rejected(condition), waits_for_nodes(condition)) == (rejected, for_nodes)


def test_a_pod_without_the_condition_does_not_wait_yet() -> None:
    assert not waits_for_nodes(None)
    assert not is_rejected(None)
