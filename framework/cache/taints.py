"""Node taints as a column of interned taint sets: clusters have many nodes and few sets of taints."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ..model.node import Taint

TaintSet = tuple[Taint, ...]


class TaintColumn:
    """The taints of all rows.

    Attributes:
        ids: int32, shape (capacity,): an index into `sets`; 0 is the empty set.
        sets: the distinct taint sets in use or once used.
    """

    __slots__ = ("_id_of", "ids", "sets")

    def __init__(self, capacity: int) -> None:
        self.ids = np.zeros(capacity, np.int32)
        self.sets: list[TaintSet] = [()]
        self._id_of: dict[TaintSet, int] = {(): 0}

    def set(self, row: int, taints: TaintSet) -> None:
        """The node in `row` now has exactly these taints."""
        known = self._id_of.get(taints)
        if known is None:
            known = self._id_of[taints] = len(self.sets)
            self.sets.append(taints)
        self.ids[row] = known

    def measure(self, of: Callable[[TaintSet], int]) -> npt.NDArray[np.int64]:
        """int64, shape (sets,): `of` each set; index it with `ids`."""
        return np.fromiter((of(taints) for taints in self.sets), np.int64, len(self.sets))

    def grow(self, capacity: int) -> None:
        """Make room for `capacity` rows."""
        self.ids = np.concatenate([self.ids, np.zeros(capacity - len(self.ids), np.int32)])
