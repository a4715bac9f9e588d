"""The plan for trees of groups: enough parts of it fit where it says when it says, each in its domain."""

from collections.abc import Sequence
from math import inf

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from muster.plugins.reservation.group_plan import Group, GroupPlan, plan_group
from muster.plugins.reservation.packing import Need
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

RACKS = [np.array([0, 1]), np.array([2, 3])]
EACH_NODE = [np.array([node]) for node in range(NODES)]
ANYWHERE = np.array([True] * NODES)


@st.composite
def groups(draw: st.DrawFn, key: str = "tree", levels: int = 2) -> Group:
    """A tree, or a group of pods if there are no more levels."""
    domains = draw(st.sampled_from([None, None, RACKS, EACH_NODE]))
    if not levels or draw(st.booleans()):
        return Group(key, draw(needs()), domains)
    parts = [draw(groups(f"{key}.{number}", levels - 1)) for number in range(draw(st.integers(1, 3)))]
    return Group(key, (), domains, parts, draw(st.integers(1, len(parts))))


def planned(running: list[Running], group: Group) -> GroupPlan | None:
    return plan_group(timeline_of(running), group, NOW)


def load(found: GroupPlan) -> list[int]:
    """What the plan puts on each node."""
    sizes = [0] * NODES
    for each in found.placed:
        for need, nodes in each.by_kind():
            assert len(nodes) == need.count
            for node in nodes:
                assert need.nodes[node]
                sizes[node] += int(need.amounts[0])
    return sizes


def nodes_of(group: Group, found: GroupPlan) -> set[int] | None:
    """The nodes of a group that starts, after a look whether it does as it should; None for one that does not."""
    if not group.parts:
        own = [each for each in found.placed if each.group is group]
        if not own:
            return None
        nodes = {node for some in own[0].nodes for node in some}
    else:
        started = [each for each in (nodes_of(part, found) for part in group.parts) if each is not None]
        if not started:
            return None
        assert len(started) == group.needed
        nodes = set().union(*started)
    assert group.domains is None or any(nodes <= {*domain.tolist()} for domain in group.domains)
    return nodes


def a_group(key: str, size: int, count: int, domains: Sequence[np.ndarray] | None = None) -> Group:
    return Group(key, [Need(np.array([size]), count, ANYWHERE)], domains)


@given(running_pods(), groups())
def test_enough_parts_fit_together_in_their_domains_at_the_planned_start(running: list[Running], group: Group) -> None:
    found = planned(running, group)
    if found is None:
        return
    assert nodes_of(group, found) is not None
    reserved = load(found)
    for size, there in zip(reserved, stay(running, [], reserved, found.start), strict=True):
        assert size + there <= CAPACITY


@given(running_pods(), groups(), newcomers)
def test_no_pod_that_is_admitted_beside_the_plan_delays_a_part_of_it(
    running: list[Running], group: Group, coming: list[tuple[int, int, int]]
) -> None:
    found = planned(running, group)
    if found is None or found.start == inf:
        return
    reserved = load(found)
    stay_then = stay(running, coming, reserved, found.start)
    assert all(size + there <= CAPACITY for size, there in zip(reserved, stay_then, strict=True))


@given(running_pods(), st.lists(groups(levels=1), min_size=1, max_size=4))
def test_a_tree_that_needs_one_part_starts_with_the_first_that_can(running: list[Running], parts: list[Group]) -> None:
    alone = [found.start for part in parts if (found := planned(running, part)) is not None]
    found = planned(running, Group("tree", (), None, parts, 1))
    assert (None if found is None else found.start) == min(alone, default=None)


def test_a_part_that_may_go_anywhere_leaves_the_one_rack_to_the_part_that_needs_it() -> None:
    running = [(2, 8, 50.0), (3, 8, 50.0), (0, 1, 10.0)]
    found = planned(running, Group("tree", (), None, [a_group("a", 8, 2), a_group("b", 8, 2, RACKS)], 2))
    assert found is not None
    assert (found.start, nodes_of(found.placed[0].group, found)) == (50.0, {0, 1})


def test_a_tree_in_one_rack_gets_the_rack_in_which_all_of_it_fits_first() -> None:
    running = [(0, 8, 10.0), (1, 8, 30.0), (2, 8, 20.0), (3, 8, 20.0)]
    found = planned(running, Group("tree", (), RACKS, [a_group("a", 8, 1), a_group("b", 8, 1)], 2))
    assert found is not None
    assert (found.start, sorted(load(found))) == (20.0, [0, 0, 8, 8])


def test_without_known_ends_parts_that_can_start_are_preferred_then_nodes_where_least_has_to_end() -> None:
    running = [(0, 8, inf), (1, 2, inf), (2, 8, inf), (3, 8, 10.0)]
    one_of_two = Group("tree", (), None, [a_group("a", 8, 2), a_group("b", 8, 1)], 1)
    both = Group("tree", (), None, [a_group("a", 8, 1), a_group("b", 8, 1)], 2)
    found = planned(running, one_of_two)
    assert found is not None
    assert (found.start, load(found)) == (10.0, [0, 0, 0, 8])
    found = planned(running, both)
    assert found is not None
    assert (found.start, load(found)) == (inf, [0, 8, 0, 8])


def test_a_tree_that_fits_on_no_empty_nodes_has_no_plan() -> None:
    assert planned([], Group("tree", (), EACH_NODE, [a_group("a", 8, 1), a_group("b", 1, 1)], 2)) is None
    assert planned([], Group("tree", (), EACH_NODE, [a_group("a", 9, 1), a_group("b", 1, 1)], 1)) is not None
