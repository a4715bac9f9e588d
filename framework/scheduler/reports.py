"""Reports of a pod's fate to users: Events and the PodScheduled condition.

The scheduler calls it once per attempt. Reports follow reasons, not the numbers in their text: a change of reasons is
written at once. Otherwise a report is written at most every half minute, for one of several equal pods (of one
signature, or of one group), with the latest numbers; a full cluster with thousands of waiting pods would otherwise do
little but write. A pod that waits for something outside (PENDING), such as its siblings, is reported only if it still
waits a moment later: a gang whose pods are created one after another would otherwise be reported once for each of them.

The condition of pods that are not tried stays up to date too, see `Review`: it is rewritten when the reasons change,
without an Event, because an Event reports an attempt.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from weakref import ref

from cachetools import LRUCache, TTLCache

from ..contract.handle import Timer
from ..contract.status import Code, Status
from ..model.pod import SCHEDULER_ERROR, UNSCHEDULABLE
from ..model.pod_info import PodInfo, PodSignature
from .attempt import Attempt
from .gate_reports import GateReports
from .permit_reports import PermitReports, waits_on_permit
from .ports import Ports

log = logging.getLogger(__name__)

DECISIONS = logging.INFO - 2
"""Level of the line that each decision gets: shown from `-v 2` on, as in kube-scheduler."""

PATIENCE_SECONDS = 1.0
REFRESH_SECONDS = 30.0
_REMEMBERED = 10_000
_MOST_REPORTED = 100_000
_SHORT = 1_000
"""The longest text, in characters, whose reasons are cached: the cache outlives the pods."""
_PIECES = re.compile(r"[,.:;]\s+|[.]$")
_NUMBERS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class LastDecision:
    """The last decision about a pod.

    `node` is "" if no node was found; `wall` is in seconds since the epoch. If `code` is Wait, the pod waits at Permit
    on the node.
    """

    pod: str
    uid: str
    node: str
    code: str
    message: str
    plugin: str
    wall: float


@dataclass(slots=True)
class _Postponed:
    """The report on a pod that is due when the timer fires, see `Reports.failed`."""

    timer: Timer
    pod: PodInfo
    status: Status
    nominated: str | None


Reasons = frozenset[str]
ReasonKey = str | ref[PodSignature]
"""The key of pods that wait for the same reasons: their group, else their signature; for a PENDING pod its UID."""


class Reports:
    """Writes through the ports. `current` returns the latest version of a pod by its key, None for a deleted pod.

    Attributes:
        permit: reports pods that wait at Permit for long.
        gates: reports pods that plugins gate until a person decides otherwise.
        report_count: the number of reports written.
    """

    def __init__(self, ports: Ports, current: Callable[[str], PodInfo | None]) -> None:
        self.permit = PermitReports(ports)
        self.gates = GateReports(ports, current)
        self._ports = ports
        self._current = current
        self._postponed: dict[str, _Postponed] = {}
        self._reported: LRUCache[str, tuple[Reasons, str]] = LRUCache(_MOST_REPORTED)
        self._reported_at: TTLCache[ReasonKey, float] = TTLCache(_REMEMBERED, REFRESH_SECONDS, ports.clock.now)
        self._refreshes: dict[ReasonKey, _Postponed] = {}
        self._last: LRUCache[str, LastDecision] = LRUCache(_REMEMBERED)
        self._ended = False
        self.report_count = 0

    def last(self, key: str) -> LastDecision | None:
        """The last decision about the pod `namespace/name`, if it was among the latest ten thousand."""
        return self._last.get(key)

    def forget(self, pod: PodInfo) -> None:
        """Forget the reports about a deleted pod."""
        self._ports.conditions.forget(pod.uid)
        self.gates.end(pod.uid)
        self._drop(pod.uid)
        self._reported.pop(pod.uid, None)
        self._reported_at.pop(pod.uid, None)
        last = self._last.get(pod.key)
        if last is not None and last.uid == pod.uid:
            del self._last[pod.key]

    def placed(self, attempt: Attempt) -> None:
        """The pod has a node, where it may wait at Permit: drop the reason why it had none."""
        pod, node_name = attempt.pod, attempt.node_name
        self._drop(pod.uid)
        self._reported.pop(pod.uid, None)
        waits = attempt.framework.permitting.waits_of(pod) if attempt.waits_at_permit else {}
        if waits:
            names = ", ".join(sorted(waits))
            self._remember(pod, Status.wait(waits_on_permit(node_name, waits)).by(names), node_name)
            pairs = {"pod": pod.key, "node": node_name, "plugins": names}
            log.log(DECISIONS, "Pod waits on permit", extra={"pairs": pairs})

    def expected(self, pod: PodInfo, node_name: str) -> None:
        """The pod will be bound to the node, but not at once."""
        if not self._ended:
            self._ports.conditions.nominated(pod, node_name)

    def end(self) -> None:
        """Report nothing more, because the process ends; the next leader reports the reasons that hold then."""
        self._ended = True

    def bound(self, pod: PodInfo, node_name: str) -> None:
        """The pod was bound: record the Event `Scheduled`."""
        self._remember(pod, Status(Code.SUCCESS), node_name)
        note = f"Successfully assigned {pod.key} to {node_name}"
        self._event(pod, type="Normal", reason="Scheduled", action="Binding", note=note)

    def warn(self, pod: PodInfo, note: str) -> None:
        """Record the Event `FailedScheduling`, without a change of the pod's condition."""
        self._event(pod, type="Warning", reason="FailedScheduling", action="Scheduling", note=note)

    def gated(self, pod: PodInfo, message: str) -> None:
        """A plugin gates the pod, and reports it for this reason; see `GateReports`."""
        if not self._ended:
            self._remember(pod, Status.pending(message), "")
            self._drop(pod.uid)
            self._reported.pop(pod.uid, None)
            self.gates.report(pod, message)

    def follow_gate(self, pod: PodInfo, message: str) -> None:
        """PreEnqueue gates the pod for this reason, which replaces that of a gate that was reported."""
        if not self._ended:
            self.gates.follow(pod, message)

    def failed(self, pod: PodInfo, status: Status, nominated: str | None, group: str | None = None) -> None:
        """An attempt failed; `nominated` as in `ConditionWriter.unscheduled`, `group` if the pod was tried with one.

        A pod that was gated as it returned to the queue is reported as gated instead.
        """
        if self.gates.covers(pod.uid):
            return
        self._remember(pod, status, "")
        pending = status.code is Code.PENDING
        key: ReasonKey = pod.uid if pending else group or ref(pod.signature)
        reasons, message = self._reported.get(pod.uid, (None, ""))
        nominates = nominated is not None and nominated != pod.pod.status.nominated_node_name
        if not nominates and reasons == reasons_of(status):
            self._drop(pod.uid)
            self._refresh(key, pod, status, nominated, changed=message != status.message)
        elif pending:
            self._postpone(pod, status, nominated)
        else:
            self._drop(pod.uid)
            self._report(key, pod, status, nominated)

    def reported(self, uid: str) -> Reasons | None:
        """The reasons last reported for the pod with this UID; None if there are none, or they no longer hold."""
        known = self._reported.get(uid)
        return None if known is None else known[0]

    def renewed(self, pod: PodInfo, status: Status) -> None:
        """Report the new reasons of a waiting pod that was reviewed, not tried."""
        if not self._ended:
            self._drop(pod.uid)
            self._set_condition(pod, status, None)

    def _postpone(self, pod: PodInfo, status: Status, nominated: str | None) -> None:
        """Report this after `PATIENCE_SECONDS`, unless there is another report by then."""
        postponed = self._postponed.get(pod.uid)
        if postponed is None:
            timer = self._ports.clock.call_later(PATIENCE_SECONDS, partial(self._patience_ended, pod.uid))
            self._postponed[pod.uid] = _Postponed(timer, pod, status, nominated)
        else:
            postponed.status, postponed.nominated = status, nominated

    def _refresh(self, key: ReasonKey, pod: PodInfo, status: Status, nominated: str | None, *, changed: bool) -> None:
        """Report this half a minute after the last report on equal pods, or at once if that has passed.

        If only a later report is possible, it is written only if the numbers have changed.
        """
        clock = self._ports.clock
        seconds = self._reported_at.get(key, float("-inf")) + REFRESH_SECONDS - clock.now()
        refresh = self._refreshes.get(key)
        if seconds <= 0 and refresh is None:
            self._report(key, pod, status, nominated)
        elif refresh is None and changed:
            timer = clock.call_later(seconds, partial(self._refresh_now, key))
            self._refreshes[key] = _Postponed(timer, pod, status, nominated)
        elif refresh is not None:
            refresh.pod, refresh.status, refresh.nominated = pod, status, nominated

    def _refresh_now(self, key: ReasonKey) -> None:
        refresh = self._refreshes.pop(key)
        if self.reported(refresh.pod.uid) == reasons_of(refresh.status):
            self._report_if_it_waits(key, refresh)

    def _patience_ended(self, uid: str) -> None:
        self._report_if_it_waits(uid, self._postponed.pop(uid))

    def _report_if_it_waits(self, key: ReasonKey, postponed: _Postponed) -> None:
        current = self._current(postponed.pod.key)
        if current is not None and current.uid == postponed.pod.uid and not current.node_name:
            self._report(key, current, postponed.status, postponed.nominated)

    def _report(self, key: ReasonKey, pod: PodInfo, status: Status, nominated: str | None) -> None:
        if self._ended:
            return
        self.report_count += 1
        self._reported_at[key] = self._ports.clock.now()
        self.warn(pod, status.message)
        self._set_condition(pod, status, nominated)

    def _set_condition(self, pod: PodInfo, status: Status, nominated: str | None) -> None:
        reason, message = _condition_reason(status), status.message
        self._reported[pod.uid] = reasons_in(message) | {reason}, message
        self._ports.conditions.unscheduled(pod, reason=reason, message=message, nominated_node=nominated)

    def _event(self, pod: PodInfo, *, type: str, reason: str, action: str, note: str) -> None:
        sink = self._ports.events(pod.pod.spec.scheduler_name)
        sink.event(pod, type=type, reason=reason, action=action, note=note)

    def _remember(self, pod: PodInfo, status: Status, node_name: str) -> None:
        self._last[pod.key] = LastDecision(
            pod.key, pod.uid, node_name, status.code.wire_name, status.message, status.plugin, self._ports.clock.wall()
        )

    def _drop(self, uid: str) -> None:
        postponed = self._postponed.pop(uid, None)
        if postponed is not None:
            postponed.timer.cancel()


def reasons_of(status: Status) -> Reasons:
    """The reasons in the status's message, without numbers and order, which depends on the numbers."""
    return reasons_in(status.message) | {_condition_reason(status)}


def reasons_in(message: str) -> Reasons:
    """The reasons in a text, without numbers and order, which depends on the numbers."""
    return _short_reasons_in(message) if len(message) <= _SHORT else _reasons_in(message)


def _condition_reason(status: Status) -> str:
    return (status.condition_reason or UNSCHEDULABLE) if status.rejected else SCHEDULER_ERROR


@lru_cache(maxsize=256)  # thousands of members have the same message
def _short_reasons_in(message: str) -> Reasons:
    return _reasons_in(message)


def _reasons_in(message: str) -> Reasons:
    return frozenset(filter(None, map(str.strip, _PIECES.split(_NUMBERS.sub("", message)))))
