"""Healing of a group that lost members, decided from its bound and its succeeded members."""

from collections.abc import Iterable

import pytest

from muster.framework.groups.healing import GroupRun, HealingPolicy, healing_fault, healing_policy

KEEP, RESTART, SHRINK = HealingPolicy.KEEP, HealingPolicy.RESTART, HealingPolicy.SHRINK


def bound(uids: Iterable[str]) -> dict[str, str]:
    return dict.fromkeys(uids, "as last seen")


def begun(*members: str, quorum: int = 3) -> GroupRun[str]:
    run = GroupRun[str]()
    assert not run.follow(bound(members), (), quorum)
    return run


@pytest.mark.parametrize(
    ("policy", "left", "evicted"),
    [(KEEP, "abc", ""), (KEEP, "a", ""), (RESTART, "abc", "abc"), (SHRINK, "abc", ""), (SHRINK, "ab", "ab")],
)
def test_the_policy_says_whether_the_others_go_on(policy: HealingPolicy, left: str, evicted: str) -> None:
    run = begun(*"abcd")
    assert run.follow(bound(left), (), 3) == set("abcd") - set(left)
    assert run.decide(policy, bound(left), 3) == bool(evicted)
    assert run.to_evict == set(evicted)


def test_a_group_that_has_not_begun_loses_no_member() -> None:
    run = GroupRun[str]()
    assert not run.follow(bound("ab"), (), 3)
    assert not run.follow(bound("a"), (), 3)
    assert not run.follow(bound("acd"), (), 3)
    assert run.follow(bound("ac"), (), 3) == {"d"}


def test_a_succeeded_member_counts_as_done_also_after_its_pod_is_deleted() -> None:
    run = begun(*"abc")
    assert not run.follow(bound("ab"), "c", 3)
    assert not run.follow(bound("ab"), "", 3)
    assert run.follow(bound("a"), "", 3) == {"b"}
    assert not run.decide(SHRINK, bound("a"), 2), "one is left, and one is done"


def test_a_seemingly_lost_member_that_has_succeeded_counts_as_done() -> None:
    run = begun(*"abc")
    assert run.follow(bound("ab"), (), 3) == {"c"}
    run.finish("c")
    assert not run.follow(bound("ab"), (), 3)
    assert not run.decide(SHRINK, bound("ab"), 3)


def test_a_member_that_succeeded_before_the_group_was_seen_counts_when_it_is_reported_late() -> None:
    run = begun(*"abc")
    assert run.follow(bound("ab"), "x", 3) == {"c"}
    assert not run.decide(SHRINK, bound("ab"), 3), "two are left, and one is done"


def test_a_successor_is_no_loss_and_may_be_lost_in_turn() -> None:
    run = begun(*"abc")
    run.follow(bound("ab"), (), 3)
    assert not run.decide(KEEP, bound("ab"), 3)
    assert not run.follow(bound("abd"), (), 3)
    assert run.follow(bound("ab"), (), 3) == {"d"}


def test_a_run_that_another_process_has_ended_is_no_loss_once_the_quorum_is_bound_anew() -> None:
    run = begun(*"abc")
    assert run.follow(bound("bc"), (), 3) == {"a"}
    assert run.follow(bound("bcx"), (), 3) == {"a"}
    assert run.follow(bound("xy"), (), 3) == {"a", "b", "c"}
    assert not run.follow(bound("xyz"), (), 3)
    assert run.follow(bound("xy"), (), 3) == {"z"}


def test_the_next_run_begins_when_the_evicted_pods_are_gone_and_the_quorum_is_bound_again() -> None:
    run = begun(*"abc")
    run.follow(bound("ab"), (), 3)
    assert run.decide(RESTART, bound("ab"), 3)
    assert run.to_evict == {"a", "b"}
    assert not run.follow(bound("b"), (), 3)
    assert not run.follow(bound("bx"), (), 3)
    assert not run.follow(bound("x"), (), 3)
    assert not run.follow(bound("xyz"), (), 3)
    assert run.follow(bound("xy"), (), 3) == {"z"}


def test_an_invalid_policy_evicts_no_pod_and_is_reported() -> None:
    annotations = {"muster-scheduler.io/healing-policy": "Always"}
    assert healing_policy(annotations) is KEEP
    assert healing_fault(annotations) == (
        'metadata.annotations[muster-scheduler.io/healing-policy]: Unsupported value: "Always": '
        'supported values: "Keep", "Restart", "Shrink"'
    )
    assert not healing_fault({})


def test_a_policy_that_cannot_be_read_leaves_it_to_the_next_object() -> None:
    misspelt, restart = ({"muster-scheduler.io/healing-policy": value} for value in ("restart", "Restart"))
    assert healing_policy(misspelt, {}, restart, misspelt) is RESTART
