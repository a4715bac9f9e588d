"""A status follows from the one before and from what is there, and is the same when asked for again."""

from hypothesis import given

from muster.framework.groups.record import Announcement, MemberCounts
from muster.plugins.coscheduling.api import SCHEDULED, Phase, PodGroupCondition, PodGroupStatus
from muster.plugins.coscheduling.record import PodGroupReason
from muster.plugins.coscheduling.status import Observation, next_status

from .situations import NOW, members, observations, statuses

START = "2027-01-15T08:00:00Z"
NEW = PodGroupStatus()


def seen(
    group: MemberCounts, *, announcement: Announcement | None = None, owners: str = "", min_member: int = 3
) -> Observation:
    return Observation(min_member, 1, group, owners, announcement)


def live(*groups: MemberCounts, begin: PodGroupStatus = NEW) -> list[PodGroupStatus]:
    """The statuses of a group whose members come to these, a minute after another."""
    life = [begin]
    for minute, group in enumerate(groups):
        life.append(next_status(life[-1], seen(group), now=NOW + 60 * minute))
    return life[1:]


@given(statuses, observations)
def test_every_status_has_a_next_one_and_it_stays(before: PodGroupStatus, there: Observation) -> None:
    after = next_status(before, there, now=NOW)
    assert after.phase in set(Phase)
    assert next_status(after, there, now=NOW + 60) == after


@given(statuses, observations)
def test_counts_are_what_is_there_in_every_phase(before: PodGroupStatus, there: Observation) -> None:
    after, counts = next_status(before, there, now=NOW), there.counts
    assert (after.scheduled, after.running, after.succeeded, after.failed) == (
        counts.scheduled,
        counts.running,
        counts.succeeded,
        counts.failed,
    )
    assert after.observed_generation == there.generation


@given(statuses, observations)
def test_others_conditions_are_left_alone(before: PodGroupStatus, there: Observation) -> None:
    def of_others(status: PodGroupStatus) -> list[PodGroupCondition]:
        return [condition for condition in status.conditions or () if condition.type != SCHEDULED]

    assert of_others(next_status(before, there, now=NOW)) == of_others(before)


@given(statuses, observations)
def test_the_condition_is_true_exactly_when_the_quorum_has_nodes(before: PodGroupStatus, there: Observation) -> None:
    after = next_status(before, there, now=NOW)
    said = after.condition(SCHEDULED)
    has_nodes = there.counts.scheduled >= max(1, there.min_member)
    ended = after.phase in (Phase.FINISHED, Phase.FAILED)
    assert ended or (said is not None and said.status == "True") is has_nodes


def test_a_group_that_gated_members_keep_from_its_quorum_is_judged_alike_before_and_after_that_is_said() -> None:
    first, again = live(members(succeeded=2, gated=1), members(succeeded=2, gated=1))
    assert (first.phase, first.condition(SCHEDULED)) == (again.phase, again.condition(SCHEDULED))


def test_a_life_from_the_first_member_to_the_last() -> None:
    pending, scheduling, running, finished, cleaned = live(
        members(waiting=1), members(waiting=3), members(running=3), members(succeeded=3), members()
    )
    assert [status.phase for status in (pending, scheduling, running, finished, cleaned)] == [
        "Pending",
        "Scheduling",
        "Running",
        "Finished",
        "Finished",
    ]
    assert pending.schedule_start_time is None
    assert scheduling.schedule_start_time == running.schedule_start_time == "2027-01-15T08:01:00Z"
    assert cleaned.succeeded == 0
    assert cleaned.conditions == finished.conditions == running.conditions


def test_scheduling_starts_again_with_a_new_life() -> None:
    first, ended, second = live(members(waiting=3), members(failed=3), members(waiting=3))
    assert [status.phase for status in (first, ended, second)] == ["Scheduling", "Failed", "Scheduling"]
    assert (first.schedule_start_time, second.schedule_start_time) == (START, "2027-01-15T08:02:00Z")


def test_a_group_first_seen_running_starts_then() -> None:
    (running,) = live(members(running=3))
    assert running.schedule_start_time == START


def test_a_group_that_ran_before_keeps_its_start_or_lack_of_it() -> None:
    (running,) = live(members(running=3), begin=PodGroupStatus(phase="Running"))
    assert running.schedule_start_time is None


def test_owners_stay_written_when_members_are_gone() -> None:
    owned = next_status(NEW, seen(members(running=3), owners="ns/a,ns/b"), now=NOW)
    left = next_status(owned, seen(members(succeeded=3)), now=NOW)
    assert owned.occupied_by == left.occupied_by == "ns/a,ns/b"


def test_a_group_without_a_minimum_needs_one_member() -> None:
    empty, begun, runs = (
        next_status(NEW, seen(group, min_member=0), now=NOW)
        for group in (members(), members(waiting=1), members(running=1))
    )
    assert [status.phase for status in (empty, begun, runs)] == ["Pending", "Scheduling", "Running"]
    said = empty.condition(SCHEDULED)
    assert said is not None
    assert said.message == "0 of 1 pod exists"


def test_a_lost_member_that_finds_no_node_makes_the_group_unknown_until_it_does() -> None:
    no_room = Announcement(PodGroupReason.UNSCHEDULABLE, "no room", NOW)
    begun = PodGroupStatus(phase="Running", schedule_start_time=START)
    stuck = next_status(begun, seen(members(waiting=1, running=2), announcement=no_room), now=NOW)
    assert (stuck.phase, stuck.schedule_start_time) == ("Unknown", START)
    placed = next_status(stuck, seen(members(starting=1, running=2), announcement=no_room), now=NOW)
    assert (placed.phase, placed.schedule_start_time) == ("Scheduling", START)


def test_a_refusal_survives_a_restart_of_the_scheduler() -> None:
    no_room = Announcement(PodGroupReason.NOT_ENOUGH_RESOURCES, "resource gap", NOW)
    refused = next_status(NEW, seen(members(waiting=3), announcement=no_room), now=NOW)
    assert next_status(refused, seen(members(waiting=3)), now=NOW + 60) == refused


@given(statuses, observations)
def test_a_held_group_that_lacks_its_quorum_says_so_unless_it_has_ended(
    before: PodGroupStatus, there: Observation
) -> None:
    after = next_status(before, there, now=NOW)
    said = after.condition(SCHEDULED)
    is_short = there.counts.scheduled < max(1, there.min_member)
    if there.held and is_short and after.phase not in (Phase.FINISHED, Phase.FAILED):
        assert said is not None
        assert (said.status, said.reason, said.message) == ("False", "Held", there.held)
    elif not there.held and there.announcement is None:
        assert said is None or said == before.condition(SCHEDULED) or said.reason != "Held"


def test_a_running_part_of_a_held_group_is_no_quorum_and_a_resume_is_seen() -> None:
    held = Observation(3, 1, members(waiting=1, running=2), held="pod group ns/g is held")
    stuck = next_status(NEW, held, now=NOW)
    assert stuck.phase == Phase.UNKNOWN
    resumed = next_status(stuck, seen(members(waiting=1, running=2)), now=NOW)
    said = resumed.condition(SCHEDULED)
    assert said is not None
    assert (resumed.phase, said.reason, said.message) == (Phase.SCHEDULING, "Scheduling", "2 of 3 pods are scheduled")
