"""Capacity for a group before any member is tried: how many members fit at most, and in which other orders to try them.

For each signature, the plugins that compute capacity (`CapacityPlugin`) say how many such pods each node can take. The
sums are kept, and computed again only for rows that a journal names, so it costs next to nothing to find that a group
of thousands does not fit. The queue checks capacity before it wakes a group, and the group cycle before it continues a
trial. The sums are upper bounds: a group that exceeds them does not fit, and a group within them may still not fit. If
members do not fit in their own order, members that are hard to place come first: large ones, and previously refused
ones.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any
from weakref import ref

import numpy as np
import numpy.typing as npt

from ..model.latest_signatures import LatestSignatures
from ..model.pod_info import PodInfo, PodSignature
from ..runtime.answers import Failed
from ..runtime.attempt_state import AttemptState
from ..runtime.framework import Framework
from ..snapshot.snapshot import Snapshot
from ..snapshot.view import NodeView, Rows
from ..work import checkpoint
from .attempt import Attempt


def as_queued(attempts: Sequence[Attempt]) -> list[Attempt]:
    """The attempts in kube-scheduler's order: by priority, then by most attempts, then by longest wait."""

    def place(attempt: Attempt) -> tuple[int, int, float, str]:
        return -attempt.pod.priority, -attempt.queued.attempts, attempt.queued.timestamp, attempt.pod.key

    return _in_order(attempts, place)


def alike(attempts: Sequence[Attempt]) -> bool:
    """Whether all pods are of one signature, so that no order is better than another."""
    first = attempts[0].pod.signature
    return all(attempt.pod.signature is first for attempt in attempts)


def larger_first(attempts: Sequence[Attempt], offered: Mapping[str, int]) -> list[Attempt]:
    """The attempts with the largest pods first, by the largest share of a resource of all nodes that a pod requests."""

    def less(attempt: Attempt) -> float:
        requests = attempt.pod.signature.requests.items()
        return -max((amount / offered[name] for name, amount in requests if offered.get(name)), default=0.0)

    return _in_order(attempts, less)


def to_the_front(refused: Collection[Attempt], order: Sequence[Attempt]) -> list[Attempt]:
    """`order`, with pods of the refused signatures moved to the front."""
    signatures = {attempt.pod.signature for attempt in refused}
    return sorted(order, key=lambda attempt: attempt.pod.signature not in signatures)


def _in_order(attempts: Sequence[Attempt], key: Callable[[Attempt], Any]) -> list[Attempt]:
    """Sorted, one key in each step."""
    keys = []
    for attempt in attempts:
        keys.append(key(attempt))
        checkpoint()
    return [attempts[index] for index in sorted(range(len(keys)), key=keys.__getitem__)]


_SIGNATURES = 256
_MOST_UNLIKE = 128
"""The most signatures whose capacity is computed together; for more, the computation would take too long."""
_STATE = AttemptState()
"""The state for calls outside of attempts, which no metric counts."""

Capacities = npt.NDArray[np.int64]
"""The number of further pods that each row could take; 0 for rows without a node."""


class _OfSignature:
    """Capacities for pods of one signature, and their sum, as of a position of the usage journal."""

    __slots__ = ("capacities", "position", "total")

    def __init__(self) -> None:
        self.capacities: Capacities = np.zeros(0, np.int64)
        self.position = -1
        self.total = 0


class GroupCapacity:
    """Capacity by signature."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._by_signature: LatestSignatures[_OfSignature] = LatestSignatures(_SIGNATURES)
        self._asked_last: Callable[[], PodSignature | None] = lambda: None
        self._told_last = _OfSignature()

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

    def may_be_made(self, priority: int) -> bool:
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
        signature, position = pod.signature, self._snapshot.usage_journal.position
        if self._asked_last() is signature and self._told_last.position == position:
            return self._told_last  # hundreds of gangs alike ask one after another
        known = self._by_signature.get(signature)
        if known is None:
            known = self._by_signature.put(signature, _OfSignature())
        self._asked_last, self._told_last = ref(signature), known
        if known.position == position:
            return known
        try:
            self._refresh(known, framework, pod)
        except Failed:  # the trial reports it
            self._by_signature.drop(signature)
            return None
        return known

    def _refresh(self, known: _OfSignature, framework: Framework, pod: PodInfo) -> None:
        snapshot = self._snapshot
        if len(known.capacities) != snapshot.height:
            known.capacities, known.position = np.zeros(snapshot.height, np.int64), -1
        changed = snapshot.usage_changes.since(known.position)
        if changed is None:
            known.capacities[:] = known.total = 0
            view = NodeView(snapshot, snapshot.live_rows())
        else:
            for row in changed.rows:
                known.total -= int(known.capacities[row])
                known.capacities[row] = 0
            view = NodeView(snapshot, changed.live)
        if len(view):
            found = framework.filtering.capacity(_STATE, pod, view)
            known.capacities[view.within] = found
            known.total += int(found.sum()) if len(view) > 1 else int(found[0])
        known.position = snapshot.usage_journal.position
