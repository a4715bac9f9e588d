"""Verdicts and scores that are cached across pods, by pod signature.

Filter and Score read them instead of asking every plugin about every node. Equal pods share a `PodSignature`, and few
rows change between two equal pods, often only the row on which the first was assumed; so the second pod costs each
plugin a question about that row. A plugin takes part if it declares that it depends on less than the cluster. Plugins
are asked only about rows whose node exists.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import takewhile

import numpy as np

from ..contract.plugin import MAX_NODE_SCORE, FilterPlugin, ScorePlugin, Scores
from ..contract.verdicts import Codes, Mask, StatusTable, Verdicts
from ..model.latest_signatures import LatestSignatures
from ..model.pod_info import PodSignature
from ..snapshot.changes import NO_ROWS, ChangedRows
from ..snapshot.journal import DependsOn
from ..snapshot.snapshot import Snapshot
from ..snapshot.view import NodeView, Rows

_SIGNATURES = 128
_WHOLE_WHEN_OVER = 4
"""Everything is asked anew when more than one row in this many has changed: one long vector beats many short ones."""
_SINGLY_UP_TO = 16
"""Up to this number, changed rows are evaluated one by one."""

AskFilter = Callable[[FilterPlugin, NodeView], Verdicts]
AskScore = Callable[[ScorePlugin, NodeView], Scores]
Weigh = Callable[[ScorePlugin, Scores], Scores]
Changed = ChangedRows | None
"""Rows that changed; None for all of them."""


class _Followed:
    """Up to where changes of a snapshot's nodes, and of the pods on them, are contained in a result."""

    __slots__ = ("_height", "_node_position", "_usage_position")

    def __init__(self) -> None:
        self._height = self._node_position = self._usage_position = -1

    def is_behind(self, snapshot: Snapshot) -> bool:
        """Whether anything has changed since."""
        return snapshot.usage_journal.position != self._usage_position or snapshot.height != self._height

    def changes(self, snapshot: Snapshot) -> tuple[Changed, Changed]:
        """Rows whose node changed since, and rows whose node or pods did."""
        if snapshot.height != self._height:
            return None, None
        return (
            _few(snapshot, snapshot.node_changes.since(self._node_position)),
            _few(snapshot, snapshot.usage_changes.since(self._usage_position)),
        )

    def catch_up(self, snapshot: Snapshot) -> None:
        """All changes so far are contained."""
        self._height = snapshot.height
        self._node_position, self._usage_position = snapshot.node_journal.position, snapshot.usage_journal.position


def _few(snapshot: Snapshot, changed: Changed) -> Changed:
    return None if changed is None or len(changed.rows) * _WHOLE_WHEN_OVER > snapshot.height else changed


def _all_of(several: Iterable[Changed]) -> set[int] | None:
    """The rows that are in any of them; None for all rows."""
    rows: set[int] = set()
    for changed in several:
        if changed is None:
            return None
        rows.update(changed.live.tolist())
    return rows


def everywhere(snapshot: Snapshot) -> NodeView:
    """A view of every node; one that copies nothing as long as no row is free."""
    return NodeView(snapshot, None if snapshot.node_count == snapshot.height else snapshot.live_rows())


def _view_of(snapshot: Snapshot, changed: Changed) -> NodeView | None:
    """A view of the rows; None for no row."""
    if changed is None:
        return everywhere(snapshot)
    return NodeView(snapshot, changed.live) if len(changed.live) else None


