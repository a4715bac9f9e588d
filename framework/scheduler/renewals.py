"""Renewals: conditions of waiting pods that are out of date, rewritten a share at a time.

`Review` finds the new reasons. A change of reason may concern thousands of pods at once, and each needs a write. The
writes are spread over a quarter of a minute, so that Bindings do not compete with a burst. A pending write is replaced
if a newer reason is found, and dropped if the pod's condition is written in another way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from math import ceil
from typing import NamedTuple

from ..contract.handle import Clock
from ..contract.status import Status
from ..model.pod_info import PodInfo
from ..work import checkpoint
from .reports import Reasons, Reports, reasons_of

SPREAD_SECONDS = 15.0
_SHARE_SECONDS = 0.25
_AT_LEAST = 25
"""The least number of conditions written at once: a hundred a second are no burst."""
_STEP = 256


class _Renewal(NamedTuple):
    """The condition to write for a pod, and the reported reasons that it replaces."""

    pod: PodInfo
    status: Status
    reported: Reasons | None


class Renewals:
    """Conditions to be written. `current` returns the latest version of a pod by its key."""

    def __init__(
        self,
        reports: Reports,
        current: Callable[[str], PodInfo | None],
        waits: Callable[[str], bool],
        clock: Clock,
    ) -> None:
        """`waits` returns whether the pod with this UID is unschedulable; a pod about to be tried is reported then."""
        self._reports = reports
        self._current = current
        self._waits = waits
        self._clock = clock
        self._left: dict[str, _Renewal] = {}
        self._share = _AT_LEAST
        self._is_timed = False

    def __len__(self) -> int:
        """The number of pods whose conditions have yet to be written."""
        return len(self._left)

    def renew(self, pods: Iterable[PodInfo], status: Status) -> None:
        """Report `status` for each of these waiting pods, unless the same reasons were reported last."""
        reasons = reasons_of(status)
        for position, pod in enumerate(pods, start=1):
            reported = self._reports.reported(pod.uid)
            if reported == reasons:
                self._left.pop(pod.uid, None)
            else:
                self._left[pod.uid] = _Renewal(pod, status, reported)
            if position % _STEP == 0:
                checkpoint()
        self._share = max(self._share, ceil(len(self._left) * _SHARE_SECONDS / SPREAD_SECONDS))
        if self._left and not self._is_timed:
            self._report_some()

    def _report_some(self) -> None:
        for uid in [*islice(self._left, self._share)]:
            self._report(uid, self._left.pop(uid))
        self._is_timed = bool(self._left)
        if self._is_timed:
            self._clock.call_later(_SHARE_SECONDS, self._report_some)
        else:
            self._share = _AT_LEAST

    def _report(self, uid: str, renewal: _Renewal) -> None:
        """Report the renewal, unless the pod is gone, no longer waits, or another report was written since."""
        current = self._current(renewal.pod.key)
        if current is None or current.uid != uid or current.node_name or not self._waits(uid):
            return
        if self._reports.reported(uid) == renewal.reported:
            self._reports.renewed(current, renewal.status)
