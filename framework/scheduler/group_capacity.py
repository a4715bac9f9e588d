"""Capacity for a group before any member is tried: how many members fit at most.

For each signature, the plugins that compute capacity (`CapacityPlugin`) say how many such pods each node can take. The
sums are kept, and computed again for rows that a journal names, or for all when a plugin's epoch changes. So it costs
next to nothing to find that a group of thousands does not fit. The queue checks capacity before it wakes a group, and
`GroupTrials` before a trial continues. The sums are upper bounds: a group that exceeds them does not fit, and a group
within them may still not fit.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import numpy.typing as npt

from ..model.pod_info import PodInfo
from ..runtime.answers import Failed
from ..runtime.attempt_state import AttemptState
from ..runtime.framework import Framework
from ..snapshot.column_cache import CachedColumns, ColumnCache, ColumnSource, everywhere
from ..snapshot.journal import NO_ROWS, DependsOn
from ..snapshot.snapshot import Snapshot
from ..snapshot.view import NodeView, Rows

_SIGNATURES = 256
_MOST_UNLIKE = 128
"""The most signatures whose capacity is computed together; for more, the computation would take too long."""
_SOURCE = ColumnSource("capacity", "capacity", DependsOn.PODS_ON_NODE, has_epoch=True)
_STATE = AttemptState()
"""The state for calls outside of attempts, which no metric counts."""

Capacities = npt.NDArray[np.int64]
"""The number of further pods that each row could take; rows without a node mean nothing."""


class _OfSignature:
    """Capacities for pods of one signature, and the sum of all nodes."""

    __slots__ = ("_columns", "total")

    def __init__(self) -> None:
        self._columns: CachedColumns[str, np.int64, None] = CachedColumns([_SOURCE], np.int64)
        self.total = 0

    @property
    def capacities(self) -> Capacities:
        return self._columns.values[_SOURCE.name]

    def refresh(self, snapshot: Snapshot, framework: Framework, pod: PodInfo) -> None:
        """Bring capacities up to date. Raises Failed when a plugin fails."""

        def ask(_: str, view: NodeView) -> tuple[Capacities, None]:
            return framework.filtering.capacity(_STATE, pod, view), None

        if self._columns.refresh(snapshot, ask, lambda _: framework.filtering.capacity_epoch()) is not NO_ROWS:
            self.total = int(everywhere(snapshot).of(self.capacities).sum())


class GroupCapacity:
    """Capacity by signature."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._cache: ColumnCache[_OfSignature] = ColumnCache(_SIGNATURES, lambda skipped: _OfSignature())

    def enough(self, framework: Framework, pods: Collection[PodInfo], missing: int, within: Rows | None = None) -> bool:
        """Whether `missing` members could fit, on the rows `within` alone; `pods` has one of each signature."""
        found = 0
        if len(pods) > _MOST_UNLIKE:
            return True
        for pod in pods:
            capacity = self._of(framework, pod)
            if capacity is None:
                return True
            found += capacity.total if within is None else int(capacity.capacities[within].sum())
            if found >= missing:
                return True
        return False

    def may_be_freed_for(self, priority: int) -> bool:
        """Whether pods of lower priority run, which could be evicted for pods of this priority."""
        priorities = self._snapshot.priorities
        return bool(priorities) and min(priorities) < priority

    def of(self, framework: Framework, pod: PodInfo) -> Capacities | None:
        """int64, shape (height,): how many pods of this signature each row could take. None if no plugin counts it.

        Must not be written to.
        """
        capacity = self._of(framework, pod)
        return None if capacity is None else capacity.capacities

    def _of(self, framework: Framework, pod: PodInfo) -> _OfSignature | None:
        if not framework.plugins.capacity:
            return None
        known = self._cache.of(pod.signature)
        try:
            known.refresh(self._snapshot, framework, pod)
        except Failed:  # the trial reports it
            return None
        return known
