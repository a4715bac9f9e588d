"""Zones as columns: by resource what is free in each zone of each row, and which pods are pending there.

A pod is pending from its placement until a report includes it. In which zone it will be is not known, so it is taken
off every zone, as in scheduler-plugins; how many such pods there are is kept besides. All follows from the latest
report and the snapshot: from assumed pods, and in a trial from pods that it has placed or removed. There are no books
of pods, so nothing has to be given back. A row is computed again when its pods or its report changed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from muster.framework.contract import Mask, PodInfo, SnapshotReader
from muster.framework.contract.columns import Rows

from .api import ZonePolicy, ZoneScope
from .demand import taken
from .freed import freed
from .reports import NodeReport, NodeReports

Column = npt.NDArray[np.int64]
UNKNOWN_COST = 255
"""The distance of zones about which nothing is reported."""
_STANDARD = ("cpu", "memory", "ephemeral-storage")


@dataclass(slots=True)
class Zones:
    """The zones of some nodes, to be written to. Arrays have the shape (zones, nodes), by number of the zone.

    Attributes:
        exists: bool: whether the node has the zone.
        has: by resource, bool: whether the zone has any such resource, be it all taken.
        free: by resource, int64: the free amounts, with pending pods taken off every zone.
        reported: by resource, int64: the free amounts without pending pods.
        allocatable: by resource, int64: the amounts that pods may have together.
        most_zones: int64, shape (nodes,): how many zones the kubelet allows.
        pending: int64, shape (nodes,): how many containers of pending pods take anything, pods where they are aligned
            as a whole.
        largest: by resource, int64, shape (nodes,): the most that any of them takes.
    """

    exists: Mask
    has: Mapping[str, Mask]
    free: Mapping[str, Column]
    reported: Mapping[str, Column]
    allocatable: Mapping[str, Column]
    most_zones: Column
    pending: Column
    largest: dict[str, Column]

    @property
    def count(self) -> int:
        """The number of nodes."""
        return int(self.exists.shape[1])

    @property
    def height(self) -> int:
        """The number of zones of the node that has most."""
        return len(self.exists)


class ZoneColumns:
    """The zones of all rows. To be brought up to date by `refresh` before they are read.

    Attributes:
        policy: int8, shape (capacity,): the `ZonePolicy` of each row; RELAXED without a report.
        scope: int8, shape (capacity,): its `ZoneScope`.
        known: bool, shape (capacity,): whether there is a report.
    """

    def __init__(
        self, snapshot: SnapshotReader, reports: NodeReports, counts: Callable[[PodInfo], bool] = lambda pod: True
    ) -> None:
        """`counts` says which pods have to be taken off before a report includes them."""
        self._snapshot = snapshot
        self._reports = reports
        self._counts = counts
        self._position = -1
        self._height = 1
        self._begin(0)

    def refresh(self) -> None:
        """Compute again what may have changed."""
        snapshot, reports = self._snapshot, self._reports
        moved = reports.take_moved()
        numbers = (zone.number for name in moved for zone in _zones(reports.of(name)))
        height = max((self._height, *(number + 1 for number in numbers)))
        changed = snapshot.usage_journal.since(self._position) if self._position >= 0 else None
        self._position = snapshot.usage_journal.position
        if height != self._height or len(self.policy) != len(snapshot.live):
            self._height = height
            self._begin(len(snapshot.live))
            changed = None
        rows = {row for name in moved if (row := snapshot.live_row_of(name)) is not None}
        for row in range(snapshot.height) if changed is None else changed | rows:
            report = reports.of(snapshot.names[row]) if snapshot.live[row] else None
            if report is not None:
                self._write(row, report)
            elif self.known[row]:
                self._clear(row)

    def of(self, rows: Rows, resources: Collection[str]) -> Zones:
        """A copy of what these rows have of these resources."""

        def some(columns: Mapping[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
            return {name: columns[name][..., rows] for name in resources if name in columns}

        return Zones(
            self._exists[:, rows],
            some(self._has),
            some(self._free),
            some(self._reported),
            some(self._allocatable),
            self._most_zones[rows],
            self._pending[rows],
            some(self._largest),
        )

    def distances(self, rows: Rows) -> Column:
        """int64, shape (zones, zones, rows): the distances of zones."""
        return self._costs[:, :, rows].astype(np.int64)

    @property
    def resources(self) -> Collection[str]:
        """The resources that any zone has."""
        return self._has.keys()

    def offered(self, resource: str, rows: Rows) -> Mask:
        """bool, shape (rows,): whether the node names the resource at all."""
        columns = self._snapshot.resources
        index = columns.index(resource)
        if resource in _STANDARD:
            return np.ones(len(rows), np.bool_)
        return np.zeros(len(rows), np.bool_) if index is None else columns.offered[index, rows]

    def _begin(self, capacity: int) -> None:
        """Columns without any report."""
        height = self._height
        self.policy = np.full(capacity, ZonePolicy.RELAXED, np.int8)
        self.scope = np.full(capacity, ZoneScope.CONTAINER, np.int8)
        self.known = np.zeros(capacity, np.bool_)
        self._most_zones = np.ones(capacity, np.int64)
        self._exists = np.zeros((height, capacity), np.bool_)
        self._costs = np.full((height, height, capacity), UNKNOWN_COST, np.int32)
        self._has: dict[str, Mask] = {}
        self._free: dict[str, Column] = {}
        self._reported: dict[str, Column] = {}
        self._allocatable: dict[str, Column] = {}
        self._pending = np.zeros(capacity, np.int64)
        self._largest: dict[str, Column] = {}

    def _clear(self, row: int) -> None:
        self.known[row] = False
        self.policy[row] = ZonePolicy.RELAXED
        self._exists[:, row] = False
        self._costs[:, :, row] = UNKNOWN_COST
        for column in self._has.values():
            column[:, row] = False
        self._pending[row] = 0
        for amounts in (self._free, self._reported, self._allocatable, self._largest):
            for numbers in amounts.values():
                numbers[..., row] = 0

    def _write(self, row: int, report: NodeReport) -> None:
        self._clear(row)
        management = report.management
        self.known[row] = True
        self.policy[row], self.scope[row] = management.policy, management.scope
        self._most_zones[row] = management.most_zones
        pending = self._count_pending(row, report)
        back = self._freed(row, report)
        for zone in report.zones:
            number = zone.number
            self._exists[number, row] = True
            for other, cost in zone.costs.items():
                if other < self._height:
                    self._costs[number, other, row] = cost
            returned = back.get(number, {})
            for name, available in zone.available.items():
                most = zone.allocatable.get(name, available)
                now = min(max(available, most), available + returned.get(name, 0))
                self._column(self._has, name, np.bool_)[number, row] = True
                self._column(self._free, name, np.int64)[number, row] = max(0, now - pending.get(name, 0))
                self._column(self._reported, name, np.int64)[number, row] = now
                self._column(self._allocatable, name, np.int64)[number, row] = most

    def _count_pending(self, row: int, report: NodeReport) -> Mapping[str, int]:
        """The sum of what the pending pods of the row request. Notes how many containers or pods that are."""
        total: dict[str, int] = {}
        resources = {name for zone in report.zones for name in zone.available}
        for uid, pod in self._snapshot.pods[row].items():
            if uid in report.included or not self._counts(pod):
                continue
            demand = self._reports.demands.of(pod)
            for name, n in demand.takes.items():
                total[name] = total.get(name, 0) + n
            whole = (taken(demand.takes, demand.guaranteed),) if demand.units else ()
            for unit in whole if report.management.scope is ZoneScope.POD else demand.units:
                self._pending[row] += 1
                for name in unit.keys() & resources:
                    column = self._largest.setdefault(name, np.zeros(len(self.known), np.int64))
                    column[row] = max(column[row], unit[name])
        return total

    def _freed(self, row: int, report: NodeReport) -> Mapping[int, Mapping[str, int]]:
        """By zone what pods have left that the report still includes."""
        pods, demands = self._snapshot.pods[row], self._reports.demands
        gone = [demands.of(pod) for uid, pod in report.included.items() if uid not in pods]
        return freed(report, gone) if gone else {}

    def _column(self, columns: dict[str, npt.NDArray[Any]], resource: str, dtype: type[Any]) -> npt.NDArray[Any]:
        column = columns.get(resource)
        if column is None:
            column = columns[resource] = np.zeros(self._exists.shape, dtype)
        return column


def _zones(report: NodeReport | None) -> Iterable[Any]:
    return () if report is None else report.zones