class FilterResults:
    """Verdicts on every row for pods of one signature, by the plugins that depend on less than the cluster.

    Attributes:
        plugins: all that are asked about such pods, in order.
        names: theirs.
        leading: how many plugins come before the first that depends on the cluster: their joint verdict is remembered.
        codes: by plugin, int32 of shape (height,).
        tables: by plugin, what the codes mean.
        mask: bool, shape (height,): live rows that pass the leading plugins. Must not be written to.
        rows: intp: where `mask` is true, ascending. The same array for as long as it is right.
    """

    __slots__ = (
        "_by_node",
        "_by_usage",
        "_epochal",
        "_epochs",
        "_followed",
        "_layout",
        "codes",
        "leading",
        "mask",
        "names",
        "plugins",
        "rows",
        "tables",
    )

    def __init__(self, plugins: Sequence[FilterPlugin]) -> None:
        self._by_node = [plugin for plugin in plugins if plugin.filter_depends_on is DependsOn.NODE]
        self._by_usage = [plugin for plugin in plugins if plugin.filter_depends_on is DependsOn.PODS_ON_NODE]
        self._epochal = [each for each in plugins if type(each).filter_epoch is not FilterPlugin.filter_epoch]
        self._epochs: list[Hashable] = []
        self._followed = _Followed()
        self._layout = -1
        self.plugins = tuple(plugins)
        self.names = tuple(plugin.name for plugin in plugins)
        leading = takewhile(lambda plugin: plugin.filter_depends_on is not DependsOn.CLUSTER, plugins)
        self.leading = len(tuple(leading))
        self.codes: dict[str, Codes] = {}
        self.tables: dict[str, StatusTable] = {}
        self.mask: Mask = np.zeros(0, np.bool_)
        self.rows: Rows = np.zeros(0, np.intp)

    def refresh(self, snapshot: Snapshot, ask: AskFilter, epoch_of: Callable[[FilterPlugin], Hashable]) -> None:
        """Bring everything up to date. What is raised ends it; the next refresh then begins where this one did."""
        epochs = [epoch_of(plugin) for plugin in self._epochal]
        anew = epochs != self._epochs
        if not anew and not self._followed.is_behind(snapshot):
            return
        by_node, by_usage = (None, None) if anew else self._followed.changes(snapshot)
        for plugins, changed in ((self._by_node, by_node), (self._by_usage, by_usage)):
            view = _view_of(snapshot, changed)
            if view is None:
                continue
            for plugin in plugins:
                if changed is None:
                    self.codes.pop(plugin.name, None)
                self._update(plugin, snapshot, view, ask)
        self._join(snapshot, by_usage)
        self._followed.catch_up(snapshot)
        self._epochs = epochs

    def _update(self, plugin: FilterPlugin, snapshot: Snapshot, view: NodeView, ask: AskFilter) -> None:
        verdicts = ask(plugin, view)
        if view.rows is not None and self.tables.get(plugin.name) is not verdicts.table and plugin.name in self.codes:
            verdicts, view = ask(plugin, everywhere(snapshot)), everywhere(snapshot)
        codes = self.codes.get(plugin.name)
        if codes is None:
            codes = self.codes[plugin.name] = np.zeros(snapshot.height, np.int32)
        codes[view.within] = verdicts.codes
        self.tables[plugin.name] = verdicts.table

    def _join(self, snapshot: Snapshot, changed: Changed) -> None:
        codes = [self.codes[name] for name in self.names[: self.leading]]
        if changed is None or len(changed.live) > _SINGLY_UP_TO or snapshot.layout != self._layout:
            self._layout = snapshot.layout
            mask = snapshot.live[: snapshot.height].copy()
            for verdicts in codes:
                mask &= verdicts == 0
            if not np.array_equal(mask, self.mask):
                self.mask, self.rows = mask, np.flatnonzero(mask)
            return
        now = {row: not any(verdicts[row] for verdicts in codes) for row in changed.live.tolist()}
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
        "_epochal",
        "_epochs",
        "_feasible",
        "_followed",
        "_normalized",
        "_normalized_sum",
        "_plain",
        "_plugins",
        "_raw",
        "_row_sums",
        "_unsound",
        "_weights",
        "totals",
    )

    def __init__(self, plugins: Iterable[ScorePlugin], weights: Mapping[str, int]) -> None:
        self._plugins = [plugin for plugin in plugins if plugin.score_depends_on is not DependsOn.CLUSTER]
        self._weights = weights
        self._plain = {each.name for each in self._plugins if type(each).normalize_score is ScorePlugin.normalize_score}
        self._followed = _Followed()
        self._epochal = {each.name for each in self._plugins if type(each).score_epoch is not ScorePlugin.score_epoch}
        self._epochs: dict[str, Hashable] = {}
        self._raw: dict[str, Scores] = {}
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
        changed = self._refresh_raw(snapshot, ask, epoch_of)
        if not same:
            self._normalized = {}
        compared = self._compare(feasible, changed, weigh)
        rows = _all_of(changed.values()) if same and not compared else None
        if rows is None or len(rows) > _SINGLY_UP_TO:
            whole = len(feasible) == len(self._row_sums)
            self.totals = (self._row_sums if whole else self._row_sums.take(feasible)) + self._normalized_sum
        else:
            self._add_up(feasible, rows)
        self._followed.catch_up(snapshot)
        self._feasible = feasible

    def weighted(self, plugin: ScorePlugin) -> Scores:
        """int64, shape (nodes,): the plugin's weighted scores of the feasible nodes."""
        if plugin.name in self._normalized:
            return self._normalized[plugin.name]
        weighted: Scores = self._raw[plugin.name][self._feasible] * self._weights[plugin.name]
        return weighted

    def _refresh_raw(
        self, snapshot: Snapshot, ask: AskScore, epoch_of: Callable[[ScorePlugin], Hashable]
    ) -> Mapping[str, Changed]:
        """Refresh raw scores; returns the rows that changed, by plugin."""
        by_node: Changed = NO_ROWS
        by_usage: Changed = NO_ROWS
        if self._followed.is_behind(snapshot):
            by_node, by_usage = self._followed.changes(snapshot)
        of_node, of_usage = _view_of(snapshot, by_node), _view_of(snapshot, by_usage)
        if len(self._row_sums) != snapshot.height:
            self._raw, self._row_sums = {}, np.zeros(snapshot.height, np.int64)
        found: dict[str, Changed] = {}
        for plugin in self._plugins:
            epoch = epoch_of(plugin) if plugin.name in self._epochal else None
            of_its_own = plugin.score_depends_on is DependsOn.NODE
            changed, view = (by_node, of_node) if of_its_own else (by_usage, of_usage)
            if plugin.name not in self._raw or epoch != self._epochs.get(plugin.name):
                changed, view = None, everywhere(snapshot)
            if view is None:
                continue
            self._put(plugin, snapshot, view, ask(plugin, view))
            self._epochs[plugin.name] = epoch
            found[plugin.name] = changed
        return found

    def _put(self, plugin: ScorePlugin, snapshot: Snapshot, view: NodeView, scores: Scores) -> None:
        raw, within = self._raw.get(plugin.name), view.within
        if raw is None:
            raw = self._raw[plugin.name] = np.zeros(snapshot.height, np.int64)
        if plugin.name in self._plain:
            self._row_sums[within] += (scores - raw[within]) * self._weights[plugin.name]
            if len(scores) and scores.view(np.uint64).max() > MAX_NODE_SCORE:
                self._unsound.add(plugin.name)
        raw[within] = scores

    def _compare(self, feasible: Rows, changed: Mapping[str, Changed], weigh: Weigh) -> bool:
        """Have those weigh the feasible nodes who have to, or who have scored a node wrongly. Whether any had to."""
        compared = False
        for plugin in self._plugins:
            name = plugin.name
            if name in self._plain:
                if name in self._unsound:
                    weigh(plugin, self._raw[name][feasible])
            elif name not in self._normalized or name in changed:
                raw = self._raw[name]
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


