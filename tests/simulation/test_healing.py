"""The judge sees gangs that lost a member and go on though they may not, and pods that are evicted without a reason."""

import pytest

from muster.operator.podgroups.healing import Healer
from muster.testing.simulation import Act, standard
from muster.testing.simulation.healing import heals, unhealed
from muster.testing.simulation.stage import Stage
from muster.testing.simulation.traits import HEALING


def played(policy: str, native: bool, *, minimum: int = 2, budget: bool = False) -> Stage:
    """A gang of three, and what became of it a minute after a member was lost."""
    stage = Stage("healing", 1, standard())
    stage.world.carry_out(Act(0.0, "node_comes", ("node-0", "east")))
    stage.world.carry_out(Act(0.0, "group_comes", ("gang", minimum, native, ((HEALING, policy),))))
    stage.world.carry_out(Act(0.0, "owner_comes", ("gang", 3, 500, native, False)))
    if budget:
        stage.world.carry_out(Act(0.0, "budget_comes", ("gang", 3, None)))
    stage.go_on(30.0)
    stage.world.carry_out(Act(0.0, "member_is_lost", (0.0,)))
    stage.go_on(60.0)
    stage.end()
    return stage


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize(("policy", "minimum", "evicted"), [("Restart", 2, 2), ("Shrink", 2, 0)])
def test_a_gang_heals_as_its_policy_says(policy: str, minimum: int, evicted: int, native: bool) -> None:
    stage = played(policy, native, minimum=minimum)
    stage.judge.at_rest()
    assert stage.judge.wrong == []
    assert stage.judge.tally.events["pods evicted to heal"] == evicted
    assert len(stage.judge.bound) == 4 + evicted


def test_a_gang_that_goes_on_though_it_may_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Healer, "_mark", lambda self, key: None)
    stage = played("Restart", False)
    assert [*unhealed(stage.server, stage.world.owners.losses)] == ["gang lost a member, and 2 of the others still run"]


def test_a_gang_that_shrinks_below_its_quorum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Healer, "_mark", lambda self, key: None)
    stage = played("Shrink", False, minimum=3)
    assert [*unhealed(stage.server, stage.world.owners.losses)] == []
    stage.world.owners.owners_go()
    stage.world.carry_out(Act(0.0, "member_is_lost", (0.0,)))
    assert {*unhealed(stage.server, stage.world.owners.losses)} == {"gang lost a member, and 2 of the others still run"}


def test_a_gang_with_a_budget_waits_for_it() -> None:
    stage = played("Restart", False, budget=True)
    assert stage.judge.tally.events["evictions refused"] > 0
    assert [*unhealed(stage.server, stage.world.owners.losses)] == []


def test_a_gang_without_a_policy_does_not_heal() -> None:
    stage = Stage("healing", 1, standard())
    stage.world.carry_out(Act(0.0, "group_comes", ("gang", 2, False)))
    stage.world.carry_out(Act(0.0, "group_comes", ("healing", 2, False, ((HEALING, "Restart"),))))
    assert not heals(stage.server, "gang-0")
    assert heals(stage.server, "healing-0")
    stage.end()
