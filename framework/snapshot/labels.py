"""Node labels as columns of interned values, so that a selector is decided once a value and not once a node.

The snapshot feeds it; NodeAffinity and the spreading plugins ask it. A key gets a column when it is first asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np
import numpy.typing as npt

ABSENT = 0


class LabelColumn:
    """The values of one label key on all rows.

    Attributes:
        ids: int32, shape (capacity,): an index into `values`; ABSENT (0) where the node lacks the key.
        values: the distinct values seen; `values[0]` is a placeholder.
    """

    __slots__ = ("_id_of", "ids", "values")

    def __init__(self, capacity: int) -> None:
        self.ids = np.zeros(capacity, np.int32)
        self.values: list[str] = [""]
        self._id_of: dict[str, int] = {}

    def set(self, row: int, value: str | None) -> None:
        """The node in `row` now has `value`, or lacks the key when it is None."""
        if len(self.values) > 2 * len(self.ids) + 1:
            self._forget_unused()
        self.ids[row] = ABSENT if value is None else self._intern(value)

    def id_of(self, value: str) -> int:
        """The id of `value`; -1, which no row has, when no node ever had it."""
        return self._id_of.get(value, -1)

    def where(self, accepts: Callable[[str], bool], *, absent: bool) -> npt.NDArray[np.bool_]:
        """bool, shape (values,): a table to be indexed with `ids`; `absent` is the answer for nodes without the key."""
        table = np.fromiter((accepts(value) for value in self.values), np.bool_, len(self.values))
        table[ABSENT] = absent
        return table

    def grow(self, capacity: int) -> None:
        """Make room for `capacity` rows."""
        self.ids = np.concatenate([self.ids, np.zeros(capacity - len(self.ids), np.int32)])

    def _forget_unused(self) -> None:
        """Number the values in use afresh: nodes come and go, and each brought a hostname of its own."""
        used, ids = np.unique(self.ids, return_inverse=True)
        kept = [self.values[number] for number in used.tolist()]
        if used[0] != ABSENT:
            kept.insert(ABSENT, "")
            ids += 1
        self.ids = ids.astype(np.int32)
        self.values = kept
        self._id_of = {value: number for number, value in enumerate(kept) if number != ABSENT}

    def _intern(self, value: str) -> int:
        known = self._id_of.get(value)
        if known is None:
            known = self._id_of[value] = len(self.values)
            self.values.append(value)
        return known


class LabelColumns:
    """All label columns that were ever asked for."""

    __slots__ = ("_capacity", "_columns", "_labels")

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._columns: dict[str, LabelColumn] = {}
        self._labels: dict[int, Mapping[str, str]] = {}

    def set(self, row: int, labels: Mapping[str, str]) -> None:
        """The node in `row` now has exactly these labels."""
        if labels:
            self._labels[row] = labels
        else:
            self._labels.pop(row, None)
        for key, column in self._columns.items():
            column.set(row, labels.get(key))

    @property
    def keys(self) -> Iterable[str]:
        """The keys that have a column."""
        return self._columns.keys()

    def column(self, key: str) -> LabelColumn:
        """The column of `key`."""
        column = self._columns.get(key)
        if column is None:
            column = self._columns[key] = LabelColumn(self._capacity)
            for row, labels in self._labels.items():
                if key in labels:
                    column.set(row, labels[key])
        return column

    def grow(self, capacity: int) -> None:
        """Make room for `capacity` rows."""
        self._capacity = capacity
        for column in self._columns.values():
            column.grow(capacity)
