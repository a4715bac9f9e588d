"""The progress of attempts as the process and operators see it: bindings in flight, metrics and log lines.

`schedule_one` reports here what it does. `Scheduler.bindings_in_flight` counts them from here, and the operator's loop
limits their number. Nothing here changes a decision.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from ..contract.api import ApiError
from ..contract.status import Code, Status
from ..error_log import ErrorLog
from ..work import checkpoint
from .attempt import Attempt
from .ports import Ports
from .reports import DECISIONS, reasons_in

log = logging.getLogger(__name__)

_NOT_FOUND = 404


class PodsBeingBound:
    """UIDs of pods whose bindings are in flight, without pods at Permit. `wake` is called when there are fewer."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._uids = set[str]()
        self._wake = wake

    def __len__(self) -> int:
        return len(self._uids)

    def begin(self, uids: Iterable[str]) -> None:
        """The bindings of these pods, by UID, have begun."""
        self._uids.update(uids)

    def end(self, uid: str) -> None:
        """The binding of the pod, if it was in flight, has ended."""
        self._uids.discard(uid)
        self._wake()


class AttemptObserver:
    """Counts, measures and logs attempts of all profiles."""

    def __init__(self, ports: Ports) -> None:
        self._metrics = ports.metrics
        self._now = ports.measured.now
        self._errors = ErrorLog(log, self._now)

    def searched(self, began: float) -> None:
        """The search for a node that began at this time is over, including PostFilter."""
        self._metrics.scheduling_algorithm_duration.observe((), self._now() - began)

    @contextmanager
    def binding(self) -> Iterator[None]:
        """Count a binding task while it runs."""
        self._metrics.goroutines.add(("binding",), 1)
        try:
            yield
        finally:
            self._metrics.goroutines.add(("binding",), -1)

    def bound(self, attempt: Attempt) -> None:
        """The pod is bound."""
        now, metrics, queued = self._now(), self._metrics, attempt.queued
        metrics.pod_attempted("scheduled", profile=attempt.profile, seconds=now - attempt.started)
        metrics.pod_bound(
            attempts=queued.attempts, sli_seconds=now - queued.first_seen, after_flush=attempt.after_flush
        )
        log.log(DECISIONS, "Bound pod", extra={"pairs": {"pod": attempt.pod.key, "node": attempt.node_name}})

    def failed(self, attempts: Sequence[Attempt]) -> None:
        """The attempts have failed."""
        now = self._now()
        for attempt in attempts:
            status = attempt.status or Status.failure()
            self._metrics.pod_attempted(
                "unschedulable" if status.rejected else "error",
                profile=attempt.profile,
                seconds=now - attempt.started,
            )
            pairs = {"pod": attempt.pod.key, "reason": status.message}
            if status.code is not Code.ERROR:
                log.log(DECISIONS, "Unable to schedule pod", extra={"pairs": pairs})
            elif _is_not_found(status.error):
                # Deleted meanwhile, as a rule the pod; kube-scheduler's line guesses the node.
                log.log(
                    DECISIONS, "Unable to schedule pod, possibly due to node not found; waiting", extra={"pairs": pairs}
                )
            else:
                self._errors.error("Attempt failed", cause=_cause(status, attempt), error=status.error, pairs=pairs)
            checkpoint()


def _is_not_found(error: BaseException | None) -> bool:
    """Whether the error, or one that caused it, is the API server's 404."""
    while error is not None and not isinstance(error, ApiError):
        error = error.__cause__
    return error is not None and error.status == _NOT_FOUND


def _cause(status: Status, attempt: Attempt) -> Hashable:
    """The part of an error that errors of other pods share: the plugin, and the text without names and numbers."""
    text = status.message
    for name in filter(None, (attempt.pod.name, attempt.group, attempt.node_name)):
        text = text.replace(name, "")
    return status.plugin, reasons_in(text)
