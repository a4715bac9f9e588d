"""The judge sees members that are bound although their group is held, and groups that a resume does not wake."""

import pytest

from muster.framework.groups.holds import GroupHolds
from muster.framework.groups.plugin import GangPlugin
from muster.testing.simulation import Act, standard
from muster.testing.simulation.stage import Stage

HELD_SECONDS = 60.0


def held(native: bool) -> Stage:
    """A gang of two that was created with a hold, a while before it is resumed."""
    stage = Stage("held", 1, standard())
    stage.world.carry_out(Act(0.0, "node_comes", ("node-0", "east")))
    stage.world.carry_out(Act(0.0, "held_group_comes", ("gang", 2, native, HELD_SECONDS)))
    for number in range(2):
        stage.world.carry_out(Act(0.0, "member_comes", ("gang", number, 1000, native)))
    stage.go_on(HELD_SECONDS - 10.0)
    return stage


@pytest.mark.parametrize("native", [False, True])
def test_a_gang_that_is_created_with_a_hold_starts_when_it_is_resumed(native: bool) -> None:
    stage = held(native)
    before = len(stage.judge.bound)
    stage.go_on(30.0)
    stage.judge.at_rest()
    stage.end()
    assert (before, len(stage.judge.bound)) == (0, 2)
    assert stage.judge.wrong == []


def test_a_member_that_is_bound_although_its_group_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GroupHolds, "follow", lambda self, group, annotations: None)
    stage = held(False)
    stage.end()
    assert sorted(stage.judge.wrong) == [f"pod gang-{number} was bound while gang was held" for number in range(2)]


def test_a_gang_that_a_resume_does_not_wake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GangPlugin, "_decision_inputs", lambda self, group: (group.metadata.uid, group.spec))
    stage = held(True)
    stage.go_on(30.0)
    stage.judge.at_rest()
    stage.end()
    assert [wrong for wrong in stage.judge.wrong if "would fit" in wrong] != []


@pytest.mark.parametrize("native", [False, True])
def test_a_gang_that_is_held_again_is_left_alone_while_it_runs(native: bool) -> None:
    stage = held(native)
    stage.go_on(30.0)
    stage.world.carry_out(Act(0.0, "group_is_held", (0.0, 30.0)))
    stage.go_on(5.0)
    stage.world.carry_out(Act(0.0, "member_comes", ("gang", 2, 1000, native)))
    stage.go_on(15.0)
    during = len(stage.judge.bound)
    stage.go_on(30.0)
    stage.judge.at_rest()
    stage.end()
    assert (during, len(stage.judge.bound)) == (2, 3)
    assert stage.judge.wrong == []


def test_a_hold_of_a_tree_counts_as_a_change_of_each_of_its_groups() -> None:
    stage = Stage("held", 0, standard())
    stage.world.carry_out(Act(0.0, "tree_comes", ("tree", 1, "", "", False)))
    for part in ("first", "second"):
        stage.world.carry_out(Act(0.0, "group_comes", (part, 1, True, (), False, "tree")))
    stage.world.carry_out(Act(0.0, "group_is_held", (0.99, 30.0)))
    stage.end()
    assert stage.world.meddling.touched.keys() == {"first", "second"}
