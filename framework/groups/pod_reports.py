"""Pending reports of plugins about pods: Events that are written once their cause has lasted for a second.

Pods and groups arrive in separate streams, and many faults are mended at once: a pod is often seen before its group. A
process that does not lead, or has not synced yet, must not report, so reports wait for that too. `MissingGroups` uses
them for pods without their group, and the Reservation plugin for annotations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from ..contract.handle import Handle
from ..model.pod_info import PodInfo

_PATIENCE_SECONDS = 1.0
_SLACK_SECONDS = 0.01
"""Timers may fire a little early."""

T = TypeVar("T")


class PendingReports(Generic[T]):
    """Reports by the UID of their pod, at most one for each. `report` is called with a pod and its report once due."""

    def __init__(self, handle: Handle, report: Callable[[PodInfo, T], None]) -> None:
        self._handle = handle
        self._report = report
        self._pending: dict[str, tuple[float, PodInfo, T]] = {}
        self._is_timed = False

    def get(self, uid: str) -> T | None:
        """The pending report about the pod with this UID."""
        found = self._pending.get(uid)
        return None if found is None else found[2]

    def put(self, pod: PodInfo, report: T) -> None:
        """Report this about the pod in a second, in place of its pending report."""
        self._pending[pod.uid] = self._handle.clock.now(), pod, report
        self._set_timer()

    def drop(self, uid: str) -> None:
        """Drop the pending report about the pod with this UID, if there is one."""
        self._pending.pop(uid, None)

    def _set_timer(self) -> None:
        if self._pending and not self._is_timed:
            self._is_timed = True
            self._handle.clock.call_later(_PATIENCE_SECONDS, self._report_due)

    def _report_due(self) -> None:
        self._is_timed = False
        if self._handle.may_report():
            due_since = self._handle.clock.now() - _PATIENCE_SECONDS + _SLACK_SECONDS
            for uid, (since, pod, report) in [*self._pending.items()]:
                if since <= due_since:
                    del self._pending[uid]
                    self._report(pod, report)
        self._set_timer()
