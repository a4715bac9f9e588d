"""What the filter and score phases keep from pod to pod, by pod shape.

Pods of one scheduling class share a `PodShape`, so the second pod of a class costs only the rows that changed since the
first. A plugin takes part by declaring a locality other than CLUSTER.
"""

from __future__ import annotations

import numpy as np
from cachetools import LRUCache

from ..cache.journal import Journal, Locality
from ..cache.snapshot import Snapshot
from ..model.pod_info import PodShape
from .kept import KeptColumn
from .passing import Passing
from .ranking import Ranking


class ShapeMemo:
    """What is kept for one shape.

    Attributes:
        codes: verdicts by plugin name.
        scores: raw scores by plugin name.
        passing: joint verdicts, by the names of the plugins that were asked.
        ranking: the weighted scores of the last ranking, with the names of the plugins behind it.
    """

    __slots__ = ("codes", "passing", "ranking", "scores")

    def __init__(self) -> None:
        self.codes: dict[str, KeptColumn] = {}
        self.scores: dict[str, KeptColumn] = {}
        self.passing: dict[tuple[str, ...], Passing] = {}
        self.ranking: Ranking | None = None


class Memo:
    """What is kept for the shapes seen last, for one profile."""

    def __init__(self, snapshot: Snapshot, *, shapes: int = 128) -> None:
        self._snapshot = snapshot
        self._by_shape: LRUCache[PodShape, ShapeMemo] = LRUCache(shapes)

    def of(self, shape: PodShape) -> ShapeMemo:
        """What is kept for `shape`, nothing at first."""
        memo = self._by_shape.get(shape)
        if memo is None:
            memo = self._by_shape[shape] = ShapeMemo()
        return memo

    def journal(self, locality: Locality) -> Journal:
        """Where changes that matter to `locality` are written."""
        return self._snapshot.node_journal if locality is Locality.NODE else self._snapshot.usage_journal


def kept(columns: dict[str, KeptColumn], name: str, dtype: type[np.generic]) -> KeptColumn:
    """The column of plugin `name`, made when it is asked for first."""
    column = columns.get(name)
    if column is None:
        column = columns[name] = KeptColumn(dtype)
    return column
