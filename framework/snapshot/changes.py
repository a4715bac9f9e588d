"""The rows that changed since a position of a journal, as caches by pod signature need them.

Caches of verdicts and scores (`runtime.results_cache`) and of groups' capacity (`scheduler.group_capacity`) follow a
snapshot by the positions of its journals, one for each signature. Pods that are tried in turn ask for the same span of
a journal, Filter and Score of one pod do, and so do signatures that wait: the rows of a span are computed once.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from .journal import Journal


class HasRows(Protocol):
    """Whatever has rows: a snapshot. `live` is bool: whether a row is a node."""

    live: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ChangedRows:
    """Rows that changed.

    Attributes:
        rows: all of them.
        live: intp: those that are nodes still, in no particular order.
    """

    rows: Collection[int]
    live: npt.NDArray[np.intp]


NO_ROWS = ChangedRows((), np.zeros(0, np.intp))


class Changes:
    """The changes that one journal of a snapshot records."""

    __slots__ = ("_journal", "_last", "_snapshot", "_span")

    def __init__(self, snapshot: HasRows, journal: Journal) -> None:
        self._snapshot = snapshot
        self._journal = journal
        self._span = (-1, -1)
        self._last: ChangedRows | None = None

    def since(self, position: int) -> ChangedRows | None:
        """Rows changed at or after `position`; None when that is no longer known and everything may have changed."""
        span = position, self._journal.position
        if span[0] == span[1]:
            return NO_ROWS
        if span != self._span:
            rows = self._journal.since(position)
            self._span, self._last = span, None
            if rows is not None:
                live = self._snapshot.live
                self._last = ChangedRows(rows, np.array([row for row in rows if live[row]], np.intp))
        return self._last
