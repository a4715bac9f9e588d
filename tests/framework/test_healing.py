"""What becomes of a group that lost members, decided from who is bound and who succeeded."""

import pytest

from muster.framework.contract.healing import HealingPolicy, Life, healing_fault, healing_policy

KEEP, RESTART, SHRINK = HealingPolicy.KEEP, HealingPolicy.RESTART, HealingPolicy.SHRINK


def begun(*members: str, quorum: int = 3) -> Life:
    life = Life()
    assert not life.follow(members, (), quorum)
    return life


@pytest.mark.parametrize(
    ("policy", "left", "evicted"),
    [(KEEP, "abc", ""), (KEEP, "a", ""), (RESTART, "abc", "abc"), (SHRINK, "abc", ""), (SHRINK, "ab", "ab")],
)
def test_the_policy_says_whether_the_others_go_on(policy: HealingPolicy, left: str, evicted: str) -> None:
    life = begun(*"abcd")
    assert life.follow(left, (), 3) == set("abcd") - set(left)
    assert life.decide(policy, left, 3) == bool(evicted)
    assert life.doomed == set(evicted)


def test_a_group_that_has_not_begun_loses_nobody() -> None:
    life = Life()
    assert not life.follow("ab", (), 3)
    assert not life.follow("a", (), 3)
    assert not life.follow("acd", (), 3)
    assert life.follow("ac", (), 3) == {"d"}


def test_who_succeeded_is_done_and_counts_also_when_its_pod_is_cleaned_away() -> None:
    life = begun(*"abc")
    assert not life.follow("ab", "c", 3)
    assert not life.follow("ab", "", 3)
    assert life.follow("a", "", 3) == {"b"}
    assert not life.decide(SHRINK, "a", 2), "one is left, and one is done"


def test_a_successor_is_no_loss_and_may_be_lost_in_turn() -> None:
    life = begun(*"abc")
    life.follow("ab", (), 3)
    assert not life.decide(KEEP, "ab", 3)
    assert not life.follow("abd", (), 3)
    assert life.follow("ab", (), 3) == {"d"}


def test_the_next_life_begins_when_those_who_were_evicted_are_gone_and_the_quorum_is_bound_anew() -> None:
    life = begun(*"abc")
    life.follow("ab", (), 3)
    assert life.decide(RESTART, "ab", 3)
    assert life.doomed == {"a", "b"}
    assert not life.follow("b", (), 3)
    assert not life.follow("bx", (), 3)
    assert not life.follow("x", (), 3)
    assert not life.follow("xyz", (), 3)
    assert life.follow("xy", (), 3) == {"z"}


def test_what_cannot_be_read_evicts_nobody_and_is_told() -> None:
    annotations = {"muster-scheduler.io/healing-policy": "Always"}
    assert healing_policy(annotations) is KEEP
    assert healing_fault(annotations) == (
        'metadata.annotations[muster-scheduler.io/healing-policy]: Unsupported value: "Always": '
        'supported values: "Keep", "Restart", "Shrink"'
    )
    assert not healing_fault({})


def test_what_cannot_be_read_leaves_it_to_what_the_next_says() -> None:
    misspelt, restart = ({"muster-scheduler.io/healing-policy": value} for value in ("restart", "Restart"))
    assert healing_policy(misspelt, {}, restart, misspelt) is RESTART
