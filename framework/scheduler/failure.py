"""Failure handling: pods whose attempt failed go back to the queue, and people hear why. As handleSchedulingFailure."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Sequence

from ..contract.events import ASSIGNED_POD_DELETE
from ..contract.handle import Clock
from ..contract.observer import Observer
from ..contract.status import Code, Status
from ..model.pod_info import PodInfo
from ..queue.hints import ErrorLog
from ..queue.scheduling_queue import SchedulingQueue
from ..runtime.nominator import PodNominator
from ..work import checkpoint
from .attempt import Attempt
from .reports import DECISIONS, Reports, reasons_in

log = logging.getLogger(__name__)


class FailureHandler:
    """Handles failures of all profiles. `current` gives the latest version of a pod by its key, None when it went.

    Attributes:
        begin_review: called when pods came back to the queue.
    """

    def __init__(
        self,
        queue: SchedulingQueue,
        nominator: PodNominator,
        reports: Reports,
        current: Callable[[str], PodInfo | None],
        clock: Clock,
        observer: Observer,
    ) -> None:
        self._queue = queue
        self._nominator = nominator
        self._reports = reports
        self._current = current
        self._clock = clock
        self._observer = observer
        self._errors = ErrorLog(log, clock.now)
        self.begin_review: Callable[[], None] = lambda: None

    def failed(self, attempts: Sequence[Attempt]) -> None:
        """Bring pods that failed for one reason back to the queue, and say why they wait."""
        back: list[Attempt] = []
        for attempt in attempts:
            if self.still_waits(attempt):
                back.append(attempt)
            checkpoint()
        if back:
            self._queue.requeue([attempt.queued for attempt in back], back[0].rejection())
            self._queue.activate(attempt.pod for attempt in back if attempt.displaced)
            self.begin_review()
        now = self._clock.now()
        for attempt in attempts:
            self._tell(attempt, now)
            checkpoint()
        for attempt in back:
            self._nominate(attempt)
            self._reports.failed(
                attempt.queued.info, attempt.status or Status.failure(), attempt.nominated, attempt.group
            )
            checkpoint()

    def released(self, attempts: Sequence[Attempt]) -> None:
        """The same for pods that had a node reserved and gave it back: others may find room now."""
        self.failed(attempts)
        for attempt in attempts:
            self._queue.move_all(ASSIGNED_POD_DELETE, attempt.pod, None, besides=attempt.pod.uid)
            checkpoint()

    def still_waits(self, attempt: Attempt) -> bool:
        """Whether the pod, as it is by now, waits for a node: not one that is gone, bound or another one."""
        current = self._current(attempt.pod.key)
        if current is None or current.node_name or current.uid != attempt.pod.uid:
            self._queue.done(attempt.pod.uid)
            self._nominator.clear(attempt.pod.uid)  # a follower may have promised it the node that it gave back
            return False
        attempt.queued.info = current
        return True

    def _tell(self, attempt: Attempt, now: float) -> None:
        status = attempt.status or Status.failure()
        seconds = now - attempt.started
        self._observer.attempt(
            "unschedulable" if status.rejected else "error", profile=attempt.profile, seconds=seconds
        )
        pairs = {"pod": attempt.pod.key, "reason": status.message}
        if status.code is Code.ERROR:
            self._errors.error("Attempt failed", cause=_cause(status, attempt), error=status.error, pairs=pairs)
        else:
            log.log(DECISIONS, "Unable to schedule pod", extra={"pairs": pairs})

    def _nominate(self, attempt: Attempt) -> None:
        if attempt.nominated:
            self._nominator.nominate(attempt.queued.info, attempt.nominated)
        elif attempt.nominated == "" and self._nominator.clear(attempt.pod.uid):
            self._queue.move_all(ASSIGNED_POD_DELETE, attempt.pod, None, besides=attempt.pod.uid)


def _cause(status: Status, attempt: Attempt) -> Hashable:
    """What an error has in common with those of other pods: who met it, and its text without names and numbers."""
    text = status.message
    for name in filter(None, (attempt.pod.name, attempt.group, attempt.node_name)):
        text = text.replace(name, "")
    return status.plugin, reasons_in(text)
