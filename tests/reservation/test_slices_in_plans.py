"""The plan for members in slices: each slice is in one part of the nodes, and all fit when it says, not before."""

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.plugins.reservation.group_plan import Group, GroupPlan, plan_group
from muster.plugins.reservation.packing import EventualCapacity, Need, Slices, pack, pack_later
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

RACKS = [np.array([0, 1]), np.array([2, 3])]
ANYWHERE = np.array([True] * NODES)
parts = st.sampled_from([RACKS, RACKS[:1], [np.array([1, 2])], [np.array([node]) for node in range(NODES)]])


@st.composite
def slices(draw: st.DrawFn, most: int = 2) -> Slices:
    return Slices(draw(needs(most)), draw(st.integers(1, 3)), draw(parts))


def planned(running: list[Running], asked: list[Slices]) -> Plan | None:
    return plan(timeline_of(running), asked, NOW)


def load(found: Plan, asked: list[Slices]) -> list[int]:
    """What the plan puts on each node."""
    sizes, by_kind = [0] * NODES, iter(found.nodes)
    for each in asked:
        in_parts = []
        for need in each.needs:
            nodes = next(by_kind)
            assert len(nodes) == need.count * each.times
            assert all(need.nodes[node] for node in nodes)
            for node in nodes:
                sizes[node] += int(need.amounts[0])
            where = [next(n for n, part in enumerate(each.parts) if node in part) for node in nodes]
            in_parts.append([where.count(number) / need.count for number in range(len(each.parts))])
        assert all(counts == in_parts[0] for counts in in_parts)
        assert all(count.is_integer() for count in in_parts[0])
    assert next(by_kind, None) is None
    return sizes


@given(running_pods(), st.lists(slices(), min_size=1, max_size=2), newcomers)
def test_slices_are_complete_and_no_pod_that_is_admitted_beside_them_delays_them(
    running: list[Running], asked: list[Slices], coming: list[tuple[int, int, int]]
) -> None:
    found = planned(running, asked)
    if found is None:
        return
    reserved = load(found, asked)
    let_in = coming if found.start < inf else []
    assert all(
        size + there <= CAPACITY
        for size, there in zip(reserved, stay(running, let_in, reserved, found.start), strict=True)
    )


@given(running_pods(), slices(most=1))
def test_slices_that_are_alike_fit_no_earlier_and_are_refused_only_where_empty_nodes_would_not_do(
    running: list[Running], asked: Slices
) -> None:
    found, timeline, [need] = planned(running, [asked]), timeline_of(running), asked.needs
    each = CAPACITY // int(need.amounts[0])
    could = sum(sum(each for node in part if need.nodes[node]) // need.count for part in asked.parts)
    assert (found is None) == (could < asked.times)
    for moment in (NOW, *(end for *_, end in running if end < inf)):
        if found is not None and moment < found.start:
            assert pack(timeline.at(moment), [asked]) is None


@given(running_pods(), slices())
def test_within_a_domain_it_is_as_if_there_were_no_other_nodes(running: list[Running], asked: Slices) -> None:
    found = plan_group(timeline_of(running), Group("g", [asked], [RACKS[1]]), NOW)
    elsewhere = [(node, CAPACITY, inf) for node in RACKS[0].tolist()]
    here = [each for each in running if each[0] in RACKS[1]]
    inside = Slices(
        [Need(need.amounts, need.count, need.nodes & np.isin(np.arange(NODES), RACKS[1])) for need in asked.needs],
        asked.times,
        asked.parts,
    )
    expected = planned([*elsewhere, *here], [inside])
    assert _start(found) == _start(expected)
    if found is not None:
        nodes = [node for each in found.placed[0].nodes for node in each]
        assert np.isin(nodes, RACKS[1]).all()


def _start(found: GroupPlan | Plan | None) -> float | None:
    return None if found is None else found.start


def test_without_known_ends_a_slice_goes_to_the_part_in_which_least_has_to_end() -> None:
    running = [(0, 8, inf), (1, 2, inf), (2, 3, inf), (3, 3, inf)]
    asked = Slices([Need(np.array([8]), 1, ANYWHERE), Need(np.array([4]), 2, ANYWHERE)], 1, RACKS)
    found = planned(running, [asked])
    assert found is not None
    assert (found.start, found.nodes) == (inf, ((2,), (3, 3)))


@pytest.mark.parametrize(
    ("long_lived", "chosen", "nodes"),
    [
        ([0, 0, 0, 0], [False] * 4, (0,)),
        ([4, 0, 0, 0], [False] * 4, (2,)),
        ([0, 0, 0, 0], [False, False, False, True], (3,)),
        ([0, 0, 8, 8], [False, False, False, True], (0,)),
    ],
    ids=["least in use", "long-lived pods", "chosen before", "long-lived pods where it was chosen before"],
)
def test_a_slice_goes_to_short_lived_pods_then_to_the_part_of_the_last_plan_then_where_least_is_in_use(
    long_lived: list[int], chosen: list[bool], nodes: tuple[int, ...]
) -> None:
    known, open_ended = np.array([[2], [2], [0], [0]]), np.array([[4], [0], [8], [8]])
    later = EventualCapacity(open_ended, np.array(long_lived)[:, None], np.array(chosen))
    found = pack_later(known, later, [Slices([Need(np.array([4]), 1, ANYWHERE)], 1, RACKS)])
    assert found is not None
    assert found[0] == (nodes,)
