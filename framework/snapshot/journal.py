"""The journal of changed rows, from which caches of verdicts, scores and capacity know what to compute again.

The snapshot writes it, cached columns (`column_cache`) and plugins read it. One journal records changes of node
objects, another one also changes of the pods on a node.
"""

from __future__ import annotations

from enum import Enum
from typing import Protocol

import numpy as np
import numpy.typing as npt

_WHOLE_WHEN_OVER = 4
"""All rows count as changed when more than one in this many has changed: one long vector beats many short ones."""


class DependsOn(Enum):
    """The inputs of a plugin's verdict or score for a node, besides the pod's signature.

    A plugin that also reads the pod's name, namespace, labels or annotations, or volatile state of its own, is OBJECTS,
    or CLUSTER if pods on other nodes matter, too.
    """

    NODE = "node"
    """Only the node's object: labels, taints, allocatable, ..."""
    PODS_ON_NODE = "pods on node"
    """The node's object and the pods on it."""
    OBJECTS = "objects"
    """Anything but the pods on other nodes: other objects, or state of the plugin's own; never kept."""
    CLUSTER = "cluster"
    """Anything; never kept."""

    @property
    def kept(self) -> bool:
        """Whether verdicts and scores are kept for pods of one signature."""
        return self in (DependsOn.NODE, DependsOn.PODS_ON_NODE)


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


class HasRows(Protocol):
    """An object with rows: a snapshot. `live` is bool: whether a row, of those below `height`, is a node."""

    height: int
    live: npt.NDArray[np.bool_]


Changed = npt.NDArray[np.intp] | None
"""Rows that changed and are nodes still, in no particular order; None for all rows."""
NO_ROWS = np.zeros(0, np.intp)


class Changes:
    """The changes that one journal of a snapshot records, as cached columns need them.

    Each signature's columns follow the journal from a position of their own. Pods that are tried in turn ask for the
    same span of it, Filter and Score of one pod do, and so do signatures that wait: a span's rows are computed once.
    """

    __slots__ = ("_journal", "_last", "_snapshot", "_span")

    def __init__(self, snapshot: HasRows, journal: Journal) -> None:
        self._snapshot = snapshot
        self._journal = journal
        self._span = (-1, -1)
        self._last: Changed = None

    def since(self, position: int) -> Changed:
        """Rows changed at or after `position`; None for all: for too many, or when that is no longer known."""
        span = position, self._journal.position
        if span[0] == span[1]:
            return NO_ROWS
        if span != self._span:
            rows = self._journal.since(position)
            self._span, self._last = span, None
            if rows is not None and len(rows) * _WHOLE_WHEN_OVER <= self._snapshot.height:
                live = self._snapshot.live
                self._last = np.array([row for row in rows if live[row]], np.intp)
        return self._last
