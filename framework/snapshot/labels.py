"""Node labels as columns of interned values, so that a selector is evaluated once per value and not once per node.

The snapshot writes them; NodeAffinity and the spreading plugins read them.
"""

from __future__ import annotations

from collections.abc import Callable, KeysView, Mapping
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from ..model.alternatives import Alternatives
from ..model.quantity import integer

ABSENT = 0
_COLUMN_FROM = 16
"""A key that one row in so many has is kept as a column: that takes 4 bytes a row, and rows some hundred a holder."""
_ROWS_BELOW = 64
"""A column of which less than one row in so many is left becomes rows again."""

Numbers = npt.NDArray[np.int64]


class LabelColumn:
    """The values of one label key on all rows.

    Attributes:
        ids: int32, shape (capacity,): an index into `values`; ABSENT (0) where the node lacks the key.
        values: the distinct values seen; `values[0]` is a placeholder.
        count: how many rows have the key.
    """

    __slots__ = ("_id_of", "_numbers", "_rows_with", "count", "ids", "values")

    def __init__(self, capacity: int) -> None:
        self.ids = np.zeros(capacity, np.int32)
        self.values: list[str] = [""]
        self.count = 0
        self._id_of: dict[str, int] = {}
        self._numbers: tuple[Numbers, npt.NDArray[np.bool_]] | None = None
        self._rows_with: Numbers | None = None

    def set(self, row: int, value: str | None) -> None:
        """The node in `row` now has `value`, or lacks the key when it is None."""
        if len(self.values) > 2 * len(self.ids) + 1:
            self._forget_unused()
        self.count += (value is not None) - int(self.ids[row] != ABSENT)
        self.ids[row] = ABSENT if value is None else self._intern(value)
        self._rows_with = None

    def id_of(self, value: str) -> int:
        """The id of `value`; -1, which no row has, when no node ever had it."""
        return self._id_of.get(value, -1)

    def numbers(self) -> tuple[Numbers, npt.NDArray[np.bool_]]:
        """The values as integers, and which of them are some; both of shape (values,). Each is parsed once."""
        known = self._numbers
        if known is None or len(known[0]) != len(self.values):
            parsed = 0 if known is None else len(known[0])
            fresh = [integer(value) for value in self.values[parsed:]]
            numbers = np.array([number or 0 for number in fresh], np.int64)
            valid = np.array([number is not None for number in fresh], np.bool_)
            if known is not None:
                numbers, valid = np.concatenate([known[0], numbers]), np.concatenate([known[1], valid])
            self._numbers = numbers, valid
            return numbers, valid
        return known

    def rows_with(self) -> Numbers:
        """int64, shape (values,): how many rows have each value, and 0 for ABSENT. Not to be written to."""
        if self._rows_with is None:
            self._rows_with = self.count_of(self.ids)
        return self._rows_with

    def count_of(self, ids: npt.NDArray[np.int32], weights: npt.NDArray[np.int32] | None = None) -> Numbers:
        """int64, shape (values,): how often each value is among `ids`, or the sum of its weights; 0 for ABSENT."""
        found = np.bincount(ids, weights, minlength=len(self.values)).astype(np.int64)
        found[ABSENT] = 0
        return found

    def where(self, accepts: Callable[[str], bool], *, absent: bool) -> npt.NDArray[np.bool_]:
        """bool, shape (values,): a table to be indexed with `ids`; `absent` is the answer for nodes without the key."""
        table = np.fromiter((accepts(value) for value in self.values), np.bool_, len(self.values))
        table[ABSENT] = absent
        return table

    def grow(self, capacity: int) -> None:
        """Grow the columns to `capacity` rows."""
        self.ids = np.concatenate([self.ids, np.zeros(capacity - len(self.ids), np.int32)])

    def _forget_unused(self) -> None:
        """Renumber the values in use: every node that was ever added brought a hostname of its own."""
        used, ids = np.unique(self.ids, return_inverse=True)
        kept = [self.values[number] for number in used.tolist()]
        if used[0] != ABSENT:
            kept.insert(ABSENT, "")
            ids += 1
        self.ids = ids.astype(np.int32)
        self.values = kept
        self._id_of = {value: number for number, value in enumerate(kept) if number != ABSENT}
        self._numbers = None

    def _intern(self, value: str) -> int:
        known = self._id_of.get(value)
        if known is None:
            known = self._id_of[value] = len(self.values)
            self.values.append(value)
        return known


class LabelColumns:
    """The labels of all nodes by key.

    A key that many nodes have is kept as a column, one that few have as rows, so that the whole takes no more memory
    than the labels themselves. What pods ask for takes none.

    Attributes:
        remembered: by what very many terms pick together: which rows those are, as of a position of the node journal.
    """

    __slots__ = ("_by_key", "_capacity", "_empty", "_labels", "remembered")

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._by_key: dict[str, LabelColumn | dict[int, str]] = {}
        self._labels: dict[int, Mapping[str, str]] = {}
        self._empty = LabelColumn(capacity)
        self.remembered: WeakKeyDictionary[Alternatives, tuple[int, npt.NDArray[np.bool_]]] = WeakKeyDictionary()

    def set(self, row: int, labels: Mapping[str, str]) -> None:
        """The node in `row` now has exactly these labels."""
        before = self._labels.pop(row, {})
        if labels:
            self._labels[row] = labels
        for key in before:
            if key not in labels:
                self._take(key, row)
        for key, value in labels.items():
            if before.get(key) != value:
                self._put(key, row, value)

    @property
    def keys(self) -> KeysView[str]:
        """The keys that a node has."""
        return self._by_key.keys()

    def column(self, key: str) -> LabelColumn:
        """The column of `key` as things are now; not to be kept, and not to be written to."""
        found = self._by_key.get(key)
        if found is None:
            return self._empty
        if isinstance(found, LabelColumn):
            return found
        return _column_of(found, self._capacity)

    def grow(self, capacity: int) -> None:
        """Grow the columns to `capacity` rows."""
        self._capacity = capacity
        self._empty.grow(capacity)
        for column in self._by_key.values():
            if isinstance(column, LabelColumn):
                column.grow(capacity)

    def _put(self, key: str, row: int, value: str) -> None:
        holders = self._by_key.setdefault(key, {})
        if isinstance(holders, LabelColumn):
            holders.set(row, value)
            return
        holders[row] = value
        if len(holders) * _COLUMN_FROM >= self._capacity:
            self._by_key[key] = _column_of(holders, self._capacity)

    def _take(self, key: str, row: int) -> None:
        holders = self._by_key[key]
        if isinstance(holders, dict):
            del holders[row]
            if not holders:
                del self._by_key[key]
            return
        holders.set(row, None)
        if holders.count * _ROWS_BELOW < self._capacity:
            rows = np.flatnonzero(holders.ids).tolist()
            if rows:
                self._by_key[key] = {row: holders.values[holders.ids[row]] for row in rows}
            else:
                del self._by_key[key]


def _column_of(holders: Mapping[int, str], capacity: int) -> LabelColumn:
    column = LabelColumn(capacity)
    for row, value in holders.items():
        column.set(row, value)
    return column
