"""Domains: nodes with the same value of a label, and the sums of a tally over them.

Plugins that compare zones or hosts read them. They are updated with every pod, and recomputed when a node object has
changed.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from .journal import Journal
from .labels import ABSENT, LabelColumns

Mask = npt.NDArray[np.bool_]
Sums = npt.NDArray[np.int64]
ScalarT = TypeVar("ScalarT", bound=np.generic)


def zeros(size: int, kind: type[ScalarT]) -> npt.NDArray[ScalarT]:
    """`size` zeros of a kind, which take the memory of one and cannot be written to."""
    return np.broadcast_to(kind(), size)


class Nodes(Protocol):
    """All nodes of the snapshot."""

    @property
    def height(self) -> int:
        """Rows ever used."""
        ...

    @property
    def labels(self) -> LabelColumns:
        """Their labels."""
        ...

    @property
    def node_journal(self) -> Journal:
        """Rows whose node object changed."""
        ...


class Subset(Protocol):
    """Some of the nodes, by what their objects say. Identity is equality."""

    def mask(self) -> Mask:
        """bool, shape (height,): which rows belong to it, as of now."""
        ...


class RowCounts(Protocol):
    """Something that is counted on each row."""

    @property
    def counts(self) -> npt.NDArray[np.int32]:
        """int32, shape (capacity,)."""
        ...

    @property
    def traits(self) -> int:
        """How many kinds of things are counted; 0 if all counts are zero."""
        ...


class Domains:
    """The domains of one label key over a subset of the nodes, with the sums of one count.

    All arrays have shape (values,) and are indexed by the ids of the key's label column. Index 0 stands for nodes
    without the key, which are in no domain: it is always 0 there.

    Attributes:
        sums: int64, the sum of the counts over the domain.
        nodes: int64, how many nodes are in it; 0 for a value that no node of the subset has.
    """

    __slots__ = ("_counted", "_key", "_mask", "_position", "_snapshot", "nodes", "sums")

    def __init__(self, snapshot: Nodes, counted: RowCounts, key: str) -> None:
        self._snapshot = snapshot
        self._counted = counted
        self._key = key
        self._mask: Mask | None = None
        self._position = -1
        self.sums: Sums = np.zeros(1, np.int64)
        self.nodes: Sums = np.zeros(1, np.int64)

    @property
    def ids(self) -> npt.NDArray[np.int32]:
        """int32, shape (capacity,): each row's domain, 0 for none."""
        return self._snapshot.labels.column(self._key).ids

    def refresh(self, subset: Subset | None) -> None:
        """Bring it up to date with the nodes; `subset` is the same at every call."""
        position = self._snapshot.node_journal.position
        if position != self._position:
            self._position = position
            self._work_out(subset)

    def change(self, row: int, amount: int) -> None:
        """The count of `row` has grown by `amount`."""
        if self._position != self._snapshot.node_journal.position:
            return
        domain = self.ids[row]
        if domain != ABSENT and (self._mask is None or (row < len(self._mask) and self._mask[row])):
            self.sums[domain] += amount

    def _work_out(self, subset: Subset | None) -> None:
        snapshot = self._snapshot
        column = snapshot.labels.column(self._key)
        self._mask = None if subset is None else subset.mask()
        inside = slice(snapshot.height) if self._mask is None else np.flatnonzero(self._mask)
        self.nodes = column.rows_with() if self._mask is None else column.count_of(column.ids[inside])
        if self._counted.traits:
            self.sums = column.count_of(column.ids[inside], self._counted.counts[inside])
        else:
            self.sums = zeros(len(column.values), np.int64)
