"""The judge sees trees of groups that start in part, in two domains, or not although they could."""

from collections.abc import Iterator, Sequence

import pytest

from muster.testing.simulation import Act, standard
from muster.testing.simulation.acts import ZONE
from muster.testing.simulation.claimants import Capacity, claimants
from muster.testing.simulation.stage import Stage
from muster.testing.simulation.together import split_domains
from muster.testing.simulation.trees import Trees


@pytest.fixture
def stage() -> Iterator[Stage]:
    """Nodes in two zones, and a tree that needs a group of two in it and one of the two groups of another group."""
    stage = Stage("trees", 1, standard())
    for name, zone in (("node-0", "east"), ("node-1", "west")):
        stage.world.carry_out(Act(0.0, "node_comes", (name, zone)))
    stage.world.carry_out(Act(0.0, "tree_comes", ("tree", 2, ZONE, "", False)))
    stage.world.carry_out(Act(0.0, "tree_comes", ("inner", 1, "", "tree", False)))
    for part, parent in (("first", "tree"), ("second", "inner"), ("third", "inner")):
        stage.world.carry_out(Act(0.0, "group_comes", (part, 2, True, (), False, parent)))
        for number in range(2):
            stage.world.carry_out(Act(0.0, "member_comes", (part, number, 500, True, False)))
    yield stage
    stage.end()


def bind(stage: Stage, groups: Sequence[str], node: str = "node-0") -> None:
    for group in groups:
        for number in range(2):
            stage.world.pods.bind(f"{group}-{number}", node)
            stage.judge.wholeness.bound(group)


@pytest.mark.parametrize(
    ("started", "wrong"),
    [
        ([], []),
        (["first"], ["of tree, which needs 2 parts, only first run"]),
        (["second"], ["of tree, which needs 2 parts, only second run"]),
        (["first", "third"], []),
        (["second", "third"], ["of tree, which needs 2 parts, only second, third run"]),
    ],
)
def test_a_tree_that_starts_in_part_is_at_fault(stage: Stage, started: list[str], wrong: list[str]) -> None:
    bind(stage, started)
    assert [*stage.judge.wholeness.faults()] == wrong


def test_a_tree_is_excused_that_lost_a_member_while_it_was_bound(stage: Stage) -> None:
    bind(stage, ["first"])
    stage.world.meddling.touch("second")
    assert [*stage.judge.wholeness.faults()] == []
    assert stage.judge.wholeness.excused == {"tree"}


def test_a_tree_that_was_whole_and_lost_a_part_needs_no_excuse(stage: Stage) -> None:
    bind(stage, ["first", "second"])
    for _ in range(2):
        stage.world.carry_out(Act(0.0, "pod_goes", (0.0,)))
    assert [*stage.judge.wholeness.faults()] == []
    assert stage.judge.wholeness.excused == set()


def test_parts_in_two_domains_of_the_tree(stage: Stage) -> None:
    bind(stage, ["first"])
    bind(stage, ["second"], "node-1")
    assert [*split_domains(stage.server, "second")] != []
    assert [*split_domains(stage.server, "second", {"first"})] == []


def test_a_tree_claims_nodes_for_all_that_wait_until_it_has_started(stage: Stage) -> None:
    [tree] = claimants(stage.server)
    assert (tree.name, tree.missing) == ("tree", 6)
    assert Capacity(stage.server).takes(tree)
    bind(stage, ["first", "second"])
    [part] = claimants(stage.server)
    assert (part.name, part.missing) == ("third", 2)
    assert Capacity(stage.server).takes(part)


def test_a_tree_does_not_fit_in_two_domains(stage: Stage) -> None:
    stage.world.carry_out(Act(0.0, "stranger_comes", ("stranger-0", 0.0, 2000)))
    stage.world.carry_out(Act(0.0, "stranger_comes", ("stranger-1", 0.9, 2000)))
    [tree] = claimants(stage.server)
    assert not Capacity(stage.server).takes(tree)


def test_a_group_whose_tree_has_not_come_claims_nothing() -> None:
    stage = Stage("tree", 1, standard())
    stage.world.carry_out(Act(0.0, "group_comes", ("part", 1, True, (), False, "tree")))
    stage.world.carry_out(Act(0.0, "member_comes", ("part", 0, 500, True, False)))
    assert [*claimants(stage.server)] == []
    stage.end()


def test_a_tree_without_enough_members_claims_nothing(stage: Stage) -> None:
    stage.world.carry_out(Act(0.0, "pod_goes", (0.0,)))
    assert [*claimants(stage.server)] == []


def test_groups_of_a_tree_that_does_not_exist_are_in_none(stage: Stage) -> None:
    stage.world.carry_out(Act(0.0, "group_comes", ("lost", 1, True, (), False, "nowhere")))
    trees = Trees(stage.server)
    assert trees.above("lost") == []
    assert trees.is_part("lost")
    assert trees.above("second") == ["inner", "tree"]


def test_a_tree_starts_as_it_asks(stage: Stage) -> None:
    stage.go_on(30.0)
    stage.judge.at_rest()
    assert stage.judge.wrong == []
    assert len(stage.judge.bound) == 6
    assert stage.judge.wholeness.judged == {"tree", "inner", "first", "second", "third"}
