"""Node taints as a column of interned taint sets: clusters have many nodes and few sets of taints."""

from __future__ import annotations

import numpy as np

from ..model.node import Taint

TaintSet = tuple[Taint, ...]


class TaintColumn:
    """The taints of all rows.

    Attributes:
        ids: int32, shape (capacity,): an index into `sets`; 0 is the empty set.
        sets: the distinct taint sets in use or lately used.
        epoch: grows when the sets are numbered afresh; until then each keeps its index.
    """

    __slots__ = ("_id_of", "epoch", "ids", "sets")

    def __init__(self, capacity: int) -> None:
        self.ids = np.zeros(capacity, np.int32)
        self.sets: list[TaintSet] = [()]
        self.epoch = 0
        self._id_of: dict[TaintSet, int] = {(): 0}

    def set(self, row: int, taints: TaintSet) -> None:
        """The node in `row` now has exactly these taints."""
        if len(self.sets) > 2 * len(self.ids) + 1:
            self._forget_unused()
        known = self._id_of.get(taints)
        if known is None:
            known = self._id_of[taints] = len(self.sets)
            self.sets.append(taints)
        self.ids[row] = known

    def grow(self, capacity: int) -> None:
        """Make room for `capacity` rows."""
        self.ids = np.concatenate([self.ids, np.zeros(capacity - len(self.ids), np.int32)])

    def _forget_unused(self) -> None:
        """Number the sets in use afresh: a cluster autoscaler writes the time into a taint, again and again."""
        used, ids = np.unique(self.ids, return_inverse=True)
        kept = [self.sets[number] for number in used.tolist()]
        if used[0] != 0:
            kept.insert(0, ())
            ids += 1
        self.ids = ids.astype(np.int32)
        self.sets = kept
        self._id_of = {taints: number for number, taints in enumerate(kept)}
        self.epoch += 1
