"""A group's phase follows what its members amount to, and the past counts only once no member is alive."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.framework.groups.record import MemberCounts
from muster.plugins.coscheduling.api import Phase
from muster.plugins.coscheduling.phases import ENDED, STARTED, TABLE, Situation, phase_of, situation

from .situations import counts, members

ALIVE = [phase for phase in Phase if phase not in ENDED]


def follow(before: Phase, group: MemberCounts, needed: int, *, rejected: bool = False) -> Phase:
    return TABLE[situation(group, needed, rejected=rejected)][before]


def test_the_table_has_every_situation_and_every_phase() -> None:
    assert set(TABLE) == set(Situation)
    assert all(set(row) == set(Phase) for row in TABLE.values())


def test_every_phase_is_either_on_its_way_or_at_an_end_or_pending() -> None:
    assert STARTED | ENDED | {Phase.PENDING} == set(Phase)
    assert not STARTED & ENDED


@pytest.mark.parametrize("before", ALIVE)
@pytest.mark.parametrize(
    ("group", "phase"),
    [
        (members(), Phase.PENDING),
        (members(waiting=2), Phase.PENDING),
        (members(running=2), Phase.PENDING),
        (members(waiting=3), Phase.SCHEDULING),
        (members(waiting=1, starting=2), Phase.SCHEDULING),
        (members(starting=1, running=2), Phase.SCHEDULING),
        (members(running=3), Phase.RUNNING),
        (members(running=4), Phase.RUNNING),
        (members(waiting=7, running=3), Phase.RUNNING),
        (members(running=1, succeeded=2), Phase.RUNNING),
        (members(running=3, failed=1), Phase.RUNNING),
        (members(waiting=1, running=2, failed=1), Phase.SCHEDULING),
        (members(running=2, failed=1), Phase.FAILED),
        (members(waiting=1, failed=2), Phase.FAILED),
        (members(failed=3), Phase.FAILED),
        (members(succeeded=2, failed=1), Phase.FAILED),
        (members(failed=2), Phase.PENDING),
        (members(succeeded=2), Phase.PENDING),
        (members(succeeded=3), Phase.FINISHED),
        (members(succeeded=3, failed=5), Phase.FINISHED),
        (members(running=2, succeeded=3), Phase.FINISHED),
        (members(running=7, succeeded=3), Phase.RUNNING),
        (members(waiting=3, succeeded=3), Phase.SCHEDULING),
    ],
)
def test_a_life_that_has_not_ended_follows_its_members(before: Phase, group: MemberCounts, phase: Phase) -> None:
    assert follow(before, group, 3) is phase


@pytest.mark.parametrize("ended", sorted(ENDED))
@pytest.mark.parametrize("left", [members(), members(succeeded=2), members(failed=2), members(succeeded=1, failed=1)])
def test_a_group_stays_ended_while_its_members_are_cleaned_away(ended: Phase, left: MemberCounts) -> None:
    assert follow(ended, left, 3) is ended


def test_a_finished_group_does_not_fail_because_succeeded_members_are_cleaned_away_first() -> None:
    assert follow(Phase.FINISHED, members(succeeded=2, failed=1), 3) is Phase.FINISHED


def test_a_failed_group_whose_members_succeed_after_all_is_finished() -> None:
    assert follow(Phase.FAILED, members(succeeded=3, failed=1), 3) is Phase.FINISHED


@pytest.mark.parametrize("ended", sorted(ENDED))
@pytest.mark.parametrize(
    ("group", "phase"),
    [
        (members(waiting=1), Phase.PENDING),
        (members(waiting=3), Phase.SCHEDULING),
        (members(waiting=3, failed=3), Phase.SCHEDULING),
        (members(waiting=3, succeeded=3), Phase.SCHEDULING),
        (members(running=3), Phase.RUNNING),
        (members(running=3, failed=3), Phase.RUNNING),
    ],
)
def test_a_reused_name_lives_again_when_members_of_a_new_life_exist(
    ended: Phase, group: MemberCounts, phase: Phase
) -> None:
    assert follow(ended, group, 3) is phase


def test_a_group_fails_only_when_its_quorum_can_not_run_any_more() -> None:
    assert follow(Phase.RUNNING, members(running=3, failed=2), 3) is Phase.RUNNING
    assert follow(Phase.RUNNING, members(running=2, failed=3), 3) is Phase.FAILED
    assert follow(Phase.FAILED, members(waiting=1, running=2, failed=3), 3) is Phase.SCHEDULING


def test_a_group_is_unknown_while_a_part_runs_and_the_rest_can_not_be_placed() -> None:
    group = members(waiting=1, running=2)
    assert follow(Phase.RUNNING, group, 3, rejected=True) is Phase.UNKNOWN
    assert follow(Phase.UNKNOWN, group, 3, rejected=False) is Phase.SCHEDULING
    assert follow(Phase.UNKNOWN, members(running=3), 3, rejected=True) is Phase.RUNNING
    assert follow(Phase.SCHEDULING, members(waiting=3), 3, rejected=True) is Phase.SCHEDULING
    assert follow(Phase.SCHEDULING, members(starting=1, running=2), 3, rejected=True) is Phase.SCHEDULING


@given(st.sampled_from(Phase), counts, st.integers(1, 6), st.booleans())
def test_a_phase_that_was_reached_is_kept_while_nothing_changes(
    before: Phase, group: MemberCounts, needed: int, rejected: bool
) -> None:
    reached = follow(before, group, needed, rejected=rejected)
    assert follow(reached, group, needed, rejected=rejected) is reached


@given(counts, st.integers(1, 6), st.booleans())
def test_while_a_member_is_alive_the_past_does_not_matter(group: MemberCounts, needed: int, rejected: bool) -> None:
    phases = {follow(before, group, needed, rejected=rejected) for before in Phase}
    assert len(phases) == 1 or not group.alive


@given(st.sampled_from(Phase), counts, st.integers(1, 6), st.booleans())
def test_no_group_runs_with_less_than_its_quorum(
    before: Phase, group: MemberCounts, needed: int, rejected: bool
) -> None:
    if follow(before, group, needed, rejected=rejected) is Phase.RUNNING:
        assert group.running + group.succeeded >= needed


@pytest.mark.parametrize("text", [None, "", "PreScheduling", "Scheduled"])
def test_another_schedulers_phase_counts_as_pending(text: str | None) -> None:
    assert phase_of(text) is Phase.PENDING


@pytest.mark.parametrize("phase", Phase)
def test_a_phase_is_read_as_it_was_written(phase: Phase) -> None:
    assert phase_of(phase.value) is phase
