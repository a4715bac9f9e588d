"""The plan for pods that have waited long: what it promises holds while what runs ends as it should."""

from math import inf

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from muster.plugins.reservation.plan import Need, Plan, Room, pack, plan

NODES, CAPACITY, NOW = 3, 8, 0.0
Running = tuple[int, int, float]
"""A pod that runs: its node, its size, and when it ends."""


@st.composite
def rooms(draw: st.DrawFn) -> list[Running]:
    """Pods that fit on the nodes together."""
    used, running = [0] * NODES, []
    ends = st.one_of(st.integers(1, 20).map(float), st.just(inf))
    for node, size, end in draw(st.lists(st.tuples(st.integers(0, NODES - 1), st.integers(1, 5), ends), max_size=8)):
        if used[node] + size <= CAPACITY:
            used[node] += size
            running.append((node, size, end))
    return running


def room_of(running: list[Running]) -> Room:
    free, open_ended = np.full((NODES, 1), CAPACITY), np.zeros((NODES, 1), np.int64)
    for node, size, end in running:
        free[node] -= size
        if end == inf:
            open_ended[node] += size
    ending = [each for each in running if each[2] < inf]
    return Room(
        free,
        np.array([end for *_, end in ending], np.float64),
        np.array([node for node, *_ in ending], np.intp),
        np.array([[size] for _, size, _ in ending], np.int64).reshape(-1, 1),
        open_ended,
    )


@st.composite
def needs(draw: st.DrawFn, most: int = 2) -> list[Need]:
    nodes = st.lists(st.booleans(), min_size=NODES, max_size=NODES).map(np.array)
    one = st.builds(Need, st.integers(1, CAPACITY).map(lambda n: np.array([n])), st.integers(1, 6), nodes)
    return draw(st.lists(one, min_size=1, max_size=most))


def load(found: Plan, asked: list[Need]) -> list[int]:
    """What the plan puts on each node."""
    sizes = [0] * NODES
    for need, nodes in zip(asked, found.nodes, strict=True):
        assert len(nodes) == need.count
        for node in nodes:
            assert need.nodes[node]
            sizes[node] += int(need.amounts[0])
    return sizes


@given(rooms(), needs())
def test_all_members_fit_at_the_promised_start(running: list[Running], asked: list[Need]) -> None:
    found = plan(room_of(running), asked, NOW)
    if found is None:
        return
    for node, size in enumerate(load(found, asked)):
        left = [running_size for at, running_size, end in running if at == node and end > found.start]
        assert size + (0 if found.start == inf else sum(left)) <= CAPACITY


@given(rooms(), needs(most=1))
def test_members_that_are_alike_fit_no_earlier_and_are_refused_only_where_empty_nodes_would_not_do(
    running: list[Running], asked: list[Need]
) -> None:
    found = plan(room_of(running), asked, NOW)
    room = room_of(running)
    [need] = asked
    empty = sum(CAPACITY // int(need.amounts[0]) for usable in need.nodes if usable)
    assert (found is None) == (empty < need.count)
    for moment in (NOW, *(end for *_, end in running if end < inf)):
        if found is not None and moment < found.start:
            assert pack(room.at(moment), asked) is None


@given(rooms(), needs(most=1), st.lists(st.tuples(st.integers(0, NODES - 1), st.integers(1, 4), st.integers(1, 30))))
def test_nobody_who_is_let_in_beside_the_plan_delays_it(
    running: list[Running], asked: list[Need], newcomers: list[tuple[int, int, int]]
) -> None:
    """The rule of `Holds`: room beyond what is held, or an end before it is needed."""
    found = plan(room_of(running), asked, NOW)
    if found is None or found.start == inf:
        return
    held, there = load(found, asked), [*running]
    for node, size, seconds in newcomers:
        free = CAPACITY - sum(each for at, each, _ in there if at == node)
        if size <= free - held[node] or (size <= free and seconds <= found.start):
            there.append((node, size, float(seconds)))

    for node, size in enumerate(held):
        assert size + sum(each for at, each, end in there if at == node and end > found.start) <= CAPACITY


def test_without_known_ends_those_nodes_are_named_on_which_least_has_to_end() -> None:
    running = [(0, 8, inf), (1, 2, inf), (2, 6, inf)]
    need = Need(np.array([4]), 3, np.array([True] * NODES))
    assert plan(room_of(running), [need], NOW) == Plan(inf, ((1, 1, 2),))