class _OfSignature:
    """The cached results of one signature, by the plugins that are left out."""

    __slots__ = ("filters", "scores")

    def __init__(self) -> None:
        self.filters: dict[frozenset[str], FilterResults] = {}
        self.scores: dict[frozenset[str], ScoreResults] = {}


class ResultsCache:
    """The results of one profile for the pod signatures used last; those of a signature that no pod has are dropped."""

    def __init__(
        self, filters: Sequence[FilterPlugin], scores: Sequence[ScorePlugin], weights: Mapping[str, int]
    ) -> None:
        self._filters = filters
        self._scores = scores
        self._weights = weights
        self._by_signature: LatestSignatures[_OfSignature] = LatestSignatures(_SIGNATURES)

    def filter_results(self, signature: PodSignature, skipped: frozenset[str]) -> FilterResults:
        """Verdicts for pods of this signature by the plugins that are not `skipped`."""
        known = self._of(signature).filters
        found = known.get(skipped)
        if found is None:
            found = known[skipped] = FilterResults([each for each in self._filters if each.name not in skipped])
        return found

    def score_results(self, signature: PodSignature, skipped: frozenset[str]) -> ScoreResults:
        """Scores for pods of this signature by the plugins that are not `skipped`."""
        known = self._of(signature).scores
        found = known.get(skipped)
        if found is None:
            scores = [each for each in self._scores if each.name not in skipped]
            found = known[skipped] = ScoreResults(scores, self._weights)
        return found

    def _of(self, signature: PodSignature) -> _OfSignature:
        found = self._by_signature.get(signature)
        return self._by_signature.put(signature, _OfSignature()) if found is None else found
