"""A ranking: weighted scores of the Score plugins that judge a node by itself, added up and kept from pod to pod.

The score phase keeps one for each signature, for the feasible nodes it ranked last. While those stay the same, only the
nodes whose scores changed are weighed and added up again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from ..contract.plugin import Scores
from ..snapshot.view import Rows


class Ranking:
    """Weighted scores of some plugins on some nodes, and their sum.

    Attributes:
        feasible: intp, the nodes' rows, ascending.
        skipped: the plugins that were left out.
        totals: int64, shape (nodes,): the sum of the weighted scores. Must not be written to.
    """

    __slots__ = ("_versions", "_weighted", "feasible", "skipped", "totals")

    def __init__(self, feasible: Rows, skipped: frozenset[str]) -> None:
        self.feasible = feasible
        self.skipped = skipped
        self.totals: Scores = np.zeros(len(feasible), np.int64)
        self._weighted: dict[str, Scores] = {}
        self._versions: dict[str, int] = {}

    def version(self, plugin: str) -> int:
        """Which version of the plugin's scores is in; -1 for none."""
        return self._versions.get(plugin, -1)

    def weighted(self, plugin: str) -> Scores:
        """int64, shape (nodes,): the plugin's weighted scores. Must not be written to. Raises KeyError for none."""
        return self._weighted[plugin]

    def replace(self, plugin: str, weighted: Scores, version: int) -> None:
        """All weighted scores of the plugin are `weighted` now, an array that is handed over."""
        before = self._weighted.get(plugin)
        self.totals += weighted if before is None else weighted - before
        self._weighted[plugin] = weighted
        self._versions[plugin] = version

    def positions(self, rows: Iterable[int]) -> Iterator[tuple[int, int]]:
        """`(position, row)` of those rows that are among the nodes."""
        feasible = self.feasible
        for row in rows:
            position = int(feasible.searchsorted(row))
            if position < len(feasible) and feasible[position] == row:
                yield position, row

    def change(self, plugin: str, changes: Iterable[tuple[int, int]], version: int) -> None:
        """Some weighted scores of the plugin are others now: `(position, weighted score)`."""
        weighted, totals = self._weighted[plugin], self.totals
        for position, score in changes:
            totals[position] += score - weighted[position]
            weighted[position] = score
        self._versions[plugin] = version
