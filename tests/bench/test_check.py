"""Runs that the benchmarks refuse to call a result."""

from typing import Any

import pytest

from bench.check import find_faults
from bench.scale import PODS_PER_NODE


def pod(name: str, node: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "uid": f"uid-{name}"}, "spec": {"nodeName": node} if node else {}}


def event(name: str, *, reason: str = "Scheduled") -> dict[str, Any]:
    return {"regarding": {"name": name, "uid": f"uid-{name}"}, "reason": reason}


PODS = [pod("a", "n1"), pod("b", "n2")]
EVENTS = [event("a"), event("b")]
LEDGER = {"a": "n1", "b": "n2"}


def test_there_is_no_fault_if_every_pod_was_bound_once_and_reported_once() -> None:
    assert not list(find_faults(PODS, [*EVENTS, event("a", reason="FailedScheduling")], LEDGER))


@pytest.mark.parametrize(
    ("pods", "events", "ledger", "fault"),
    [
        ([PODS[0], pod("b", "")], EVENTS, LEDGER, "pod b is not bound"),
        ([PODS[0], pod("b", "n3")], EVENTS, LEDGER, "pod b is on n3, but the watch saw it bound to n2"),
        (PODS, EVENTS[:1], LEDGER, "pod b has 0 Scheduled events"),
        (PODS, [*EVENTS, EVENTS[1]], LEDGER, "pod b has 2 Scheduled events"),
        (PODS[:1], EVENTS[:1], LEDGER, "there are 1 pods, of which the watch saw 2 bound"),
    ],
)
def test_a_fault_is_named(pods: list[Any], events: list[Any], ledger: dict[str, str], fault: str) -> None:
    assert list(find_faults(pods, events, ledger)) == [fault]


def test_more_pods_than_fit_on_a_node_are_a_fault() -> None:
    names = [f"p{number}" for number in range(PODS_PER_NODE + 1)]
    pods, events = [pod(name, "n1") for name in names], [event(name) for name in names]
    assert list(find_faults(pods, events, dict.fromkeys(names, "n1"))) == ["node n1 has 41 pods, 40 fit"]
