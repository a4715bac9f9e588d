"""Verdicts and scores that are cached across pods, by pod signature.

`Filtering` and `Scoring` read them instead of asking every plugin about every node. Verdicts and raw scores are columns
(`snapshot.column_cache`); what follows from them is kept here and brought up to date where a column has changed: the
nodes that pass, normalized scores, sums. A plugin takes part if it is NODE or PODS_ON_NODE.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import takewhile

import numpy as np

from ..contract.plugin import MAX_NODE_SCORE, FilterPlugin, ScorePlugin, Scores
from ..contract.verdicts import Codes, Mask, StatusTable
from ..snapshot.column_cache import CachedColumns, ColumnSource
from ..snapshot.journal import NO_ROWS, Changed
from ..snapshot.snapshot import Snapshot
from ..snapshot.view import NodeView, Rows

SIGNATURES = 128
"""Signatures whose verdicts are cached, and whose scores are."""
_SINGLY_UP_TO = 16
"""Up to this number, changed rows are evaluated one by one."""

AskFilter = Callable[[FilterPlugin, NodeView], tuple[Codes, StatusTable]]
AskScore = Callable[[ScorePlugin, NodeView], tuple[Scores, None]]
Weigh = Callable[[ScorePlugin, Scores], Scores]


class FilterResults:
    """Verdicts on every row for pods of one signature, by the plugins whose verdicts are kept.

    Attributes:
        plugins: all that are asked about such pods, in order.
        names: theirs.
        leading: how many plugins come before the first whose verdicts are not kept: their joint verdict is remembered.
        codes: by plugin, int32 of shape (height,).
        tables: by plugin, what the codes mean.
        mask: bool, shape (height,): live rows that pass the leading plugins. Must not be written to.
        rows: intp: where `mask` is true, ascending. The same array for as long as it is right.
    """

    __slots__ = ("_columns", "_layout", "codes", "leading", "mask", "names", "plugins", "rows", "tables")

    def __init__(self, plugins: Sequence[FilterPlugin]) -> None:
        without_epoch = FilterPlugin.filter_epoch
        self._columns: CachedColumns[FilterPlugin, np.int32, StatusTable] = CachedColumns(
            [
                ColumnSource(each, each.name, each.filter_depends_on, type(each).filter_epoch is not without_epoch)
                for each in plugins
            ],
            np.int32,
        )
        self._layout = -1
        self.plugins = tuple(plugins)
        self.names = tuple(plugin.name for plugin in plugins)
        leading = takewhile(lambda plugin: plugin.filter_depends_on.kept, plugins)
        self.leading = len(tuple(leading))
        self.codes: Mapping[str, Codes] = self._columns.values
        self.tables: Mapping[str, StatusTable] = self._columns.meanings
        self.mask: Mask = np.zeros(0, np.bool_)
        self.rows: Rows = np.zeros(0, np.intp)

    def refresh(self, snapshot: Snapshot, ask: AskFilter, epoch_of: Callable[[FilterPlugin], Hashable]) -> None:
        """Bring everything up to date. What is raised ends it; the next refresh then begins where this one did."""
        changed = self._columns.refresh(snapshot, ask, epoch_of)
        if changed is not NO_ROWS:
            self._join(snapshot, changed)

    def _join(self, snapshot: Snapshot, changed: Changed) -> None:
        codes = [self.codes[name] for name in self.names[: self.leading]]
        if changed is None or len(changed) > _SINGLY_UP_TO or snapshot.layout != self._layout:
            self._layout = snapshot.layout
            mask = snapshot.live[: snapshot.height].copy()
            for verdicts in codes:
                mask &= verdicts == 0
            if not np.array_equal(mask, self.mask):
                self.mask, self.rows = mask, np.flatnonzero(mask)
            return
        now = {row: not any([verdicts[row] for verdicts in codes]) for row in changed.tolist()}
        if any(self.mask[row] != passes for row, passes in now.items()):
            self.mask = self.mask.copy()
            for row, passes in now.items():
                self.mask[row] = passes
            self.rows = np.flatnonzero(self.mask)


class ScoreResults:
    """Scores of every row for pods of one signature, by some plugins, and their weighted sum on the feasible nodes.

    A plugin that does not normalise scores each row by itself: such scores are summed up over all rows, and a row that
    changed is all that is added up again, whichever nodes are feasible. One that normalises compares the feasible
    nodes: it does so again when these are others, or one of its raw scores.

    Attributes:
        totals: int64, shape (nodes,): the sum on the feasible nodes. Must not be written to.
    """

    __slots__ = (
        "_columns",
        "_feasible",
        "_normalized",
        "_normalized_sum",
        "_plain",
        "_plugins",
        "_row_sums",
        "_unsound",
        "_weights",
        "totals",
    )

    def __init__(self, plugins: Iterable[ScorePlugin], weights: Mapping[str, int]) -> None:
        self._plugins = [plugin for plugin in plugins if plugin.score_depends_on.kept]
        without_epoch = ScorePlugin.score_epoch
        self._columns: CachedColumns[ScorePlugin, np.int64, None] = CachedColumns(
            [
                ColumnSource(each, each.name, each.score_depends_on, type(each).score_epoch is not without_epoch)
                for each in self._plugins
            ],
            np.int64,
        )
        self._weights = weights
        self._plain = {each.name for each in self._plugins if type(each).normalize_score is ScorePlugin.normalize_score}
        self._unsound: set[str] = set()
        self._row_sums: Scores = np.zeros(0, np.int64)
        self._feasible: Rows | None = None
        self._normalized: dict[str, Scores] = {}
        self._normalized_sum: Scores = np.zeros(0, np.int64)
        self.totals: Scores = np.zeros(0, np.int64)

    def refresh(
        self,
        snapshot: Snapshot,
        feasible: Rows,
        ask: AskScore,
        weigh: Weigh,
        *,
        epoch_of: Callable[[ScorePlugin], Hashable],
    ) -> None:
        """Bring everything up to date for the rows `feasible`. What the functions raise ends it.

        `weigh` makes weighted scores, from 0 to 100 times the weight, of a plugin's raw ones.
        """
        before = self._feasible
        same = before is feasible or (before is not None and np.array_equal(before, feasible))
        self._feasible = None
        changed = self._columns.refresh(snapshot, ask, epoch_of)
        if changed is not NO_ROWS:
            self._sum_rows(snapshot, changed)
        if not same:
            self._normalized = {}
        compared = self._compare(feasible, weigh)
        if not same or compared or changed is None or len(changed) > _SINGLY_UP_TO:
            whole = len(feasible) == len(self._row_sums)
            self.totals = (self._row_sums if whole else self._row_sums.take(feasible)) + self._normalized_sum
        else:
            self._add_up(feasible, changed.tolist())
        self._feasible = feasible

    def weighted(self, plugin: ScorePlugin) -> Scores:
        """int64, shape (nodes,): the plugin's weighted scores of the feasible nodes."""
        if plugin.name in self._normalized:
            return self._normalized[plugin.name]
        weighted: Scores = self._columns.values[plugin.name][self._feasible] * self._weights[plugin.name]
        return weighted

    def _sum_rows(self, snapshot: Snapshot, changed: Changed) -> None:
        """Sum up the plain scores of these rows, and note which plugins have scored one of them wrongly."""
        sums = np.zeros(snapshot.height if changed is None else len(changed), np.int64)
        for name in self._plain:
            column = self._columns.values[name]
            scores = column if changed is None else column.take(changed)
            sums += scores * self._weights[name]
            if len(scores) and scores.view(np.uint64).max() > MAX_NODE_SCORE:
                self._unsound.add(name)
        if changed is None:
            self._row_sums = sums
        else:
            self._row_sums[changed] = sums

    def _compare(self, feasible: Rows, weigh: Weigh) -> bool:
        """Have those weigh the feasible nodes who have to, or who have scored a node wrongly. Whether any had to."""
        compared = False
        for plugin in self._plugins:
            name = plugin.name
            if name in self._plain:
                if name in self._unsound:
                    weigh(plugin, self._columns.values[name][feasible])
            elif name not in self._normalized or name in self._columns.computed:
                raw = self._columns.values[name]
                self._normalized[name] = weigh(plugin, raw if len(feasible) == len(raw) else raw.take(feasible))
                compared = True
        if compared or len(self._normalized_sum) != len(feasible):
            compared = True
            self._normalized_sum = sum(self._normalized.values(), np.zeros(len(feasible), np.int64))
        return compared

    def _add_up(self, feasible: Rows, rows: Iterable[int]) -> None:
        for row in rows:
            position = int(feasible.searchsorted(row))
            if position < len(feasible) and feasible[position] == row:
                self.totals[position] = self._row_sums[row] + self._normalized_sum[position]
