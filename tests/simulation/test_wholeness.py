"""The judge distinguishes a gang that Muster started in part from one whose capacity others took rightly."""

import pytest

from muster.testing.simulation import Act, standard
from muster.testing.simulation.stage import Stage

GANG = "gang-0"
"""The member that is bound."""
CORDON = Act(0.0, "node_is_cordoned", (0.0,))
UNCORDON = Act(0.0, "node_is_uncordoned", (0.0,))
REFUSED, WAIT = "refused", "wait"
"""The API server refuses to bind a member; nothing happens."""


def stranger(cpu: int) -> Act:
    return Act(0.0, "stranger_comes", ("stranger", 0.0, cpu))


def ours(cpu: int, *, greater: bool) -> Act:
    return Act(0.0, "pods_come", ("ours", 1, cpu, "", greater))


def judged(steps: tuple[Act | str, ...]) -> tuple[list[str], set[str]]:
    """A gang needs two halves of a node. The faults and the excused after the steps: acts, and pods to bind."""
    stage = Stage("wholeness", 0, standard())
    stage.world.carry_out(Act(0.0, "node_comes", ("node-0", "east")))
    stage.world.carry_out(Act(0.0, "group_comes", ("gang", 2, False)))
    for number in range(2):
        stage.world.carry_out(Act(0.0, "member_comes", ("gang", number, 2000, False)))
    for step in steps:
        stage.go_on(10.0)
        if isinstance(step, Act):
            stage.world.carry_out(step)
        elif step == REFUSED:
            stage.judge.wholeness.refused("gang")
        elif step != WAIT:
            stage.world.pods.bind(step, "node-0")
        if step == GANG:
            stage.judge.wholeness.bound("gang")
    faults = [*stage.judge.wholeness.faults()]
    stage.end()
    return faults, stage.judge.wholeness.excused


@pytest.mark.parametrize(
    "steps",
    [
        (GANG, stranger(2000)),
        (GANG, ours(2000, greater=True), "ours-0"),
        (REFUSED, ours(2000, greater=True), "ours-0", REFUSED, GANG),
        (GANG, CORDON),
        (REFUSED, CORDON, REFUSED, GANG),
    ],
)
def test_a_gang_is_excused_when_a_cordon_or_pods_that_owe_it_nothing_took_the_rest(
    steps: tuple[Act | str, ...],
) -> None:
    assert judged(steps) == ([], {"gang"})


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param((stranger(2000), GANG), id="they were there before"),
        pytest.param(
            (REFUSED, stranger(2000), *[WAIT] * 6, GANG), id="they were there before the group was tried again"
        ),
        pytest.param((GANG, ours(2000, greater=False), "ours-0"), id="a pod that had to wait"),
        pytest.param((GANG, stranger(100), ours(1900, greater=False), "ours-0"), id="not by them alone"),
        pytest.param((CORDON, GANG), id="the node was cordoned before"),
        pytest.param((GANG, CORDON, UNCORDON), id="the node is usable again"),
    ],
)
def test_a_gang_is_not_excused_otherwise(steps: tuple[Act | str, ...]) -> None:
    assert judged(steps) == (["1 members of gang are bound, which needs 2"], set())


@pytest.mark.parametrize(("greater", "excused"), [(True, {"tree"}), (False, set())])
def test_a_tree_is_excused_when_pods_that_owe_it_nothing_took_the_capacity_of_a_part(
    greater: bool, excused: set[str]
) -> None:
    stage = Stage("wholeness", 0, standard())
    stage.world.carry_out(Act(0.0, "node_comes", ("node-0", "east")))
    stage.world.carry_out(Act(0.0, "tree_comes", ("tree", 2, "", "", False)))
    for part in ("bound", "waiting"):
        stage.world.carry_out(Act(0.0, "group_comes", (part, 1, True, (), False, "tree")))
        stage.world.carry_out(Act(0.0, "member_comes", (part, 0, 2000, True, False)))
    stage.go_on(10.0)
    stage.world.pods.bind("bound-0", "node-0")
    stage.judge.wholeness.bound("bound")
    stage.go_on(10.0)
    stage.world.carry_out(ours(2000, greater=greater))
    stage.world.pods.bind("ours-0", "node-0")
    faults = [*stage.judge.wholeness.faults()]
    stage.end()
    assert faults == ([] if excused else ["of tree, which needs 2 parts, only bound run"])
    assert stage.judge.wholeness.excused == excused
