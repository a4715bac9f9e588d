"""Before members of a group are tried: how many could find room at all, and in which other orders to try them.

For each signature the plugins that count room (`CapacityPlugin`) say how many such pods every node could take; the sums
are kept, and only rows that a journal names are asked about again. So it costs next to nothing to know that a group of
thousands does not fit: the queue asks before it wakes one, the group's cycle before it goes on with a trial. The sums
are never too small, so what they rule out does not fit; what they let pass may still not fit. Where the order that
members came in did not do, what is hard to place goes first: what is large, and what was refused before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from weakref import ref

import numpy as np
import numpy.typing as npt
from cachetools import LRUCache

from ..contract.cycle_state import CycleState
from ..model.pod_info import PodInfo, PodSignature
from ..runtime.framework import Framework
from ..runtime.plugin_calls import Failed
from ..snapshot.snapshot import Snapshot
from ..snapshot.view import NodeView, Rows
from .attempt import Attempt


def as_queued(attempts: Sequence[Attempt]) -> list[Attempt]:
    """kube-scheduler's order: the most important first, then what was tried most, then what has waited longest."""

    def place(attempt: Attempt) -> tuple[int, int, float, str]:
        return -attempt.pod.priority, -attempt.queued.attempts, attempt.queued.timestamp, attempt.pod.key

    return sorted(attempts, key=place)


def alike(attempts: Sequence[Attempt]) -> bool:
    """Whether all pods are of one signature, so that no order is better than another."""
    first = attempts[0].pod.signature
    return all(attempt.pod.signature is first for attempt in attempts)


def larger_first(attempts: Sequence[Attempt], offered: Mapping[str, int]) -> list[Attempt]:
    """Sorted by the largest share that a pod asks for of what all nodes offer of a resource; equals as they came."""

    def share(attempt: Attempt) -> float:
        requests = attempt.pod.signature.requests.items()
        return max((amount / offered[name] for name, amount in requests if offered.get(name)), default=0.0)

    return sorted(attempts, key=share, reverse=True)


def to_the_front(refused: Collection[Attempt], order: Sequence[Attempt]) -> list[Attempt]:
    """The same order, but pods of signatures that were refused come before all others."""
    signatures = {attempt.pod.signature for attempt in refused}
    return sorted(order, key=lambda attempt: attempt.pod.signature not in signatures)


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

    def enough(self, framework: Framework, pods: Iterable[PodInfo], missing: int, within: Rows | None = None) -> bool:
        """Whether `missing` members could fit, on the rows `within` alone; `pods` has one or more of each signature."""
        found = 0
        for pod in {pod.signature: pod for pod in pods}.values():
            capacities = self.of(framework, pod)
            if capacities is None:
                return True
            in_all = self._by_signature[ref(pod.signature)].total
            found += in_all if within is None else int(capacities[within].sum())
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
        if position == known.position and len(known.capacities) == snapshot.height:
            return
        if len(known.capacities) != snapshot.height:
            known.capacities = np.zeros(snapshot.height, np.int64)
            changed = None
        else:
            changed = snapshot.usage_journal.since(known.position)
        if changed is None:
            known.capacities[:] = known.total = 0
            live = snapshot.live_rows()
        else:
            known.total -= sum(int(known.capacities[row]) for row in changed)
            for row in changed:
                known.capacities[row] = 0
            live = np.array([row for row in changed if snapshot.live[row]], np.intp)
        if len(live):
            found = framework.capacity(CycleState(), pod, NodeView(snapshot, live))
            known.capacities[live] = found
            known.total += int(found.sum()) if len(live) > 1 else int(found[0])
        known.position = position
