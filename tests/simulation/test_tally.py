"""The tally counts what took part, and groups that started in part are excused for what others did to them alone."""

from collections.abc import Iterator

import pytest

from muster.testing.simulation import Act, standard
from muster.testing.simulation.stage import Stage
from muster.testing.simulation.tally import SeedTally
from muster.testing.simulation.traits import REQUIRED


@pytest.fixture
def stage() -> Iterator[Stage]:
    """A node, and a gang of two, of which Muster has just bound one."""
    stage = Stage("tally", 1, standard())
    stage.world.carry_out(Act(0.0, "node_comes", ("node-0", "east")))
    stage.world.carry_out(Act(0.0, "group_comes", ("gang", 2, False)))
    for number in range(2):
        stage.world.carry_out(Act(0.0, "member_comes", ("gang", number, 500, False)))
    bind(stage, 0)
    yield stage
    stage.end()


def bind(stage: Stage, number: int) -> None:
    stage.world.pods.bind(f"gang-{number}", "node-0")
    stage.judge.wholeness.bound("gang")


def test_a_group_that_starts_in_part_is_at_fault(stage: Stage) -> None:
    assert [*stage.judge.wholeness.faults()] == ["1 members of gang are bound, which needs 2"]


def test_a_group_that_was_whole_and_lost_a_member_needs_no_excuse(stage: Stage) -> None:
    bind(stage, 1)
    stage.world.carry_out(Act(0.0, "pod_goes", (0.0,)))
    assert [*stage.judge.wholeness.faults()] == []
    assert (stage.judge.wholeness.judged, stage.judge.wholeness.excused) == ({"gang"}, set())


def test_a_group_is_excused_that_lost_a_member_while_it_was_bound(stage: Stage) -> None:
    stage.world.carry_out(Act(0.0, "pod_goes", (0.9,)))
    assert [*stage.judge.wholeness.faults()] == []
    assert stage.judge.wholeness.excused == {"gang"}


def test_a_group_is_not_excused_that_was_meddled_with_long_before(stage: Stage) -> None:
    stage.world.meddling.touch("gang")
    stage.world.carry_out(Act(0.0, "pod_ends", (0.0,)))
    stage.go_on(100.0)
    stage.world.carry_out(Act(0.0, "member_comes", ("gang", 2, 500, False)))
    bind(stage, 2)
    assert [*stage.judge.wholeness.faults()] == ["1 members of gang are bound, which needs 2"]


def test_more_than_one_in_ten_excused_is_a_fault_of_many() -> None:
    tally = SeedTally()
    for judged, excused, wrong in ((20, 20, False), (80, 0, True), (100, 0, False)):
        more = SeedTally()
        more.events.update({"groups judged": judged, "groups excused": excused})
        tally.add(more)
        assert bool(tally.fault()) is wrong


def test_acts_and_groups_are_counted() -> None:
    tally = SeedTally()
    tally.count([Act(0.0, "group_comes", ("a", 2, True)), Act(0.0, "group_comes", ("b", 2, False, ((REQUIRED, "x"),)))])
    assert tally.data()["acts"] == {"group_comes": 2}
    assert tally.data()["groups"] == {"Kubernetes' own": 1, "by label": 1, REQUIRED: 1}
