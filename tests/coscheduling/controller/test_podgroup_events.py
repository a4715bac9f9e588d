"""Which steps of a group are worth an Event, and what it says."""

from typing import Any

import msgspec
import pytest

from muster.framework.groups import Announcement
from muster.operator.podgroups.events import event_of
from muster.plugins.coscheduling.api import POD_GROUPS, SCHEDULED, PodGroup, PodGroupCondition, PodGroupStatus
from muster.plugins.coscheduling.record import PodGroupReason
from muster.plugins.coscheduling.reporting import notices

from .groups import pod_group


def group(**spec: Any) -> PodGroup:
    return msgspec.json.decode(msgspec.json.encode(pod_group(**spec)), type=PodGroup)


def status(reason: str | None = None, message: str = "so it is", *, generation: int = 1) -> PodGroupStatus:
    """A status whose condition has this reason; with none it has no condition."""
    said = PodGroupCondition(type=SCHEDULED, status=str(reason == "Scheduled"), reason=reason, message=message)
    return PodGroupStatus(conditions=(said,) if reason else None, observed_generation=generation)


def announced(reason: str) -> Announcement:
    return Announcement(PodGroupReason(reason), "so it is", 0.0)


def reported(
    before: PodGroupStatus, after: PodGroupStatus, word: Announcement | None, **spec: Any
) -> list[tuple[str, ...]]:
    return [tuple(notice) for notice in notices(group(**spec), before, after, word)]


@pytest.mark.parametrize("before", [None, "Unschedulable", "WaitingForPods", "Scheduling"])
def test_a_group_that_is_scheduled_is_reported_once(before: str | None) -> None:
    scheduled = status("Scheduled")
    assert reported(status(before), scheduled, None) == [("Normal", "Scheduled", "so it is")]
    assert reported(scheduled, scheduled, None) == []


def test_a_group_whose_lost_members_were_replaced_is_not_reported_as_scheduled_again() -> None:
    assert reported(status("LostMembers"), status("Scheduled"), announced("Scheduled")) == []


@pytest.mark.parametrize("reason", ["LostMembers", "Scheduling"])
def test_a_change_that_only_the_members_show_is_no_event(reason: str) -> None:
    assert reported(status("Scheduled"), status(reason), announced("Scheduled")) == []


def test_another_minimum_of_a_scheduled_group_is_no_news() -> None:
    assert reported(status("Scheduled"), status("Scheduled", "the 4 pods that it needs are scheduled"), None) == []


@pytest.mark.parametrize(
    ("reason", "event"),
    [
        ("Unschedulable", ("Warning", "Unschedulable", "so it is")),
        ("NotEnoughResources", ("Warning", "Unschedulable", "NotEnoughResources: so it is")),
        ("GatedPods", ("Warning", "Unschedulable", "GatedPods: so it is")),
        ("WaitingForPods", ("Warning", "Unschedulable", "WaitingForPods: so it is")),
        ("Timeout", ("Warning", "Timeout", "so it is")),
    ],
)
def test_each_refusal_is_reported_with_its_reason(reason: str, event: tuple[str, ...]) -> None:
    assert reported(status(), status(reason), announced(reason)) == [event]
    assert reported(status(reason), status(reason), announced(reason)) == []


def test_a_hold_and_its_end_are_reported() -> None:
    held, resumed = ("Normal", "Held", "so it is"), ("Normal", "Resumed", "the pod group is no longer held")
    refusal = status("Unschedulable", "0/5 nodes")
    assert reported(refusal, status("Held"), announced("Unschedulable")) == [held]
    assert reported(status("Held"), status("Held"), None) == []
    assert reported(status("Held"), status("Scheduling", "0 of 3 pods are scheduled"), None) == [resumed]
    assert reported(status("Held"), refusal, announced("Unschedulable")) == [
        resumed,
        ("Warning", "Unschedulable", "0/5 nodes"),
    ]


def test_the_end_of_a_hold_is_reported_with_the_user_who_resumed_the_group_if_known() -> None:
    [notice] = notices(group(), status("Held"), status("Scheduling", "waits"), None, resumed_by="ann")
    assert notice == ("Normal", "Resumed", "the pod group is no longer held: resumed by ann")


def test_a_refusal_with_another_message_is_reported_again() -> None:
    before, after = status("Unschedulable", "0/5 nodes"), status("Unschedulable", "0/6 nodes")
    assert reported(before, after, announced("Unschedulable")) == [("Warning", "Unschedulable", "0/6 nodes")]


@pytest.mark.parametrize("word", [None, announced("Scheduled")])
def test_a_group_that_the_scheduler_did_not_turn_away_is_not_spoken_of(word: Announcement | None) -> None:
    assert reported(status(), status("WaitingForPods"), word) == []


def test_a_condition_that_is_taken_back_is_no_event() -> None:
    assert reported(status("Scheduled"), status(), announced("Unschedulable")) == []


def test_a_timeout_that_is_too_long_is_reported_once_for_each_spec() -> None:
    warning = ("Warning", "TimeoutTooLong", "spec.scheduleTimeoutSeconds of 901 is cut to 900 (15m)")
    new, first, second = PodGroupStatus(), status(), status(generation=2)
    assert reported(new, first, None, scheduleTimeoutSeconds=901) == [warning]
    assert reported(first, first, None, scheduleTimeoutSeconds=901) == []
    assert reported(first, second, None, scheduleTimeoutSeconds=901) == [warning]


@pytest.mark.parametrize("seconds", [None, 0, -5, 900])
def test_a_timeout_that_is_kept_is_not_warned_of(seconds: int | None) -> None:
    assert reported(PodGroupStatus(), status(), None, scheduleTimeoutSeconds=seconds) == []


def test_an_event_names_the_group_but_not_its_version() -> None:
    of = pod_group()
    of["metadata"] |= {"uid": "u1", "resourceVersion": "41"}
    train = msgspec.json.decode(msgspec.json.encode(of), type=PodGroup)
    [notice] = notices(train, status(), status("Scheduled"), None)
    event = event_of(notice, POD_GROUPS, train.metadata, reporter="muster")
    assert msgspec.to_builtins(event.regarding) == {
        "kind": "PodGroup",
        "namespace": "ml",
        "name": "train",
        "uid": "u1",
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
    }
