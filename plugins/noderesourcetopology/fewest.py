"""LeastNUMANodes: scores a node by how few zones the pod would need there, and by how near they are to each other.

Of the sets of zones of the smallest size that has room, the one with the smallest mean distance counts; a node where no
set of that size would be nearer gets half a step more. The figures are those of scheduler-plugins.
"""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np

from muster.framework.contract import MAX_NODE_SCORE, Mask, Scores

from .alignment import MOST_SETS, Chosen, take
from .demand import Amounts, ZoneDemand
from .zones import UNKNOWN_COST, Column, Zones


def by_fewest(zones: Zones, costs: Column, demand: ZoneDemand, *, whole: bool) -> Scores:
    """int64, shape (nodes,): the score of each node; `whole` for the pod as one.

    `costs` are the distances of zones, int64, shape (zones, zones, nodes).
    """
    most = np.zeros(zones.count, np.int64)
    nearest = np.ones(zones.count, np.bool_)
    fits = np.ones(zones.count, np.bool_)
    requests = (demand.together,) if whole else tuple(each.requests for each in demand.containers)
    for request in requests:
        concerned = fits & _in_zones(zones, request)
        size, is_nearest, chosen = _smallest(zones, costs, request, concerned)
        fits &= ~concerned | (size > 0)
        nearest &= ~concerned | is_nearest
        most = np.maximum(most, np.where(concerned, size, 0))
        take(zones, request, chosen)
    step = MAX_NODE_SCORE // zones.most_zones
    scores = MAX_NODE_SCORE - most * step + np.where(nearest, step // 2, 0)
    return np.where(fits, np.where(most == 0, MAX_NODE_SCORE, scores), 0)


def _in_zones(zones: Zones, request: Amounts) -> Mask:
    """bool, shape (nodes,): whether any zone has any of the resources."""
    found = np.zeros(zones.count, np.bool_)
    for name in request:
        if name in zones.has:
            found |= zones.has[name].any(axis=0)
    return found


def _smallest(zones: Zones, costs: Column, request: Amounts, concerned: Mask) -> tuple[Column, Mask, Chosen]:
    """By node the size of the smallest set with room, 0 for none; whether none is nearer; and the set itself."""
    size = np.zeros(zones.count, np.int64)
    is_nearest = np.zeros(zones.count, np.bool_)
    chosen = np.zeros(zones.exists.shape, np.bool_)
    eligible = zones.exists.copy()
    for name in request:
        eligible &= zones.has.get(name, np.zeros(zones.exists.shape, np.bool_))
    for count in range(1, zones.height + 1):
        searched = concerned & (size == 0)
        if not searched.any() or comb(zones.height, count) > MOST_SETS:
            break
        sets = [list(members) for members in combinations(range(zones.height), count)]
        distances = [_distance(zones, costs, members) for members in sets]
        least = np.minimum(np.min(distances, axis=0), UNKNOWN_COST * count**2)
        best = np.full(zones.count, (UNKNOWN_COST + 1) * count**2, np.int64)
        for members, distance in zip(sets, distances, strict=True):
            fits = searched & eligible[members].all(axis=0) & (distance < best) & (best > least)
            for name, n in request.items():
                if n and name in zones.free:
                    fits &= zones.free[name][members].sum(axis=0) >= n
            best = np.where(fits, distance, best)
            size = np.where(fits, count, size)
            is_nearest = np.where(fits, distance == least, is_nearest)
            chosen[:, fits] = False
            chosen[members] |= fits
    return size, is_nearest, chosen


def _distance(zones: Zones, costs: Column, members: list[int]) -> Column:
    """int64, shape (nodes,): the sum of the distances within the set; beyond all others where a zone does not exist."""
    sums: Column = costs[members][:, members].sum(axis=(0, 1))
    return np.where(zones.exists[members].all(axis=0), sums, np.iinfo(np.int64).max)
