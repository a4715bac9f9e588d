"""Partitions: the nodes divided by the values of some labels, for the search for a group's topology domain.

Computed on first use, and again when a node object has changed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.ma  # np.unique imports it when it is first called: not in the middle of a decision
import numpy.typing as npt
from cachetools import LRUCache

from .labels import ABSENT
from .reader import SnapshotReader

Rows = npt.NDArray[np.intp]
Numbers = npt.NDArray[np.intp]
NONE = -1
"""The number of nodes that are in no domain."""
_KEPT = 64


class Partition:
    """The domains of one sequence of label keys, in the order of their values; without keys, all nodes are one.

    With `within`, nodes of other rows are in no domain.

    Attributes:
        keys: the label keys, the widest first.
        values: of each domain, its value of each key.
        numbers: intp, shape (height,): each row's domain; NONE where the node lacks a key or the row has no node.
        rows: of each domain, its rows, ascending.
    """

    __slots__ = ("_members", "_starts", "keys", "numbers", "rows", "values")

    def __init__(self, snapshot: SnapshotReader, keys: Sequence[str], within: Rows | None = None) -> None:
        live = snapshot.live_rows() if within is None else within
        self.keys = tuple(keys)
        self.numbers: Numbers = np.full(snapshot.height, NONE, np.intp)
        columns = [snapshot.labels.column(key) for key in keys]
        ids = [column.ids[live] for column in columns]
        inside = np.ones(len(live), np.bool_)
        codes = np.zeros(len(live), np.int64)
        for column, each in zip(columns, ids, strict=True):
            inside &= each != ABSENT
            if not inside.any():
                break
            _, codes = np.unique(codes * len(column.values) + each, return_inverse=True)
        _, first, which = np.unique(codes[inside], return_index=True, return_inverse=True)
        of_domains = [each[inside][first].tolist() for each in ids]
        named = [
            tuple(column.values[each[index]] for column, each in zip(columns, of_domains, strict=True))
            for index in range(len(first))
        ]
        order = sorted(range(len(named)), key=named.__getitem__)
        place = np.zeros(len(named), np.intp)
        place[order] = np.arange(len(named))
        self.values = [named[index] for index in order]
        members = live[inside]
        self.numbers[members] = place[which.reshape(-1)]
        by_domain = np.argsort(self.numbers[members], kind="stable")
        ends = np.cumsum(np.bincount(self.numbers[members], minlength=len(named)))[:-1]
        self._members = members[by_domain]
        self._starts = np.concatenate([np.zeros(min(1, len(named)), np.intp), ends])
        self.rows: list[Rows] = np.split(self._members, ends) if named else []

    def __len__(self) -> int:
        return len(self.values)

    def sums(self, columns: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Sums by domain over the last axis of columns of shape (n, height): int64, shape (n, domains)."""
        if not self.values:
            return np.zeros((len(columns), 0), np.int64)
        found: npt.NDArray[np.int64] = np.add.reduceat(columns[:, self._members], self._starts, axis=1)
        return found


class Partitions:
    """The partitions asked for last, each as the nodes are now; with `within`, of these rows, which must have nodes."""

    def __init__(self, snapshot: SnapshotReader, within: Rows | None = None) -> None:
        self._snapshot = snapshot
        self._within = within
        self._by_keys: LRUCache[tuple[str, ...], tuple[tuple[int, int], Partition]] = LRUCache(_KEPT)

    def of(self, keys: tuple[str, ...]) -> Partition:
        """The domains of these label keys, the widest first. The same object for as long as no node changes."""
        now = self._snapshot.node_journal.position, self._snapshot.layout
        known = self._by_keys.get(keys)
        if known is not None and known[0] == now:
            return known[1]
        partition = Partition(self._snapshot, keys, self._within)
        self._by_keys[keys] = now, partition
        return partition
