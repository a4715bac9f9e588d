"""Kubelets without containers: their writes, and the end of their pods."""

from typing import Any

import pytest

from tests.builders import PodDict, make_pod
from tests.conformance.pods import ended, overdue, running, seconds_to_end

NOW = "2026-11-26T02:00:00Z"


def bound(*conditions: str) -> PodDict:
    pod = make_pod("web").container("beside").node("node-1")
    pod["status"] = {"phase": "Pending", "conditions": [{"type": each, "status": "True"} for each in conditions]}
    return pod


def deleted(grace: int, *sleeps: int | None) -> PodDict:
    pod = make_pod("web").terminating()
    pod["metadata"]["deletionGracePeriodSeconds"] = grace
    hooks = [{"lifecycle": {"preStop": {"sleep": {"seconds": each}}}} if each is not None else {} for each in sleeps]
    pod["spec"]["containers"] = hooks
    return pod


def conditions_of(status: dict[str, Any]) -> dict[str, str]:
    return {each["type"]: each["status"] for each in status["conditions"]}


def test_a_running_pod_is_ready_on_its_host_with_all_of_its_containers() -> None:
    status = running(bound("PodScheduled"), host="127.0.1.1", address="10.128.0.1", now=NOW)

    assert (status["phase"], status["hostIP"], status["podIP"]) == ("Running", "127.0.1.1", "10.128.0.1")
    assert conditions_of(status)["Ready"] == "True"
    containers = [(each["name"], each["ready"], each["state"]) for each in status["containerStatuses"]]
    assert containers == [(name, True, {"running": {"startedAt": NOW}}) for name in ("main", "beside")]


def test_the_condition_of_the_scheduler_stays_and_only_a_static_pod_gets_it_from_its_kubelet() -> None:
    by_scheduler = running(bound("PodScheduled"), host="h", address="a", now=NOW)
    static = running(bound(), host="h", address="a", now=NOW)

    assert "PodScheduled" not in conditions_of(by_scheduler)
    assert conditions_of(static)["PodScheduled"] == "True"


def test_a_pod_that_has_ended_is_no_longer_ready_and_its_containers_ended_well() -> None:
    status = ended(bound("PodScheduled"), now=NOW)

    assert status["phase"] == "Succeeded"
    assert conditions_of(status) == {"ContainersReady": "False", "Ready": "False"}
    assert [each["state"]["terminated"]["exitCode"] for each in status["containerStatuses"]] == [0, 0]


@pytest.mark.parametrize(
    ("pod", "seconds"),
    [
        (deleted(30, None), 0),
        (deleted(80, 79), 79),
        (deleted(80, None, 5, 12), 12),
        (deleted(10, 79), 10),
        (deleted(0, 79), 0),
    ],
)
def test_a_deleted_pod_ends_after_its_longest_hook_or_its_grace_period(pod: PodDict, seconds: int) -> None:
    assert seconds_to_end(pod) == seconds


@pytest.mark.parametrize(
    ("capacity", "allocatable", "change"),
    [
        ({"cpu": "4"}, {"cpu": "4"}, {}),
        ({"cpu": "4", "example.com/foo": "5"}, {"cpu": "4"}, {"example.com/foo": "5"}),
        ({"cpu": "4", "example.com/foo": "5"}, {"cpu": "4", "example.com/foo": "3"}, {"example.com/foo": "5"}),
        ({"cpu": "4"}, {"cpu": "4", "example.com/foo": "3"}, {"example.com/foo": None}),
    ],
)
def test_a_node_offers_its_whole_capacity(
    capacity: dict[str, str], allocatable: dict[str, str], change: dict[str, str | None]
) -> None:
    assert overdue({"status": {"capacity": capacity, "allocatable": allocatable}}) == change
