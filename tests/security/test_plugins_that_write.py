"""A plugin that writes into what it was given to read harms its own pod at most."""

from collections.abc import Callable

import numpy as np
import pytest

from muster.framework.contract import (
    CycleState,
    Diagnosis,
    FilterPlugin,
    NodeView,
    PostFilterPlugin,
    ScorePlugin,
    Status,
    StatusTable,
    Verdicts,
)
from muster.framework.contract.plugin import Scores
from muster.framework.model.pod_info import PodInfo
from muster.plugins.catalog import IN_TREE
from muster.testing.cluster import info
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


def into_labels(state: CycleState, pod: PodInfo, nodes: NodeView) -> None:
    pod.labels["app"] = "mine"  # type: ignore[index]


def into_requests(state: CycleState, pod: PodInfo, nodes: NodeView) -> None:
    pod.signature.requests["cpu"] = 0  # type: ignore[index]


def into_what_it_scores_by(state: CycleState, pod: PodInfo, nodes: NodeView) -> None:
    pod.signature.scoring["cpu"] = 0  # type: ignore[index]


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
    """The victim's message, when all others, which are like it, have found their nodes."""
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


@pytest.mark.parametrize("write", [into_labels, into_requests, into_what_it_scores_by])
async def test_values_that_equal_pods_share_cannot_be_written(write: Write) -> None:
    plugin = type("Writing", (Writing,), {"write": staticmethod(write)})
    words = "'mappingproxy' object does not support item assignment"
    assert await told_of_the_victim(plugin) == f'running "Writing" filter plugin: {words}'


def test_labels_that_are_written_into_the_object_change_no_equal_pod() -> None:
    victim, other = info(make_pod("victim").labels(app="web")), info(make_pod("other").labels(app="web"))
    victim.pod.metadata.labels["app"] = "mine"
    late = info(make_pod("late").labels(app="web"))
    assert victim.label_set is other.label_set is late.label_set
    assert dict(other.labels) == {"app": "web"}


class Erasing(PostFilterPlugin):
    """Clears the diagnosis that it receives of the pod's refusal."""

    name = "Erasing"

    def post_filter(self, state: CycleState, pod: PodInfo, diagnosis: Diagnosis) -> tuple[str | None, Status | None]:
        if pod.key == VICTIM:
            diagnosis.unschedulable_plugins.clear()
            for table in diagnosis.tables:
                table.number(Status.failure("mine"))
            for column in (diagnosis.codes, diagnosis.rejector):
                column[:] = 0
        return None, None


async def test_a_refusal_that_is_written_to_is_that_of_one_pod() -> None:
    stage = Stage(Erasing, IN_TREE["NodeResourcesFit"])
    stage.put_node(*(make_node(f"n{number}", cpu="1") for number in range(3)))
    stage.put_pod(make_pod("victim").requests(cpu="4").priority(1), make_pod("other").requests(cpu="4"))
    await stage.settle()
    assert stage.conditions["default/other"][1] == "0/3 nodes are available: 3 Insufficient cpu."
    stage.put_node(make_node("large", cpu="16"))
    await stage.wait(30)
    assert ("default/other", "large") in stage.binds
    await stage.close()


async def test_scores_that_are_remembered_cannot_be_written() -> None:
    plugin = type("Writing", (Normalizing,), {"write": staticmethod(lambda *_: None)})
    words = 'running Normalize on Score plugins: plugin "Writing" failed with'
    assert (await told_of_the_victim(plugin)).startswith(f"{words}: ")


async def test_notes_of_other_plugins_are_lost_to_the_one_pod_alone() -> None:
    await told_of_the_victim(type("Writing", (Writing,), {"write": staticmethod(into_what_others_keep)}))
