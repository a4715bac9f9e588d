"""The leader goes at one step of a decision after another: nothing is lost, bound twice or bound in part."""

import logging
from collections.abc import Callable, Iterator

import pytest

from muster.testing.simulation import Act, standard
from muster.testing.simulation.stage import Stage

BEGIN_SECONDS, MOST_SECONDS, REST_SECONDS = 30.0, 20.0, 180.0
EVERY = 12
"""Of so many steps each change is played after one: the loop takes a step for each callback, a tenth of a decision."""
CHANGES = (
    Act(0.0, "leader_is_killed"),
    Act(0.0, "leader_is_ended"),
    Act(0.0, "leader_stands", (25.0,)),
)
WORK = (
    Act(0.0, "group_comes", ("gang", 3, False)),
    *(Act(0.0, "member_comes", ("gang", number, 1500, False)) for number in range(3)),
    Act(0.0, "group_comes", ("native", 2, True)),
    *(Act(0.0, "member_comes", ("native", number, 500, True)) for number in range(2)),
    Act(0.0, "pods_come", ("pod", 2, 500, "", True)),
)
PODS = 7


class _EnoughError(Exception):
    """So many steps have been taken."""


@pytest.fixture(autouse=True)
def _silence() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def begun() -> Stage:
    """Two nodes and two processes, of which one leads, and work that has just come."""
    stage = Stage("every step", 2, standard())
    stage.world.expect([Act(0.0, "node_comes", (f"node-{number}", "east")) for number in range(2)])
    stage.go_on(BEGIN_SECONDS)
    stage.world.expect(WORK)
    return stage


def take(stage: Stage, enough: Callable[[], bool]) -> int:
    """Take steps until it is so; how many that were."""
    first = stage.loop.steps

    def after_step() -> None:
        if enough():
            raise _EnoughError

    with pytest.raises(_EnoughError):
        stage.loop.run_until(stage.loop.time() + MOST_SECONDS, after_step)
    return stage.loop.steps - first


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.what)
def test_a_leader_that_goes_at_any_step_leaves_all_as_promised(change: Act) -> None:
    """Each change begins elsewhere, so that together they come upon more of the steps."""
    whole = begun()
    steps = take(whole, lambda: len(whole.judge.bound) == PODS)
    whole.end()
    assert steps > 10 * EVERY

    for number in range(1 + CHANGES.index(change) * EVERY // len(CHANGES), steps, EVERY):
        stage = begun()
        last = stage.loop.steps + number
        take(stage, lambda stage=stage, last=last: stage.loop.steps == last)  # type: ignore[misc]  # as they are now
        stage.world.carry_out(change)
        stage.go_on(REST_SECONDS)
        stage.judge.at_rest()
        found = [*stage.judge.wrong, *stage.loop.failures]
        bound = len(stage.judge.bound)
        stage.end()
        assert (found, bound) == ([], PODS), f"after {number} steps"
