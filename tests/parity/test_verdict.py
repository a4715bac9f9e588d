"""Every difference between two schedulers about a pod is found by itself, True conditions included."""

from dataclasses import replace

import pytest

from tests.parity.choices import Choice
from tests.parity.verdict import difference, is_tie
from tests.parity.world import Condition, Outcome, Victim

SCHEDULED = Condition("PodScheduled", "True", "", "", 1)
REFUSED = Condition("PodScheduled", "False", "Unschedulable", "0/2 nodes are available: 2 Insufficient cpu.", 1)
SCORES = {"a": 90, "b": 90, "c": 70}
PLACED = Outcome("a", "", (SCHEDULED,), choice=Choice(90, 3, 2))
VICTIM = Victim("default/low", (Condition("DisruptionTarget", "True", "PreemptionByScheduler", "x", 1),), ("note",))
MADE_ROOM = Outcome("", "a", (REFUSED,), "0/2 nodes are available", (VICTIM,))


def test_the_same_outcomes_do_not_differ() -> None:
    for outcome in (PLACED, MADE_ROOM, replace(PLACED, choice=None)):
        assert difference(outcome, outcome, SCORES) == ""


@pytest.mark.parametrize(
    ("ours", "begins"),
    [
        (replace(PLACED, choice=Choice(89, 3, 2)), "choice: "),
        (replace(PLACED, choice=Choice(90, 2, 2)), "choice: "),
        (replace(PLACED, choice=Choice(90, 3, 1)), "choice: "),
        (replace(PLACED, choice=None), "choice: "),
        (replace(PLACED, conditions=()), "conditions: "),
        (replace(PLACED, conditions=(SCHEDULED._replace(generation=0),)), "conditions: "),
        (replace(PLACED, nominated="a"), "nominated: "),
        (replace(PLACED, node=""), "on node 'a', not ''"),
        (replace(PLACED, node="c", choice=Choice(70, 3, 1)), "on node 'a', not 'c'"),
        (replace(PLACED, node="b", choice=Choice(91, 3, 1)), "choice: "),
        (replace(PLACED, node="b", conditions=()), "conditions: "),
    ],
)
def test_each_thing_about_a_placed_pod_counts(ours: Outcome, begins: str) -> None:
    assert difference(PLACED, ours, SCORES).startswith(begins)


@pytest.mark.parametrize(
    ("ours", "begins"),
    [
        (replace(MADE_ROOM, nominated="b"), "nominated: "),
        (replace(MADE_ROOM, conditions=(REFUSED._replace(message="other"),)), "conditions: "),
        (replace(MADE_ROOM, note="other"), "note: "),
        (replace(MADE_ROOM, victims=()), "victims: "),
        (replace(MADE_ROOM, victims=(replace(VICTIM, pod="default/other"),)), "victims: "),
        (replace(MADE_ROOM, victims=(replace(VICTIM, conditions=()),)), "victims: "),
        (replace(MADE_ROOM, victims=(replace(VICTIM, notes=()),)), "victims: "),
    ],
)
def test_each_field_of_an_evicted_pod_is_compared(ours: Outcome, begins: str) -> None:
    assert difference(MADE_ROOM, ours, {}).startswith(begins)


def test_a_node_that_scored_as_high_is_as_good_where_both_say_so() -> None:
    ours = replace(PLACED, node="b")
    assert difference(PLACED, ours, SCORES) == ""
    assert is_tie(PLACED, ours)


def test_another_node_than_the_only_one_that_passed_is_a_difference() -> None:
    alone = replace(PLACED, choice=None)
    assert difference(alone, replace(alone, node="b"), {}).startswith("on node 'a', not 'b'")
