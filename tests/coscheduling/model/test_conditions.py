"""The condition `Scheduled`: what the pods show goes before what the scheduler said, and its last word stands."""

import pytest

from muster.framework.groups.record import Announcement, MemberCounts
from muster.plugins.coscheduling.api import SCHEDULED, PodGroupCondition
from muster.plugins.coscheduling.record import PodGroupReason
from muster.plugins.coscheduling.status import dated, is_rejected, statement

from .situations import NOW, members

WHOLE = "the 3 pods that it needs are scheduled"
NO_ROOM = Announcement(PodGroupReason.UNSCHEDULABLE, "2 of the 3 members that it needs fit", NOW)
DONE = Announcement(PodGroupReason.SCHEDULED, WHOLE, NOW)


def denial(reason: str, message: str = "so it was") -> PodGroupCondition:
    return PodGroupCondition(type=SCHEDULED, status="False", reason=reason, message=message)


TRUE = PodGroupCondition(type=SCHEDULED, status="True", reason="Scheduled", message=WHOLE)


def say(
    group: MemberCounts,
    announcement: Announcement | None = None,
    previous: PodGroupCondition | None = None,
    *,
    ended: bool = False,
) -> tuple[str, str | None, str | None] | None:
    said = statement(group, 3, ended=ended, announcement=announcement, previous=previous)
    return None if said is None else (said.status, said.reason, said.message)


@pytest.mark.parametrize("announcement", [None, DONE, NO_ROOM])
def test_a_group_is_scheduled_when_its_quorum_has_nodes_whatever_was_said(announcement: Announcement | None) -> None:
    assert say(members(starting=1, running=2), announcement) == ("True", "Scheduled", WHOLE)


def test_members_beyond_the_quorum_do_not_change_the_message() -> None:
    assert say(members(waiting=4, running=5)) == ("True", "Scheduled", WHOLE)


@pytest.mark.parametrize("announcement", [None, DONE, NO_ROOM])
def test_a_group_that_lacks_members_waits_for_them_whatever_was_said(announcement: Announcement | None) -> None:
    assert say(members(waiting=2), announcement, TRUE) == ("False", "WaitingForPods", "2 of 3 pods exist")


@pytest.mark.parametrize("announcement", [None, DONE, NO_ROOM])
def test_a_group_of_gated_pods_reports_the_gates_whatever_was_announced(announcement: Announcement | None) -> None:
    said = ("False", "GatedPods", "2 of 4 pods have scheduling gates, and 3 are needed")
    assert say(members(waiting=2, gated=2), announcement) == said
    named = Announcement(PodGroupReason.GATED_PODS, "these have gates: a, b", NOW)
    assert say(members(waiting=2, gated=2), named) == ("False", "GatedPods", "these have gates: a, b")
    assert say(members(waiting=3, gated=2)) is None


@pytest.mark.parametrize("reason", [reason for reason in PodGroupReason if reason is not PodGroupReason.SCHEDULED])
def test_the_schedulers_word_is_passed_on(reason: PodGroupReason) -> None:
    assert say(members(waiting=3), Announcement(reason, "because", NOW)) == ("False", reason.value, "because")


def test_nothing_is_said_of_a_group_that_was_not_tried_yet() -> None:
    assert say(members(waiting=3)) is None


def test_a_group_that_is_just_being_bound_is_not_scheduled_yet() -> None:
    assert say(members(waiting=1, starting=2), DONE) is None


def test_the_last_refusal_stands_until_the_scheduler_speaks_again() -> None:
    assert say(members(waiting=3), None, denial("NotEnoughResources")) == ("False", "NotEnoughResources", "so it was")


@pytest.mark.parametrize("announcement", [None, DONE])
@pytest.mark.parametrize("previous", [TRUE, denial("LostMembers", "1 of 3 pods is scheduled")])
def test_a_group_that_ran_whole_has_lost_members_until_their_successors_have_nodes(
    announcement: Announcement | None, previous: PodGroupCondition
) -> None:
    said = say(members(waiting=1, running=2), announcement, previous)
    assert said == ("False", "LostMembers", "2 of 3 pods are scheduled")


@pytest.mark.parametrize("outdated", [TRUE, denial("WaitingForPods", "2 of 3 pods exist"), denial("Scheduling")])
def test_a_condition_that_the_members_disprove_is_replaced_by_their_own(outdated: PodGroupCondition) -> None:
    assert say(members(waiting=3), None, outdated) == ("False", "Scheduling", "0 of 3 pods are scheduled")


def test_a_group_that_is_partly_bound_for_the_first_time_has_lost_no_member() -> None:
    waited = denial("WaitingForPods", "2 of 3 pods exist")
    said = say(members(waiting=1, starting=2), DONE, waited)
    assert said == ("False", "Scheduling", "2 of 3 pods are scheduled")


def test_nothing_new_is_said_of_a_group_that_has_ended() -> None:
    assert say(members(), NO_ROOM, TRUE, ended=True) == ("True", "Scheduled", WHOLE)
    assert say(members(failed=3), NO_ROOM, None, ended=True) is None


@pytest.mark.parametrize(
    ("announcement", "previous", "answer"),
    [
        (NO_ROOM, None, True),
        (NO_ROOM, TRUE, True),
        (DONE, denial("Unschedulable"), False),
        (Announcement(PodGroupReason.WAITING_FOR_PODS, "", NOW), None, False),
        (None, denial("Timeout"), True),
        (None, denial("WaitingForPods"), False),
        (None, TRUE, False),
        (None, None, False),
    ],
)
def test_members_are_refused_when_that_is_the_last_that_was_heard(
    announcement: Announcement | None, previous: PodGroupCondition | None, answer: bool
) -> None:
    assert is_rejected(announcement, previous) is answer


def test_a_condition_is_dated_when_its_status_changes() -> None:
    now = dated(TRUE, denial("Unschedulable"), generation=7, now=0.9)
    assert now.last_transition_time == "1970-01-01T00:00:00Z"
    assert now.observed_generation == 7


def test_a_condition_keeps_its_date_when_only_its_reason_changes() -> None:
    before = dated(denial("WaitingForPods"), None, generation=1, now=NOW)
    after = dated(denial("Unschedulable"), before, generation=2, now=NOW + 60)
    assert after.last_transition_time == before.last_transition_time
    assert after.observed_generation == 2


@pytest.mark.parametrize(
    ("pods", "needed", "said"),
    [
        (1, 1, "the pod that it needs is scheduled"),
        (96, 1, "the pod that it needs is scheduled"),
        (5, 3, "the 3 pods that it needs are scheduled"),
    ],
)
def test_the_message_of_a_scheduled_group_counts_scheduled_pods_not_needed_ones(
    pods: int, needed: int, said: str
) -> None:
    found = statement(members(running=pods), needed, ended=False, announcement=None, previous=None)
    assert found is not None
    assert found.message == said


@pytest.mark.parametrize(
    ("pods", "needed", "said"),
    [(0, 1, "0 of 1 pod exists"), (0, 3, "0 of 3 pods exist"), (1, 3, "1 of 3 pods exists")],
)
def test_a_group_that_waits_for_pods_counts_one_as_one(pods: int, needed: int, said: str) -> None:
    found = statement(members(waiting=pods), needed, ended=False, announcement=None, previous=None)
    assert found is not None
    assert found.message == said
