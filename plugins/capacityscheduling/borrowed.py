"""Borrowed pods: those of a quota that its `min` does not cover, as the pods and their groups are now.

What is found for a quota is kept until one of its pods comes, goes or changes, or until groups or quotas change. A pod
that is being deleted is no longer borrowed, and another one may be covered in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from math import inf

from muster.framework.contract import PodInfo, PreemptionHandle, checkpoint
from muster.framework.model.times import parse_time

from .guaranteed import RunningUnit, guaranteed
from .ledger import QuotaLedger
from .tree import Quota

Borrowed = Mapping[str, int]
"""Pods by UID, each with the priority of its unit."""


class BorrowedPods:
    """The borrowed pods of each quota, outside of trials."""

    def __init__(self, handle: PreemptionHandle, ledger: Callable[[], QuotaLedger]) -> None:
        self._handle = handle
        self._ledger = ledger
        self._known: dict[Quota, tuple[Hashable, Borrowed]] = {}
        self._kept_for: Hashable = None

    def of(self, quotas: Iterable[Quota]) -> Iterator[Borrowed]:
        """For each of these quotas that borrows, the pods that it borrows, with those below it."""
        ledger, epoch = self._ledger(), self._handle.disruption_epoch()
        if self._kept_for != (ledger.planted, epoch):
            self._known, self._kept_for = {}, (ledger.planted, epoch)
        over = ledger.over()
        for quota in quotas:
            if quota in over:
                revision, known = ledger.revision(quota), self._known.get(quota)
                if known is None or known[0] != revision:
                    known = self._known[quota] = revision, self._find(quota)
                yield known[1]

    def directly_under(self, quota: Quota) -> Iterator[str]:
        """UIDs of the pods in the quota's own namespace. A quota below it takes all of them for borrowed."""
        return (pod.uid for unit in self._running(quota) for pod in unit.pods)

    def _find(self, quota: Quota) -> Borrowed:
        units = {each: self._running(each) for each in quota.subtree()}
        covered = guaranteed(quota, units, self._ledger().tree.lent)
        return {
            pod.uid: unit.priority
            for running in units.values()
            for unit in running
            for pod in unit.pods
            if pod.uid not in covered
        }

    def _running(self, quota: Quota) -> Sequence[RunningUnit]:
        """The running units of the quota's own namespace. Pods that are being deleted are no part of them."""
        found: dict[str, RunningUnit] = {}
        seen: set[str] = set()
        for pod in self._ledger().pods(quota):
            checkpoint()
            if not pod.terminating and pod.uid not in seen:
                unit = self._unit(pod)
                seen.update(each.uid for each in unit.pods)
                found[unit.key] = unit
        return [*found.values()]

    def _unit(self, pod: PodInfo) -> RunningUnit:
        unit = self._handle.disruption_unit(pod)
        if unit is None:
            return RunningUnit(pod.uid, (pod,), pod.priority, _start(pod))
        staying = [placed.pod for placed in unit.pods if not placed.pod.terminating]
        staying.sort(key=lambda each: (_start(each), each.uid))
        spare = max(0, unit.spare - len(unit.pods) + len(staying))
        return RunningUnit(unit.key, staying, unit.priority, min(map(_start, staying), default=inf), spare)


def _start(pod: PodInfo) -> float:
    """When the pod began to run; infinity before that."""
    started = pod.pod.status.start_time
    return inf if started is None else parse_time(started)
