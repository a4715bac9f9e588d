"""Nodes that pass: the joint verdict of the Filter plugins that judge a node by itself, kept from pod to pod.

The filter phase keeps one for each signature. Where a pod was assumed, the joint verdict is looked at again for that
row only, and the list of passing nodes is made anew only when the answer for some row is another one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..contract.verdicts import Codes, Mask
from ..snapshot.snapshot import Snapshot
from ..snapshot.view import Rows

_WHOLE_WHEN_OVER = 16
"""More changed rows than this are not looked at one by one."""


class Passing:
    """Live rows with verdict 0 from every one of some plugins.

    Attributes:
        mask: bool, shape (height,). Must not be written to.
        rows: intp: where `mask` is true, ascending. The same array for as long as it is right.
    """

    __slots__ = ("_position", "mask", "rows")

    def __init__(self) -> None:
        self.mask: Mask = np.zeros(0, np.bool_)
        self.rows: Rows = np.zeros(0, np.intp)
        self._position = -1

    def refresh(self, snapshot: Snapshot, codes: Sequence[Codes]) -> None:
        """Bring it up to date with `codes`: for each plugin int32, shape (height,), as of now."""
        journal = snapshot.usage_journal
        if journal.position == self._position:
            return
        changed = journal.since(self._position) if self._position >= 0 else None
        self._position = journal.position
        if changed is None or len(changed) > _WHOLE_WHEN_OVER or len(self.mask) != snapshot.height:
            self._look_at_all(snapshot, codes)
            return
        before = self.mask
        now = {row: bool(snapshot.live[row]) and not any(verdicts[row] for verdicts in codes) for row in changed}
        if any(before[row] != passes for row, passes in now.items()):
            self.mask = before.copy()
            for row, passes in now.items():
                self.mask[row] = passes
            self.rows = np.flatnonzero(self.mask)

    def _look_at_all(self, snapshot: Snapshot, codes: Sequence[Codes]) -> None:
        mask = snapshot.live[: snapshot.height].copy()
        for verdicts in codes:
            mask &= verdicts == 0
        self.mask = mask
        self.rows = np.flatnonzero(mask)
