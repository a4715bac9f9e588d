"""The plan for pods that have waited long: its start holds as long as running pods end when they should."""

from math import inf

import numpy as np
from hypothesis import given

from muster.plugins.reservation.packing import Need, pack
from muster.plugins.reservation.plan import Plan, plan
from tests.reservation.timelines import (
    CAPACITY,
    NODES,
    NOW,
    Running,
    needs,
    newcomers,
    running_pods,
    stay,
    timeline_of,
)


def load(found: Plan, asked: list[Need]) -> list[int]:
    """What the plan puts on each node."""
    sizes = [0] * NODES
    for need, nodes in zip(asked, found.nodes, strict=True):
        assert len(nodes) == need.count
        for node in nodes:
            assert need.nodes[node]
            sizes[node] += int(need.amounts[0])
    return sizes


@given(running_pods(), needs())
def test_all_members_fit_at_the_planned_start(running: list[Running], asked: list[Need]) -> None:
    found = plan(timeline_of(running), asked, NOW)
    if found is None:
        return
    reserved = load(found, asked)
    for size, there in zip(reserved, stay(running, [], reserved, found.start), strict=True):
        assert size + there <= CAPACITY


@given(running_pods(), needs(most=1))
def test_members_that_are_alike_fit_no_earlier_and_are_refused_only_where_empty_nodes_would_not_do(
    running: list[Running], asked: list[Need]
) -> None:
    found = plan(timeline_of(running), asked, NOW)
    timeline = timeline_of(running)
    [need] = asked
    empty = sum(CAPACITY // int(need.amounts[0]) for usable in need.nodes if usable)
    assert (found is None) == (empty < need.count)
    for moment in (NOW, *(end for *_, end in running if end < inf)):
        if found is not None and moment < found.start:
            assert pack(timeline.at(moment), asked) is None


@given(running_pods(), needs(most=1), newcomers)
def test_no_pod_that_is_admitted_beside_the_plan_delays_it(
    running: list[Running], asked: list[Need], coming: list[tuple[int, int, int]]
) -> None:
    found = plan(timeline_of(running), asked, NOW)
    if found is None or found.start == inf:
        return
    reserved = load(found, asked)
    stay_then = stay(running, coming, reserved, found.start)
    assert all(size + there <= CAPACITY for size, there in zip(reserved, stay_then, strict=True))


def test_without_known_ends_the_nodes_are_chosen_on_which_least_has_to_end() -> None:
    running = [(0, 8, inf), (1, 2, inf), (2, 6, inf), (3, 8, inf)]
    need = Need(np.array([4]), 3, np.array([True] * NODES))
    found = plan(timeline_of(running), [need], NOW)
    assert found is not None
    assert (found.start, found.nodes) == (inf, ((1, 1, 2),))
    assert (found.cost.lacking, found.cost.missing) == (2, 1.0)
