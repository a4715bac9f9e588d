"""A plugin that writes into what it was given to read harms its own pod at most."""

from collections.abc import Callable

import numpy as np
import pytest

from muster.framework.contract import (
    CycleState,
    FilterPlugin,
    NodeView,
    ScorePlugin,
    StatusTable,
    Verdicts,
)
from muster.framework.contract.plugin import Scores
from muster.framework.model.pod_info import PodInfo
from muster.plugins.catalog import IN_TREE
from tests.builders import make_node, make_pod
from tests.scheduler.stage import Stage

VICTIM = "default/victim"
READ_ONLY = "assignment destination is read-only"
Write = Callable[[CycleState, PodInfo, NodeView], object]


def into_the_node_list(state: CycleState, pod: PodInfo, nodes: NodeView) -> None:
    nodes.snapshot.live_rows()[:] = 0


def into_a_column(state: CycleState, pod: PodInfo, nodes: NodeView) -> None:
    nodes.of(nodes.snapshot.unschedulable)[:] = True


def into_amounts(state: CycleState, pod: PodInfo, nodes: NodeView) -> None:
    nodes.of(nodes.snapshot.resources.allocatable)[:] = 0


def into_what_others_keep(state: CycleState, pod: PodInfo, nodes: NodeView) -> None:
    for name in IN_TREE:
        state.write(name, object())


class Writing(FilterPlugin, ScorePlugin):
    """Writes when it is asked about the victim."""

    name = "Writing"
    write: Write
    _passes = StatusTable()

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Verdicts:
        if pod.key == VICTIM:
            type(self).write(state, pod, nodes)
        return Verdicts.all_pass(len(nodes), self._passes)

    def score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Scores:
        return np.arange(len(nodes))


class Normalizing(Writing):
    """Brings scores into bounds where they are."""

    name = "Writing"

    def normalize_score(self, state: CycleState, pod: PodInfo, scores: Scores) -> Scores:
        if pod.key == VICTIM:
            scores *= 2
        return scores


async def told_of_the_victim(plugin: type[Writing]) -> str:
    """What the victim is told, when all others, which are like it, have found their nodes."""
    stage = Stage(plugin, *(IN_TREE[name] for name in ("NodeResourcesFit", "NodeUnschedulable")))
    stage.put_node(*(make_node(f"n{number}") for number in range(3)))
    others = [f"other-{number}" for number in range(4)]
    stage.put_pod(*map(make_pod, others[:2]), make_pod("victim"), *map(make_pod, others[2:]))
    await stage.settle()
    await stage.wait(30)
    stage.put_pod(make_pod("late"))
    await stage.settle()

    assert {key for key, _ in stage.binds} >= {f"default/{name}" for name in (*others, "late")}
    stage.check()
    await stage.close()
    return stage.conditions.get(VICTIM, ("", "", None))[1]


@pytest.mark.parametrize("write", [into_the_node_list, into_a_column, into_amounts])
async def test_columns_and_rows_cannot_be_written(write: Write) -> None:
    plugin = type("Writing", (Writing,), {"write": staticmethod(write)})
    assert await told_of_the_victim(plugin) == f'running "Writing" filter plugin: {READ_ONLY}'


async def test_scores_that_are_remembered_cannot_be_written() -> None:
    plugin = type("Writing", (Normalizing,), {"write": staticmethod(lambda *_: None)})
    words = 'running Normalize on Score plugins: plugin "Writing" failed with'
    assert (await told_of_the_victim(plugin)).startswith(f"{words}: ")


async def test_what_other_plugins_keep_for_a_pod_is_lost_to_that_pod_alone() -> None:
    await told_of_the_victim(type("Writing", (Writing,), {"write": staticmethod(into_what_others_keep)}))
