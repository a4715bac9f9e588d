"""Messages of groups, in the singular for one pod."""

import pytest

from muster.plugins.coscheduling import messages


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (messages.scheduled(1, 3), "1 of 3 pods is scheduled"),
        (messages.scheduled(0, 1), "0 of 1 pod is scheduled"),
        (messages.scheduled(0, 0), "the pod that it needs is scheduled"),
        (messages.gated_pods(1, 3, 3), "1 of 3 pods has scheduling gates, and 3 are needed"),
        (messages.gated_pods(1, 1, 1), "1 of 1 pod has scheduling gates, and 1 is needed"),
        (
            messages.too_few_tried(0, 1, {"other": 1}, 0),
            "0 of the 1 member that it needs can be tried: 1 is left to scheduler other",
        ),
        (
            messages.group_unschedulable("ns/g", 0, 1, "0/1 nodes are available: 1 Insufficient cpu."),
            "pod group ns/g is unschedulable, the 1 member that it needs does not fit: "
            "0/1 nodes are available: 1 Insufficient cpu.",
        ),
    ],
)
def test_one_pod_is_reported_in_the_singular(said: str, text: str) -> None:
    assert said == text
