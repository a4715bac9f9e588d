"""A pod's status is patched with what changed, and with nothing else."""

import json
from itertools import product
from typing import Any

import pytest

from muster.framework.model.pod import Pod, PodCondition, PodMeta, PodStatus
from muster.operator.kube.client import ApiClient
from muster.operator.kube.outcome import Outcome, Result
from muster.operator.kube.pod_status import StatusWriter, plan_patch
from muster.operator.kube.retry import Retrier

from .conftest import Time
from .fake_api import FakeApi, Json, status_answer

NOW = 1_800_000_000.9
META = PodMeta(name="web-0", namespace="shop", uid="uid-1", generation=3)
WAITING = PodCondition("PodScheduled", "False", "Unschedulable", "0/1 nodes are available.")
PATH = "/api/v1/namespaces/shop/pods/web-0/status"


def planned(status: PodStatus, **wanted: Any) -> Any:
    patch = plan_patch(Pod(META, status=status), now=NOW, **wanted)
    return None if patch is None else json.loads(patch)


def test_a_new_condition_gets_a_transition_time_and_the_generation_it_is_about() -> None:
    assert planned(PodStatus(), condition=WAITING) == {
        "metadata": {"uid": "uid-1"},
        "status": {
            "conditions": [
                {
                    "type": "PodScheduled",
                    "status": "False",
                    "reason": "Unschedulable",
                    "message": "0/1 nodes are available.",
                    "observedGeneration": 3,
                    "lastTransitionTime": "2027-01-15T08:00:00Z",
                }
            ]
        },
    }


def test_another_message_keeps_the_transition_time() -> None:
    old = PodCondition("PodScheduled", "False", "Unschedulable", "another reason", 3, "2027-01-15T07:00:00Z")
    patch = planned(PodStatus(conditions=(old,)), condition=WAITING)
    assert "lastTransitionTime" not in patch["status"]["conditions"][0]
    assert patch["status"]["conditions"][0]["message"] == "0/1 nodes are available."


def test_a_changed_status_sets_the_transition_time() -> None:
    old = PodCondition("PodScheduled", "True", "", "")
    patch = planned(PodStatus(conditions=(old,)), condition=WAITING)
    assert patch["status"]["conditions"][0]["lastTransitionTime"] == "2027-01-15T08:00:00Z"


def test_a_pod_that_had_gates_says_since_when_it_has_been_refused() -> None:
    gated = PodCondition("PodScheduled", "False", "SchedulingGated", "Scheduling is blocked due to non-empty gates")
    patch = planned(PodStatus(conditions=(gated,)), condition=WAITING)
    assert patch["status"]["conditions"][0]["lastTransitionTime"] == "2027-01-15T08:00:00Z"


UNTRIED = ["SchedulingGated", "WaitingForPods", "GatedPods"]
REJECTED_OTHERWISE = ["QuotaExceeded", "AskedElsewhere"]
"""Reasons of pods that were tried, for which autoscalers add no nodes; the second is a foreign plugin's."""
TRIED = ["Unschedulable", "SchedulerError", "WaitingOnPermit"]


def renews(before: str, after: str) -> bool:
    """Whether another reason gives the condition another time."""
    old = PodCondition("PodScheduled", "False", before, "before", last_transition_time="2027-01-15T07:00:00Z")
    patch = planned(PodStatus(conditions=(old,)), condition=PodCondition("PodScheduled", "False", after, "because"))
    return "lastTransitionTime" in patch["status"]["conditions"][0]


@pytest.mark.parametrize("before", [*UNTRIED, *REJECTED_OTHERWISE])
@pytest.mark.parametrize("after", TRIED)
def test_a_pod_that_waits_for_nodes_from_now_on_says_since_when(before: str, after: str) -> None:
    assert renews(before, after)


@pytest.mark.parametrize("before", TRIED)
@pytest.mark.parametrize("after", TRIED)
def test_the_wait_for_nodes_of_a_pod_that_is_tried_again_keeps_its_beginning(before: str, after: str) -> None:
    assert not renews(before, after)


@pytest.mark.parametrize("before", UNTRIED)
@pytest.mark.parametrize("after", REJECTED_OTHERWISE)
def test_a_pod_that_is_rejected_for_the_first_time_says_since_when(before: str, after: str) -> None:
    assert renews(before, after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        *product([*UNTRIED, *REJECTED_OTHERWISE, *TRIED], UNTRIED),
        *product([*REJECTED_OTHERWISE, *TRIED], REJECTED_OTHERWISE),
    ],
)
def test_a_pod_that_begins_to_wait_for_something_else_keeps_the_time(before: str, after: str) -> None:
    assert not renews(before, after)


def test_a_condition_that_the_pod_has_already_is_not_written() -> None:
    status = PodStatus(conditions=(PodCondition("Ready", "False"), WAITING), nominated_node_name="node-1")
    assert planned(status, condition=WAITING, nominated_node="node-1") is None
    assert planned(status) is None


@pytest.mark.parametrize(
    ("old", "new", "written"), [("", "node-2", "node-2"), ("node-1", "node-2", "node-2"), ("node-1", "", None)]
)
def test_a_nomination_is_set_replaced_or_cleared(old: str, new: str, written: str | None) -> None:
    assert planned(PodStatus(nominated_node_name=old), nominated_node=new)["status"] == {"nominatedNodeName": written}


def test_an_unmentioned_nomination_is_kept() -> None:
    patch = planned(PodStatus(nominated_node_name="node-1"), condition=WAITING)
    assert "nominatedNodeName" not in patch["status"]


@pytest.fixture
def writer(client: ApiClient, time: Time) -> StatusWriter:
    return StatusWriter(client, Retrier(sleep=time.sleep, random=lambda: 0.0))


async def test_the_patch_is_strategic_and_goes_to_the_status(fake: FakeApi, writer: StatusWriter) -> None:
    fake.on("PATCH", PATH, Json({}))
    assert await writer.patch(META, b'{"status":{}}') == Outcome(Result.DONE)
    assert fake.asked[0].headers["Content-Type"] == "application/strategic-merge-patch+json"
    assert fake.asked[0].body == b'{"status":{}}'


async def test_a_conflict_is_tried_again(fake: FakeApi, writer: StatusWriter, time: Time) -> None:
    fake.on("PATCH", PATH, status_answer(409, "Conflict", "modified"), Json({}))
    assert await writer.patch(META, b"{}") == Outcome(Result.DONE)
    assert time.slept == [0.01]


@pytest.mark.parametrize(
    ("code", "reason", "result", "tries"),
    [(404, "NotFound", Result.GONE, 1), (422, "Invalid", Result.FAILED, 1), (409, "Conflict", Result.CONFLICT, 4)],
)
async def test_a_pod_that_is_gone_or_another_is_an_outcome(
    fake: FakeApi, writer: StatusWriter, code: int, reason: str, result: Result, tries: int
) -> None:
    fake.on("PATCH", PATH, status_answer(code, reason, "no such pod"))
    assert await writer.patch(META, b"{}") == Outcome(result, "no such pod")
    assert len(fake.asked) == tries
