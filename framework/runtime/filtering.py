"""The Filter phase: which nodes can run the pod, and the first plugin that turns each of the others away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import NamedTuple

import numpy as np

from ..contract.cycle_state import CycleState
from ..contract.plugin import FilterPlugin
from ..contract.status import Status
from ..contract.verdicts import Codes, Diagnosis, Mask, StatusTable
from ..model.pod_info import PodInfo
from ..snapshot.journal import DependsOn
from ..snapshot.snapshot import Snapshot
from ..snapshot.view import NodeView, Rows
from .errors import error_in
from .memo import Memo, SignatureMemo, kept
from .passing import Passing
from .prefilter import PreFiltered
from .profile import Profile
from .timing import Timing

_NO_STATUS = StatusTable()


@dataclass(frozen=True, slots=True)
class Filtered:
    """The outcome for every node of the list.

    Attributes:
        listed: intp, shape (nodes,): rows of the node list.
        feasible: intp: rows that pass every plugin, ascending.
        plugins: names of the plugins that ran, in order.
        tables: by name, the status tables of those that were ever asked about a node.
        codes: for each plugin, int32 of shape (height,): its verdicts; 0 where the node passed or was not asked about.
        absent: the status of listed nodes that PreFilter left out.
        error: a plugin's ERROR on a node that it was asked about, which ends the attempt.
    """

    listed: Rows
    feasible: Rows
    plugins: Sequence[str]
    tables: Mapping[str, StatusTable]
    codes: Sequence[Codes]
    absent: Status | None
    error: Status | None

    def diagnose(self, snapshot: Snapshot) -> Diagnosis:
        """The first rejection of each listed node. To be called before the snapshot changes."""
        rejector = np.zeros(len(self.listed), np.int32)
        codes = np.zeros(len(self.listed), np.int32)
        for index, verdicts in enumerate(self.codes, start=1):
            found = verdicts[self.listed]
            first = (rejector == 0) & (found != 0)
            rejector[first] = index
            codes[first] = found[first]
        return Diagnosis(
            node_names=[snapshot.names[row] for row in self.listed.tolist()],
            rejector=rejector,
            codes=codes,
            plugins=self.plugins,
            tables=[self.tables.get(name, _NO_STATUS) for name in self.plugins],
            absent=self.absent,
            unschedulable_plugins={self.plugins[index - 1] for index in np.unique(rejector).tolist() if index},
        )


class _Asked(NamedTuple):
    """The plugins that are asked about a pod, in order.

    `leading` are those in front that judge a node by itself: their joint verdict is kept. `names` are of all.
    """

    leading: tuple[FilterPlugin, ...]
    others: tuple[FilterPlugin, ...]
    names: tuple[str, ...]


class FilterPhase:
    """Runs the Filter plugins of one profile."""

    def __init__(self, profile: Profile, snapshot: Snapshot, memo: Memo, timing: Timing) -> None:
        self._profile = profile
        self._snapshot = snapshot
        self._memo = memo
        self._timing = timing
        self._asked_without: dict[frozenset[str], _Asked] = {}

    def run(self, state: CycleState, pod: PodInfo, pre_filtered: PreFiltered) -> Filtered:
        """Ask the plugins about every node that PreFilter left in."""
        asked = self._asked(pre_filtered.skipped)
        memo = self._memo.of(pod.signature)
        codes: list[Codes] = []
        error: Status | None = None
        if pre_filtered.node_names is None:
            passing, rows, error = self._run_leading(asked, state, pod, memo, codes)
            others = asked.others
        else:
            passing, others = self._only(pre_filtered.node_names), (*asked.leading, *asked.others)
            rows = np.flatnonzero(passing)
        for plugin in others:
            since = self._timing.sample(state)
            if pre_filtered.node_names is None and plugin.filter_depends_on is not DependsOn.CLUSTER:
                found = self._keep(plugin, state, pod, memo)
            else:
                found = self._ask(plugin, state, pod, memo, rows)
            self._was_asked(plugin, since)
            error = error or _error(plugin.name, memo.tables, found, passing)
            passing = passing & (found == 0)
            rows = np.flatnonzero(passing)
            codes.append(found)
        return Filtered(self._snapshot.live_rows(), rows, asked.names, memo.tables, codes, pre_filtered.absent, error)

    def check(self, state: CycleState, pod: PodInfo, row: int, skipped: frozenset[str]) -> Status | None:
        """None when the node in `row` passes as things are now, else its first rejection. Nothing is kept."""
        view = NodeView(self._snapshot, np.array([row]))
        for plugin in self._profile.filter:
            if plugin.name in skipped:
                continue
            verdicts = plugin.filter(state, pod, view)
            code = int(verdicts.codes[0])
            if code:
                return _told(verdicts.table[code].by(plugin.name))
        return None

    def _asked(self, skipped: frozenset[str]) -> _Asked:
        asked = self._asked_without.get(skipped)
        if asked is None:
            plugins = [plugin for plugin in self._profile.filter if plugin.name not in skipped]
            leading = tuple(takewhile(lambda plugin: plugin.filter_depends_on is not DependsOn.CLUSTER, plugins))
            names = tuple(plugin.name for plugin in plugins)
            asked = self._asked_without[skipped] = _Asked(leading, tuple(plugins[len(leading) :]), names)
        return asked

    def _run_leading(
        self, asked: _Asked, state: CycleState, pod: PodInfo, memo: SignatureMemo, codes: list[Codes]
    ) -> tuple[Mask, Rows, Status | None]:
        """Which live rows pass the leading plugins, as a mask and listed, and the first error; fills `codes`."""
        for plugin in asked.leading:
            since = self._timing.sample(state)
            codes.append(self._keep(plugin, state, pod, memo))
            self._was_asked(plugin, since)
        passing = memo.passing.get(asked.names)
        if passing is None:
            passing = memo.passing[asked.names] = Passing()
        passing.refresh(self._snapshot, codes)
        return passing.mask, passing.rows, self._first_error(asked.leading, memo.tables, codes)

    def _first_error(
        self, plugins: Sequence[FilterPlugin], tables: Mapping[str, StatusTable], codes: Sequence[Codes]
    ) -> Status | None:
        """The first ERROR that a plugin has for a node which passed the plugins before it."""
        if not any(tables[plugin.name].errors for plugin in plugins):
            return None
        passing = self._snapshot.live[: self._snapshot.height].copy()
        for plugin, verdicts in zip(plugins, codes, strict=True):
            if (error := _error(plugin.name, tables, verdicts, passing)) is not None:
                return error
            passing &= verdicts == 0
        return None

    def _only(self, node_names: frozenset[str]) -> Mask:
        passing = np.zeros(self._snapshot.height, np.bool_)
        for name in node_names:
            row = self._snapshot.live_row_of(name)
            if row is not None:
                passing[row] = True
        return passing

    def _keep(self, plugin: FilterPlugin, state: CycleState, pod: PodInfo, memo: SignatureMemo) -> Codes:
        column = kept(memo.codes, plugin.name, np.int32)
        journal = self._memo.journal(plugin.filter_depends_on)
        return column.refresh(self._snapshot, journal, partial(self._compute, plugin, state, pod, memo))

    def _ask(self, plugin: FilterPlugin, state: CycleState, pod: PodInfo, memo: SignatureMemo, rows: Rows) -> Codes:
        codes = np.zeros(self._snapshot.height, np.int32)
        if len(rows):
            codes[rows] = self._compute(plugin, state, pod, memo, NodeView(self._snapshot, rows))
        return codes

    def _compute(
        self, plugin: FilterPlugin, state: CycleState, pod: PodInfo, memo: SignatureMemo, view: NodeView
    ) -> Codes:
        verdicts = plugin.filter(state, pod, view)
        memo.tables[plugin.name] = verdicts.table
        return verdicts.codes

    def _was_asked(self, plugin: FilterPlugin, since: float | None) -> None:
        self._timing.plugin(plugin.name, "Filter", None, since)
        self._timing.evaluated(plugin.name, "Filter")


def _told(status: Status) -> Status:
    return status if status.rejected else error_in(f'running "{status.plugin}" filter plugin', status)


def _error(plugin: str, tables: Mapping[str, StatusTable], codes: Codes, passing: Mask) -> Status | None:
    table = tables.get(plugin)
    if table is None or not table.errors:
        return None
    struck = codes[passing & np.isin(codes, list(table.errors))]
    return _told(table[int(struck[0])].by(plugin)) if len(struck) else None
