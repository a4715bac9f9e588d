"""The journal of changed rows, from which caches of verdicts and scores know what to compute again.

The snapshot writes it, the runtime's caches read it. One journal records changes of node objects, another one also
changes of the pods on a node.
"""

from __future__ import annotations

from enum import Enum


class DependsOn(Enum):
    """The inputs of a plugin's verdict or score for a node, besides the pod's shape (its spec, less its node).

    A plugin that also reads the pod's name, namespace, labels or annotations, or volatile state of its own, is CLUSTER.
    """

    NODE = "node"
    """Only the node's object: labels, taints, allocatable, ..."""
    PODS_ON_NODE = "pods on node"
    """The node's object and the pods on it."""
    CLUSTER = "cluster"
    """Anything; never kept."""


class Journal:
    """Rows in the order they changed, with positions that stay valid when old entries are dropped.

    Attributes:
        position: where the next change will be written.
    """

    __slots__ = ("_base", "_limit", "_rows", "position")

    def __init__(self, limit: int = 8192) -> None:
        self._rows: list[int] = []
        self._base = 0
        self.position = 0
        self._limit = limit

    def record(self, row: int) -> None:
        """`row` has changed."""
        self._rows.append(row)
        self.position += 1
        if len(self._rows) > self._limit:
            dropped = self._limit // 2
            del self._rows[:dropped]
            self._base += dropped

    def since(self, position: int) -> set[int] | None:
        """Rows changed at or after `position`; None when that is no longer known and everything may have changed."""
        if position < self._base:
            return None
        return set(self._rows[position - self._base :])
