"""How many members of a group could find room at all, before any of them is tried.

For each signature the plugins that count room (`CapacityPlugin`) say how many such pods every node could take; the sums
are kept, and only rows that a journal names are asked about again. So it costs next to nothing to know that a group of
thousands does not fit: the queue asks before it wakes one, the group's cycle before it goes on with a trial. The sums
are never too small, so what they rule out does not fit; what they let pass may still not fit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from weakref import ref

import numpy as np
import numpy.typing as npt
from cachetools import LRUCache

from ..contract.cycle_state import CycleState
from ..model.pod_info import PodInfo, PodSignature
from ..runtime.framework import Framework
from ..runtime.plugin_calls import Failed
from ..snapshot.snapshot import Snapshot
from ..snapshot.view import NodeView

_SIGNATURES = 256

Capacities = npt.NDArray[np.int64]
"""How many pods more each row could take; 0 where there is no node."""


class _OfSignature:
    """Capacities for pods of one signature, and their sum, as of a position of the usage journal."""

    __slots__ = ("capacities", "position", "total")

    def __init__(self) -> None:
        self.capacities: Capacities = np.zeros(0, np.int64)
        self.position = -1
        self.total = 0


class GroupRoom:
    """Room by signature."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._by_signature: LRUCache[ref[PodSignature], _OfSignature] = LRUCache(_SIGNATURES)

    def _forget(self, gone: ref[PodSignature]) -> None:
        self._by_signature.pop(gone, None)

    def enough(self, framework: Framework, pods: Iterable[PodInfo], missing: int) -> bool:
        """Whether `missing` members could fit; `pods` has one or more of each signature."""
        found = 0
        for pod in {pod.signature: pod for pod in pods}.values():
            capacities = self.of(framework, pod)
            if capacities is None:
                return True
            found += self._by_signature[ref(pod.signature)].total
            if found >= missing:
                return True
        return False

    def may_be_made(self, pods: Iterable[PodInfo]) -> bool:
        """Whether pods of lower priority run that could be evicted for these."""
        priorities = self._snapshot.priorities
        return bool(priorities) and min(priorities) < max(pod.priority for pod in pods)

    def of(self, framework: Framework, pod: PodInfo) -> Capacities | None:
        """int64, shape (height,): how many pods like this one each row could take. None when no plugin can say.

        Must not be written to.
        """
        if not framework.plugins.capacity:
            return None
        known = self._by_signature.get(ref(pod.signature))
        if known is None:
            known = self._by_signature[ref(pod.signature, self._forget)] = _OfSignature()
        try:
            self._refresh(known, framework, pod)
        except Failed:  # the trial will tell
            del self._by_signature[ref(pod.signature)]
            return None
        return known.capacities

    def _refresh(self, known: _OfSignature, framework: Framework, pod: PodInfo) -> None:
        snapshot = self._snapshot
        position = snapshot.usage_journal.position
        if len(known.capacities) != snapshot.height:
            known.capacities = np.zeros(snapshot.height, np.int64)
            changed = None
        else:
            changed = snapshot.usage_journal.since(known.position)
        live = snapshot.live_rows() if changed is None else _live(snapshot, changed)
        if changed is None:
            known.capacities[:] = 0
        else:
            known.capacities[np.fromiter(changed, np.intp, len(changed))] = 0
        if len(live):
            known.capacities[live] = framework.capacity(CycleState(), pod, NodeView(snapshot, live))
        known.total = int(known.capacities.sum())
        known.position = position


def _live(snapshot: Snapshot, rows: Collection[int]) -> npt.NDArray[np.intp]:
    return np.array([row for row in rows if snapshot.live[row]], np.intp)
