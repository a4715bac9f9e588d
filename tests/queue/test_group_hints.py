"""Hints about a group: of how many of its pods they are asked."""

import pytest

from muster.framework.contract.events import NODE_ADD, EventRegistration, Hint
from muster.framework.model.pod_info import PodInfo
from muster.framework.queue.transitions import Place
from tests.builders import make_pod
from tests.queue.harness import Harness, pod, rejected_by


def replica(name: str, rank: str) -> PodInfo:
    """A member whose spec is that of its siblings; only a label differs."""
    return pod(make_pod(name).labels({"rank": rank}), group="g")


def rank_zero(info: PodInfo, old: object, new: object) -> Hint:
    return Hint.QUEUE if info.labels["rank"] == "0" else Hint.SKIP


def test_a_hint_that_may_go_by_more_than_the_spec_is_asked_about_every_pod_of_a_group() -> None:
    harness = Harness({"P": [EventRegistration(NODE_ADD, rank_zero)]})
    members = [replica(f"g{rank}", str(rank)) for rank in (2, 1, 0)]
    for member in members:
        harness.queue.add(member)
    harness.fail(harness.pop(), rejected_by("P"))

    harness.queue.move_all(NODE_ADD, None, None)

    assert {harness.place(member) for member in members} == {Place.BACKOFF}


def test_a_hint_that_was_missed_in_flight_is_asked_about_every_pod_of_a_group() -> None:
    harness = Harness({"P": [EventRegistration(NODE_ADD, rank_zero)]})
    members = [replica(f"g{rank}", str(rank)) for rank in (2, 1, 0)]
    for member in members:
        harness.queue.add(member)
    entity = harness.pop()
    harness.queue.move_all(NODE_ADD, None, None)

    harness.fail(entity, rejected_by("P"))

    assert {harness.place(member) for member in members} == {Place.BACKOFF}


@pytest.mark.parametrize(
    ("scope", "questions"),
    [
        ({"by_signature": True}, ["leader", "worker-1"]),
        ({"by_group": True}, ["worker-1"]),
        ({}, ["leader", "worker-1", "worker-2"]),
    ],
)
def test_a_hint_is_asked_about_as_many_pods_of_a_group_as_may_have_answers_of_their_own(
    scope: dict[str, bool], questions: list[str]
) -> None:
    asked: list[str] = []

    def skip(pod: PodInfo, old: object, new: object) -> Hint:
        asked.append(pod.name)
        return Hint.SKIP

    harness = Harness({"P": [EventRegistration(NODE_ADD, skip, **scope)]})
    harness.add("leader", group="g", priority=1)
    harness.add("worker-1", "worker-2", group="g")
    harness.fail(harness.pop(), rejected_by("P"))
    harness.queue.move_all(NODE_ADD, None, None)

    assert sorted(asked) == questions
