"""The controller writes a status when it is another, at most once a second a group, and only while it leads."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest

from muster.framework.groups.holds import HOLD, RESUMED_BY
from muster.framework.groups.record import EndedMember
from muster.operator.kube.errors import Forbidden, Rejected, TooManyRequests, Unreachable
from muster.plugins.coscheduling.record import PodGroupReason
from tests.clocks import settle

from .groups import pod_group
from .stage import FAILED, PENDING, RUNNING, SUCCEEDED, TRAIN, Stage


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    """A stage whose controller works, and knows all members there are: none."""
    made = Stage()
    made.controller.start()
    await settle()
    yield made
    await made.controller.stop()


async def test_a_new_group_is_pending(stage: Stage) -> None:
    stage.client.put(pod_group())
    await settle()
    assert stage.status()["phase"] == "Pending"
    assert stage.condition() == ("False", "WaitingForPods", "0 of 3 pods exist")
    assert stage.recorder.keys == []


async def test_members_that_have_ended_are_listed_when_the_other_pods_are_known() -> None:
    stage, pods = Stage(), asyncio.Event()
    stage.begin([pods])
    stage.controller.start()
    await settle()
    assert not stage.controller.ended.synced.is_set()
    pods.set()
    await settle()
    assert stage.controller.ended.synced.is_set()
    await stage.controller.stop()


async def test_a_status_follows_the_members(stage: Stage) -> None:
    stage.client.put(pod_group())
    stage.come(PENDING, PENDING, PENDING)
    await stage.clock.advance(1)
    assert (stage.status()["phase"], stage.status()["scheduled"]) == ("Scheduling", 0)
    stage.become(PENDING, RUNNING, times=3)
    await stage.clock.advance(1)
    assert (stage.status()["phase"], stage.status()["scheduled"], stage.status()["running"]) == ("Running", 3, 3)
    stage.become(RUNNING, SUCCEEDED, times=2)
    stage.become(RUNNING, FAILED)
    await stage.clock.advance(1)
    assert stage.status() == stage.status() | {"phase": "Failed", "running": 0, "succeeded": 2, "failed": 1}


async def test_members_that_came_before_their_group_count(stage: Stage) -> None:
    stage.come(PENDING, RUNNING)
    stage.client.put(pod_group(min_member=1))
    await settle()
    assert (stage.status()["phase"], stage.status()["running"]) == ("Running", 1)


async def test_a_group_is_written_at_most_once_a_second(stage: Stage) -> None:
    stage.client.put(pod_group(min_member=40))
    for _ in range(20):
        stage.come(RUNNING, RUNNING)
        await stage.clock.advance(0.25)
    assert stage.writes() == 6
    assert stage.status()["phase"] == "Running"
    await stage.clock.advance(60)
    assert stage.writes() == 6


async def test_the_event_of_a_resume_names_the_user_who_resumed_the_group(stage: Stage) -> None:
    stage.come(PENDING)
    for annotations, needed in (({HOLD: ""}, 3), ({RESUMED_BY: "ann"}, 4)):
        group = pod_group(min_member=needed)
        group["metadata"]["annotations"] = annotations
        stage.client.put(group)
        await stage.clock.advance(1)
    assert stage.recorder.reported() == [
        ("Normal", "Held", "pod group ml/train is held"),
        ("Normal", "Resumed", "the pod group is no longer held: resumed by ann"),
    ]


async def test_groups_do_not_wait_for_each_other(stage: Stage) -> None:
    for number in range(20):
        stage.client.put(pod_group(f"g{number}"))
    await stage.clock.advance(0)
    assert len(stage.client.patches) == 20


async def test_groups_without_members_delay_no_other_group(stage: Stage) -> None:
    stage.leads = False
    for number in range(50):
        stage.client.put(pod_group(f"empty{number}"))
    stage.client.put(pod_group())
    stage.come(RUNNING)
    stage.leads = True
    await stage.clock.advance(1)
    assert stage.client.patches[0][0] == "ml/train"
    assert len(stage.client.patches) == 51


async def test_an_unchanged_status_is_not_written(stage: Stage) -> None:
    stage.client.put(pod_group(min_member=1))
    stage.come(RUNNING)
    await stage.clock.advance(5)
    before = stage.writes()
    stage.become(RUNNING, "Unknown")
    stage.become("Unknown", RUNNING)
    await stage.clock.advance(5)
    assert stage.writes() == before


async def test_a_status_that_is_right_already_is_not_written_after_a_restart(stage: Stage) -> None:
    stage.client.put(pod_group())
    stage.come(PENDING)
    await stage.clock.advance(1)
    await stage.controller.stop()
    stage.begin()
    stage.controller.start()
    stage.hear(stage.client.groups[TRAIN])
    stage.come(PENDING)
    await stage.clock.advance(5)
    assert stage.condition() == ("False", "WaitingForPods", "2 of 3 pods exist")
    assert stage.writes() == 2


async def test_nothing_is_written_before_all_members_are_known() -> None:
    stage = Stage()
    stage.client.pods_listed.clear()
    stage.controller.start()
    stage.client.put(pod_group(min_member=1), phase="Running", running=1)
    await stage.clock.advance(60)
    assert stage.client.patches == []
    stage.come(RUNNING)
    stage.client.pods_listed.set()
    await stage.clock.advance(1)
    assert (stage.status()["phase"], stage.status()["running"]) == ("Running", 1)
    await stage.controller.stop()


async def test_only_the_leader_writes_and_a_new_one_catches_up(stage: Stage) -> None:
    stage.leads = False
    stage.client.put(pod_group())
    stage.come(PENDING, PENDING, PENDING)
    stage.decide(PodGroupReason.UNSCHEDULABLE, "no room")
    await stage.clock.advance(60)
    assert (stage.client.patches, stage.recorder.keys) == ([], [])
    stage.leads = True
    await stage.clock.advance(1)
    assert stage.condition() == ("False", "Unschedulable", "no room")
    assert stage.recorder.reported() == [("Warning", "Unschedulable", "no room")]


async def test_a_worker_that_stops_ends_the_write_that_it_began_and_begins_no_other(stage: Stage) -> None:
    stage.client.answering.clear()
    stage.client.put(pod_group())
    stage.client.put(pod_group("eval"))
    await settle()
    stopping = asyncio.create_task(stage.controller.stop())
    await settle()
    assert not stopping.done()
    stage.client.answering.set()
    await stopping
    assert stage.status()["phase"] == "Pending"
    assert stage.writes("ml/eval") == 0


async def test_a_worker_of_a_process_that_leads_no_more_waits_for_no_answer(stage: Stage) -> None:
    stage.client.answering.clear()
    stage.client.put(pod_group())
    await settle()
    stage.leads = False
    stopping = asyncio.create_task(stage.controller.stop())
    await settle()
    assert stopping.done()


async def test_the_schedulers_announcement_is_written_and_recorded(stage: Stage) -> None:
    stage.client.put(pod_group())
    stage.come(PENDING, PENDING)
    stage.decide(PodGroupReason.WAITING_FOR_PODS, "2 of 3 pods exist")
    await stage.clock.advance(1)
    stage.come(PENDING)
    stage.decide(PodGroupReason.UNSCHEDULABLE, "2 of 3 fit: 0/4 nodes are available")
    await stage.clock.advance(1)
    stage.decide(PodGroupReason.TIMEOUT, "given up after 10s")
    await stage.clock.advance(1)
    stage.decide(PodGroupReason.SCHEDULED, "the 3 pods that it needs are scheduled")
    stage.become(PENDING, RUNNING, times=3)
    await stage.clock.advance(1)
    assert stage.condition() == ("True", "Scheduled", "the 3 pods that it needs are scheduled")
    assert stage.recorder.reported() == [
        ("Warning", "Unschedulable", "WaitingForPods: 2 of 3 pods exist"),
        ("Warning", "Unschedulable", "2 of 3 fit: 0/4 nodes are available"),
        ("Warning", "Timeout", "given up after 10s"),
        ("Normal", "Scheduled", "the 3 pods that it needs are scheduled"),
    ]
    assert {(key.regarding.kind, key.regarding.name, key.controller) for key in stage.recorder.keys} == {
        ("PodGroup", "train", "muster")
    }


async def test_each_timeout_is_reported_although_nothing_else_changes(stage: Stage) -> None:
    stage.client.put(pod_group())
    stage.come(PENDING, PENDING, PENDING)
    for _ in range(3):
        stage.decide(PodGroupReason.TIMEOUT, "given up after 10s")
        await stage.clock.advance(10)
        stage.come(PENDING)
        await stage.clock.advance(10)

    assert stage.recorder.reported() == [("Warning", "Timeout", "given up after 10s")] * 3


async def test_a_timeout_that_another_process_saw_is_not_reported_again(stage: Stage) -> None:
    stage.client.put(pod_group())
    stage.come(PENDING, PENDING, PENDING)
    stage.decide(PodGroupReason.TIMEOUT, "given up after 10s")
    await stage.clock.advance(1)
    await stage.controller.stop()
    stage.begin()
    stage.controller.start()
    stage.groups._announcements.forget(stage.groups.record(TRAIN))
    stage.hear(stage.client.put(pod_group()))
    await stage.clock.advance(10)

    assert stage.recorder.reported() == [("Warning", "Timeout", "given up after 10s")]


async def test_a_member_that_ends_is_counted_before_and_after_and_missing_never(stage: Stage) -> None:
    stage.client.put(pod_group(min_member=2))
    stage.come(RUNNING, RUNNING)
    await stage.clock.advance(5)
    gone = stage.go()
    await stage.clock.advance(0.4)
    assert (stage.status()["phase"], stage.status()["running"], stage.writes()) == ("Running", 2, 1)
    stage.groups.follow_ended(gone.uid, None, EndedMember(TRAIN, succeeded=True))
    await stage.clock.advance(1)
    assert (stage.status()["phase"], stage.status()["running"], stage.status()["succeeded"]) == ("Running", 1, 1)
    assert stage.writes() == 2


async def test_a_member_that_was_deleted_at_once_is_missing_a_moment_later(stage: Stage) -> None:
    stage.client.put(pod_group(min_member=2))
    stage.come(RUNNING, RUNNING)
    await stage.clock.advance(5)
    stage.go()
    await stage.clock.advance(0.6)
    assert (stage.status()["phase"], stage.status()["running"]) == ("Pending", 1)


async def test_a_note_is_cut_to_what_the_api_takes(stage: Stage) -> None:
    stage.client.put(pod_group(min_member=1))
    stage.come(PENDING)
    stage.decide(PodGroupReason.UNSCHEDULABLE, "x" * 5000)
    await stage.clock.advance(1)
    ((_, _, note),) = stage.recorder.reported()
    assert len(note) == 1024


async def test_a_timeout_that_is_too_long_is_warned_of_once(stage: Stage) -> None:
    stage.client.put(pod_group(scheduleTimeoutSeconds=3600))
    await stage.clock.advance(5)
    stage.come(PENDING)
    await stage.clock.advance(5)
    assert [reason for _, reason, _ in stage.recorder.reported()] == ["TimeoutTooLong"]


async def test_same_names_in_two_namespaces_do_not_mix(stage: Stage) -> None:
    for namespace in ("one", "two"):
        stage.client.put(pod_group(namespace=namespace, min_member=1))
    stage.come(RUNNING, group="one/train")
    stage.come(FAILED, group="two/train")
    await stage.clock.advance(1)
    assert (stage.status("one/train")["phase"], stage.status("one/train")["failed"]) == ("Running", 0)
    assert (stage.status("two/train")["phase"], stage.status("two/train")["running"]) == ("Failed", 0)


async def test_a_raised_minimum_is_judged_anew(stage: Stage) -> None:
    stage.client.put(pod_group(min_member=2))
    stage.come(RUNNING, RUNNING)
    await stage.clock.advance(1)
    assert stage.status()["phase"] == "Running"
    stage.client.put(pod_group(min_member=3))
    await stage.clock.advance(1)
    assert (stage.status()["phase"], stage.status()["observedGeneration"]) == ("Pending", 2)


async def test_a_deleted_group_is_left_alone(stage: Stage) -> None:
    stage.client.put(pod_group())
    await stage.clock.advance(1)
    stage.lose(stage.client.delete(TRAIN))
    stage.come(RUNNING)
    stage.decide(PodGroupReason.UNSCHEDULABLE, "no room")
    await stage.clock.advance(60)
    assert stage.writes() == 1


async def test_a_group_that_went_unnoticed_is_not_written_again_and_again(stage: Stage) -> None:
    stage.client.put(pod_group())
    await stage.clock.advance(1)
    stage.client.delete("ml/train")
    stage.come(RUNNING)
    await stage.clock.advance(60)
    assert stage.writes() == 2


async def test_a_group_that_was_made_again_is_another_group(stage: Stage) -> None:
    stage.client.put(pod_group())
    await stage.clock.advance(1)
    first = stage.client.delete("ml/train")
    stage.lose(first)
    stage.client.put(pod_group(min_member=5))
    await stage.clock.advance(1)
    assert stage.condition() == ("False", "WaitingForPods", "0 of 5 pods exist")


async def test_a_status_is_never_written_to_another_version_than_it_was_computed_from(stage: Stage) -> None:
    stage.client.put(pod_group(min_member=1))
    stage.come(RUNNING)
    await stage.clock.advance(1)
    listen, stage.client.listen = stage.client.listen, None
    raised = stage.client.put(pod_group(min_member=2))
    stage.become(RUNNING, FAILED)
    await stage.clock.advance(3)
    assert stage.status()["phase"] == "Running"
    assert listen is not None
    listen(raised)
    await stage.clock.advance(2)
    assert (stage.status()["phase"], stage.status()["observedGeneration"]) == ("Pending", 2)


async def test_while_the_api_takes_nothing_every_group_waits(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    stage.client.errors = [Unreachable("connection refused"), Forbidden("podgroups is forbidden", status=403)]
    for number in range(10):
        stage.client.put(pod_group(f"g{number}"))
    await stage.clock.advance(9.9)
    assert len(stage.client.patches) == 1
    await stage.clock.advance(0.2)
    assert len(stage.client.patches) == 2
    await stage.clock.advance(10)
    assert len(stage.client.patches) == 12
    assert all(group["status"]["phase"] == "Pending" for group in stage.client.groups.values())
    assert caplog.messages == ["statuses of PodGroups cannot be written: connection refused"]


async def test_a_server_that_asks_for_time_gets_it(stage: Stage) -> None:
    stage.client.errors = [TooManyRequests("slow down", status=429, retry_after=3)]
    stage.client.put(pod_group())
    await stage.clock.advance(2.9)
    assert stage.writes() == 1
    await stage.clock.advance(0.2)
    assert (stage.writes(), stage.status()["phase"]) == (2, "Pending")


async def test_a_status_that_is_not_accepted_holds_up_no_other_group(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    stage.client.errors = [Rejected("not this", status=422)]
    stage.client.put(pod_group("odd"))
    stage.client.put(pod_group())
    await stage.clock.advance(1)
    assert stage.status()["phase"] == "Pending"
    assert caplog.messages == ["the status of PodGroup ml/odd was not accepted: not this"]
    await stage.clock.advance(10)
    assert stage.status("ml/odd")["phase"] == "Pending"


async def test_a_fault_in_one_group_holds_up_no_other(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    stage.client.errors = [cast("Any", RuntimeError("a bug"))]
    stage.client.put(pod_group("odd"))
    stage.client.put(pod_group())
    await stage.clock.advance(1)
    assert stage.status()["phase"] == "Pending"
    assert caplog.messages == ["Unable to reconcile group ml/odd"]
