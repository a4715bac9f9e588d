"""How many feasible nodes are enough, when a profile does not ask for all of them."""

from __future__ import annotations

import numpy as np

from ..contract.verdicts import Mask
from ..snapshot.view import Rows

MIN_FEASIBLE_NODES = 100
MIN_PERCENTAGE = 5


def feasible_nodes_to_find(nodes: int, percentage: int | None) -> int:
    """kube-scheduler's numFeasibleNodesToFind; `percentage` None means all nodes, 0 the share it adapts to the size."""
    if percentage is None or nodes < MIN_FEASIBLE_NODES:
        return nodes
    share = percentage or max(MIN_PERCENTAGE, 50 - nodes // 125)
    return max(MIN_FEASIBLE_NODES, nodes * share // 100)


class Rotation:
    """Where in the node list the search begins, so that all nodes get their turn over many searches."""

    def __init__(self) -> None:
        self._start = 0

    def first(self, passing: Mask, listed: Rows, wanted: int) -> Rows:
        """The first `wanted` listed rows that pass, counted from where the last search ended, ascending.

        Args:
            passing: bool, shape (height,).
            listed: intp, the node list.
            wanted: how many are enough.
        """
        nodes = len(listed)
        if not nodes:
            return listed
        order = np.roll(listed, -(self._start % nodes))
        hits = np.flatnonzero(passing[order])
        examined = nodes if len(hits) < wanted else int(hits[wanted - 1]) + 1
        self._start = (self._start + examined) % nodes
        return np.sort(order[hits[:wanted]])
