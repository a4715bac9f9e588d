"""Which of its feasible nodes a pod gets: how many are enough, where the search starts, and which of equals is taken.

`Algorithm` calls it, and `Consultations` for the nodes that are sent to extenders. A recording keeps the choices.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..model.pod_info import PodInfo
from ..runtime.results import Filtered, Scored
from ..snapshot.view import Rows

MIN_FEASIBLE_NODES = 100
MIN_PERCENTAGE = 5
_DRAWS = 3

Choose = Callable[[int], int]
"""`(n) -> 0 … n - 1`: one of n equals."""
Pick = Callable[[PodInfo, Rows, Scored, Choose], int]
"""The position of the node that a pod gets, among rows with these scores."""


def feasible_nodes_to_find(nodes: int, percentage: int | None) -> int:
    """kube-scheduler's numFeasibleNodesToFind; `percentage` None means all nodes, 0 the share it adapts to the size."""
    if percentage is None or nodes < MIN_FEASIBLE_NODES:
        return nodes
    share = percentage or max(MIN_PERCENTAGE, 50 - nodes // 125)
    return max(MIN_FEASIBLE_NODES, nodes * share // 100)


def first_from(start: int, filtered: Filtered, wanted: int) -> tuple[Rows, int]:
    """The first `wanted` feasible rows of the node list counted from position `start`, and where the search ended.

    A search begins where the last one ended, so that all nodes get their turn over many searches.
    """
    order = np.roll(filtered.listed, -(start % len(filtered.listed)))
    hits = np.flatnonzero(np.isin(order, filtered.feasible))
    examined = len(order) if len(hits) < wanted else int(hits[wanted - 1]) + 1
    return np.sort(order[hits[:wanted]]), (start + examined) % len(order)


def pick_best(pod: PodInfo, rows: Rows, scored: Scored, choose: Choose) -> int:
    """The position of the highest total; of several, each with the same chance.

    If many are equal, as on an empty cluster, a position drawn from all is likely to be among them, with the same odds.
    """
    totals = scored.totals
    best = totals[totals.argmax()]
    for _ in range(_DRAWS):
        drawn = choose(len(totals))
        if totals[drawn] == best:
            return drawn
    equals = np.flatnonzero(totals == best)
    return int(equals[choose(len(equals)) if len(equals) > 1 else 0])
