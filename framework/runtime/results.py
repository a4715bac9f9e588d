"""The results of PreFilter, Filter and Score for one pod over many nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..contract.plugin import Scores
from ..contract.status import Status
from ..contract.verdicts import Codes, Diagnosis, NodeRejection, StatusTable
from ..snapshot.snapshot import Snapshot
from ..snapshot.view import Rows
from .rejections import replace_rejections

_NO_STATUS = StatusTable()


@dataclass(frozen=True, slots=True)
class PreFiltered:
    """The result of PreFilter.

    Attributes:
        status: why the pod is rejected as a whole; None if the attempt continues.
        node_names: the only nodes that may pass; None for no restriction.
        absent: the status of nodes outside `node_names`.
        rejectors: the plugins behind `status`, or behind an empty set of nodes.
    """

    status: Status | None = None
    node_names: frozenset[str] | None = None
    absent: Status | None = None
    rejectors: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Filtered:
    """The result of Filter for every node of the list. To be read before the snapshot changes.

    Attributes:
        listed: intp, shape (nodes,): rows of the node list.
        feasible: intp: rows that pass every plugin, ascending.
        plugins: names of the plugins that ran, in order.
        tables: the status tables of those that were asked about a node.
        codes: for each plugin, int32 of shape (height,): its verdicts; 0 where the node passed or was not asked about.
        absent: the status of listed nodes that PreFilter left out.
        error: a plugin's ERROR on a node that it was asked about, which ends the attempt.
        nominated: row to the rejection of a node that rejects the pod only because of its nominated pods.
    """

    listed: Rows
    feasible: Rows
    plugins: Sequence[str] = ()
    tables: Mapping[str, StatusTable] = field(default_factory=dict)
    codes: Sequence[Codes] = ()
    absent: Status | None = None
    error: Status | None = None
    nominated: Mapping[int, NodeRejection] = field(default_factory=dict)

    def diagnose(self, snapshot: Snapshot) -> Diagnosis:
        """The first rejection of each listed node."""
        rejector = np.zeros(len(self.listed), np.int32)
        codes = np.zeros(len(self.listed), np.int32)
        for index, verdicts in enumerate(self.codes, start=1):
            found = verdicts[self.listed]
            first = (rejector == 0) & (found != 0)
            rejector[first] = index
            codes[first] = found[first]
        diagnosis = Diagnosis(
            node_names=snapshot.names_of(self.listed),
            rejector=rejector,
            codes=codes,
            plugins=self.plugins,
            tables=[self.tables.get(name, _NO_STATUS) for name in self.plugins],
            absent=self.absent,
        )
        if self.nominated:
            positions = self.listed.searchsorted([*self.nominated]).tolist()
            replace_rejections(diagnosis, positions, self.nominated.values())
        numbers = np.flatnonzero(np.bincount(rejector)).tolist()
        diagnosis.unschedulable_plugins = {diagnosis.plugins[number - 1] for number in numbers if number}
        return diagnosis


class ByPlugin(Mapping[str, Scores]):
    """Scores by plugin, in the order of the plugins. Computed on first access, because few callers need them."""

    __slots__ = ("_scores",)

    def __init__(self, scores: Mapping[str, Scores | Callable[[], Scores]]) -> None:
        self._scores = scores

    def __getitem__(self, plugin: str) -> Scores:
        scores = self._scores[plugin]
        return scores() if callable(scores) else scores

    def __iter__(self) -> Iterator[str]:
        return iter(self._scores)

    def __len__(self) -> int:
        return len(self._scores)


@dataclass(frozen=True, slots=True)
class Scored:
    """Scores of the feasible nodes, to be read before the snapshot changes, and not to be written to.

    Attributes:
        by_plugin: plugin name to int64 of shape (nodes,), normalised and times the plugin's weight.
        totals: int64, shape (nodes,): their sum.
    """

    by_plugin: Mapping[str, Scores]
    totals: Scores
