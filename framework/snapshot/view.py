"""A view of some rows of the snapshot: the nodes that plugins are asked about.

The runtime creates views; vector plugins read columns through them, per-node plugins iterate over them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from ..model.node import Node
from ..model.pod_info import PodInfo
from .reader import SnapshotReader

Scalar = TypeVar("Scalar", bound=np.generic)
Rows = npt.NDArray[np.intp]


class NodeView:
    """Some rows of a snapshot, in a fixed order.

    Attributes:
        snapshot: what the rows belong to.
        rows: intp, shape (nodes,), the rows; None stands for every row below the snapshot's height, free rows included,
            which is what kept verdicts and scores are computed over.
        within: the index for the last axis of a column; a slice, which copies nothing, wherever one will do.
    """

    __slots__ = ("rows", "snapshot", "within")

    def __init__(self, snapshot: SnapshotReader, rows: Rows | None) -> None:
        self.snapshot = snapshot
        self.rows = rows
        self.within: slice | Rows
        if rows is None:
            self.within = slice(snapshot.height)
        elif len(rows) == 1:
            row = int(rows[0])
            self.within = slice(row, row + 1)
        else:
            self.within = rows

    @classmethod
    def ascending(cls, snapshot: SnapshotReader, rows: Rows) -> NodeView:
        """A view of distinct rows in ascending order; one that copies nothing where they are all that there are."""
        return cls(snapshot, None if len(rows) == snapshot.height else rows)

    def __len__(self) -> int:
        return self.snapshot.height if self.rows is None else len(self.rows)

    def __iter__(self) -> Iterator[NodeInfo]:
        for row in self.indices().tolist():
            yield NodeInfo(self.snapshot, row)

    def indices(self) -> Rows:
        """intp, shape (nodes,): the rows, spelled out."""
        return np.arange(self.snapshot.height) if self.rows is None else self.rows

    def of(self, column: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
        """The part of a column of shape (capacity,) or (n, capacity). Not to be written: it may share its memory."""
        part = column[..., self.within]
        part.flags.writeable = False
        return part

    def mask_of(self, rows: Collection[int]) -> npt.NDArray[np.bool_]:
        """bool, shape (nodes,): which nodes of the view are among `rows`."""
        hit = np.zeros(len(self.snapshot.live), np.bool_)
        hit[np.fromiter(rows, np.intp, len(rows))] = True
        return self.of(hit)

    def names(self) -> list[str]:
        """Names of the nodes."""
        names = self.snapshot.names
        return [names[row] for row in self.indices().tolist()]


class NodeInfo:
    """One node: its object, the pods on it and its resources."""

    __slots__ = ("_row", "_snapshot")

    def __init__(self, snapshot: SnapshotReader, row: int) -> None:
        self._snapshot = snapshot
        self._row = row

    @property
    def name(self) -> str:
        """The node's name."""
        return self._snapshot.names[self._row]

    @property
    def node(self) -> Node:
        """The node's object. Raises LookupError once the node is gone; plugins are asked only about existing nodes."""
        node = self._snapshot.nodes[self._row]
        if node is None:
            raise LookupError(f"node {self.name} is not known any more")
        return node

    @property
    def labels(self) -> Mapping[str, str]:
        """The node's labels."""
        return MappingProxyType(self.node.metadata.labels)

    @property
    def pods(self) -> Mapping[str, PodInfo]:
        """Pods on it by UID, assumed ones included."""
        return MappingProxyType(self._snapshot.pods[self._row])

    def allocatable(self, resource: str) -> int:
        """The amount that the node offers: milli-cores for cpu, whole units otherwise."""
        resources = self._snapshot.resources
        return resources.amount(resources.allocatable, resource, self._row)

    def requested(self, resource: str) -> int:
        """The amount that its pods request, in the same units."""
        resources = self._snapshot.resources
        return resources.amount(resources.requested, resource, self._row)
