"""The judge sees a gang that waits although what it asks for in all is free, and only then."""

from collections.abc import Iterator

import pytest

from muster.plugins.coscheduling.prefilter import GroupPreFilter
from muster.testing.simulation import Act, standard
from muster.testing.simulation.claimants import Capacity, claimants
from muster.testing.simulation.stage import Stage
from muster.testing.simulation.traits import MIN_RESOURCES


@pytest.fixture
def stage() -> Iterator[Stage]:
    """Two nodes of four cores."""
    stage = Stage("in all", 1, standard())
    for number in range(2):
        stage.world.carry_out(Act(0.0, "node_comes", (f"node-{number}", "east")))
    yield stage
    stage.end()


def gang(stage: Stage, in_all: str) -> None:
    """Of two members of one core each, which asks for so much in all."""
    stage.world.carry_out(Act(0.0, "group_comes", ("gang", 2, False, ((MIN_RESOURCES, in_all),))))
    for number in range(2):
        stage.world.carry_out(Act(0.0, "member_comes", ("gang", number, 1000, False)))


@pytest.mark.parametrize(("in_all", "starts"), [("2", True), ("8", True), ("8001m", False)])
def test_capacity_on_all_nodes_counts_for_min_resources(stage: Stage, in_all: str, starts: bool) -> None:
    gang(stage, in_all)
    [claimant] = claimants(stage.server)
    assert Capacity(stage.server).takes(claimant) is starts
    stage.go_on(30.0)
    assert bool(stage.judge.bound) is starts
    stage.judge.at_rest()
    assert stage.judge.wrong == []


def test_capacity_that_members_of_the_gang_have_counts_for_min_resources(stage: Stage) -> None:
    gang(stage, "8")
    stage.world.pods.bind("gang-0", "node-0")
    [claimant] = claimants(stage.server)
    assert Capacity(stage.server).takes(claimant)


def test_a_gang_that_waits_for_what_is_free(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GroupPreFilter, "_missing_amounts", lambda self, *given: {"cpu": 1})
    gang(stage, "2")
    stage.go_on(30.0)
    stage.judge.at_rest()
    assert any("would fit" in wrong for wrong in stage.judge.wrong)


@pytest.mark.parametrize(("bound", "takes"), [(1, True), (2, False)])
def test_capacity_that_others_would_leave_counts_until_the_gang_has_started(
    stage: Stage, bound: int, takes: bool
) -> None:
    gang(stage, "8")
    stage.world.carry_out(Act(0.0, "member_comes", ("gang", 2, 1000, False)))
    stage.world.carry_out(Act(0.0, "stranger_comes", ("stranger", 0.9, 4000)))
    for number in range(bound):
        stage.world.pods.bind(f"gang-{number}", "node-0")
    [claimant] = claimants(stage.server)
    without_the_stranger = Capacity(stage.server, counts=lambda pod: pod["metadata"]["name"] != "stranger")
    assert without_the_stranger.takes(claimant) is takes
