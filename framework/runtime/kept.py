"""A kept column: what one plugin said of every node for one pod signature, brought up to date row by row.

Filter and score phases ask for it instead of asking the plugin. Between two pods of a scheduling class few rows change,
often the one that the first pod was assumed on, so the plugin is asked about that row only.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from typing import Any

import numpy as np
import numpy.typing as npt

from ..snapshot.journal import Journal
from ..snapshot.snapshot import Snapshot
from ..snapshot.view import NodeView

Column = npt.NDArray[Any]
Compute = Callable[[NodeView], Column]
_WHOLE_WHEN_OVER = 4
"""A column is computed whole when more than one row in this many has changed: one long vector beats many short ones."""


class KeptColumn:
    """One plugin's answers for one signature on every row, as of a position of a journal.

    Attributes:
        version: grows whenever answers were computed again.
        changed: the rows of the answers that were computed again last; None when it was all of them.
    """

    __slots__ = ("_epoch", "_position", "_values", "changed", "version")

    def __init__(self, dtype: type[np.generic]) -> None:
        self.version = 0
        self.changed: Collection[int] | None = None
        self._values: Column = np.zeros(0, dtype)
        self._position = -1
        self._epoch: Hashable = None

    def refresh(self, snapshot: Snapshot, journal: Journal, compute: Compute, epoch: Hashable = None) -> Column:
        """Shape (height,): the answers as of now. `compute` is asked about the rows that changed, or about all."""
        height = snapshot.height
        if len(self._values) < height:
            self._values = np.zeros(len(snapshot.live), self._values.dtype)
            self._position = -1
        position = journal.position
        if position != self._position or epoch != self._epoch:
            changed = journal.since(self._position) if self._position >= 0 and epoch == self._epoch else None
            if changed is None or len(changed) * _WHOLE_WHEN_OVER > height:
                changed = None
                self._values[:height] = compute(NodeView(snapshot, None))
            elif changed:
                rows = np.fromiter(changed, np.intp, len(changed))
                self._values[rows] = compute(NodeView(snapshot, rows))
            self.changed = changed
            self.version += 1
            self._position = position
            self._epoch = epoch
        return self._values[:height]
