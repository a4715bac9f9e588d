"""How many feasible nodes are enough, when a profile does not ask for all of them."""

from __future__ import annotations

import numpy as np

from ..runtime.results import Filtered
from ..snapshot.view import Rows

MIN_FEASIBLE_NODES = 100
MIN_PERCENTAGE = 5


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
