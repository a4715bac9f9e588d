"""Random pods that run on nodes of one size, and random pods that come while capacity is reserved there."""

from collections.abc import Sequence
from math import inf

import numpy as np
from hypothesis import strategies as st

from muster.plugins.reservation.packing import EventualCapacity, Need
from muster.plugins.reservation.plan import CapacityTimeline

NODES, CAPACITY, NOW = 4, 8, 0.0
Running = tuple[int, int, float]
"""A pod that runs: its node, its size, and when it ends."""


@st.composite
def running_pods(draw: st.DrawFn) -> list[Running]:
    """Pods that fit on the nodes together."""
    used, running = [0] * NODES, []
    ends = st.one_of(st.integers(1, 20).map(float), st.just(inf))
    for node, size, end in draw(st.lists(st.tuples(st.integers(0, NODES - 1), st.integers(1, 5), ends), max_size=8)):
        if used[node] + size <= CAPACITY:
            used[node] += size
            running.append((node, size, end))
    return running


def timeline_of(running: list[Running]) -> CapacityTimeline:
    free, open_ended = np.full((NODES, 1), CAPACITY), np.zeros((NODES, 1), np.int64)
    for node, size, end in running:
        free[node] -= size
        if end == inf:
            open_ended[node] += size
    ending = sorted((each for each in running if each[2] < inf), key=lambda each: each[2])
    return CapacityTimeline(
        free,
        np.array([end for *_, end in ending], np.float64),
        np.array([node for node, *_ in ending], np.intp),
        np.array([[size] for _, size, _ in ending], np.int64).reshape(-1, 1),
        EventualCapacity(open_ended, np.zeros_like(open_ended), np.zeros(NODES, np.bool_)),
    )


@st.composite
def needs(draw: st.DrawFn, most: int = 2) -> list[Need]:
    nodes = st.lists(st.booleans(), min_size=NODES, max_size=NODES).map(np.array)
    one = st.builds(Need, st.integers(1, CAPACITY).map(lambda n: np.array([n])), st.integers(1, 6), nodes)
    return draw(st.lists(one, min_size=1, max_size=most))


newcomers = st.lists(st.tuples(st.integers(0, NODES - 1), st.integers(1, 4), st.integers(1, 30)), max_size=8)
"""Pods that come later: the node that each would take, its size, and when it ends."""


def stay(
    running: Sequence[Running], coming: Sequence[tuple[int, int, int]], reserved: Sequence[int], start: float
) -> list[int]:
    """What each node still has on it at the start, when those were let in that the rule of `ReservationBook` lets in.

    Newcomers fit beyond what is reserved, or end before it is needed. Without a start all running pods have ended.
    """
    there = [*running]
    for node, size, seconds in coming:
        free = CAPACITY - sum(each for at, each, _ in there if at == node)
        if size <= free - reserved[node] or (size <= free and seconds <= start):
            there.append((node, size, float(seconds)))
    return [sum(size for at, size, end in there if at == node and end > start) for node in range(NODES)]
