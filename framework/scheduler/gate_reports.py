"""Reports of pods that a plugin gates until a person decides otherwise, as for a group that an operator holds.

Gates are usually not reported, because the pod waits for something that is about to come. A plugin reports a gate that
may last through its handle. The pod then gets an Event and the condition with the reason SchedulingGated, as a pod with
scheduling gates has it, so autoscalers add no nodes for it. From then on the condition follows the gate until the pod
is admitted to the queue: it names the next reason for which the pod is gated, if there is one.

A process that does not lead reports nothing. It remembers the gates, and reports them when it leads.
"""

from __future__ import annotations

from collections.abc import Callable

from ..model.pod import POD_SCHEDULED, SCHEDULING_GATED, PodCondition
from ..model.pod_info import PodInfo
from .ports import Ports

GATED = "Scheduling is blocked due to non-empty scheduling gates"
"""The message of the condition that the API server gives to a pod with scheduling gates."""

_POLL_SECONDS = 1.0
"""How often a process that may not report checks whether it may now."""


class GateReports:
    """Reports gated pods through the ports. `current` returns the latest version of a pod by its key."""

    def __init__(self, ports: Ports, current: Callable[[str], PodInfo | None]) -> None:
        self._ports = ports
        self._current = current
        self._messages: dict[str, str] = {}
        self._unreported: dict[str, PodInfo] = {}
        self._polling = False

    def covers(self, uid: str) -> bool:
        """Whether a gate was reported for the pod, or is to be, and has not ended since."""
        return uid in self._messages

    def report(self, pod: PodInfo, message: str) -> None:
        """Report that a plugin gates the pod. A repetition is not reported again."""
        if self._messages.get(pod.uid) == message:
            return
        self._messages[pod.uid] = message
        if self._ports.may_report():
            self._report(pod, message)
            return
        self._unreported[pod.uid] = pod
        self._poll_later()

    def follow(self, pod: PodInfo, message: str) -> None:
        """PreEnqueue gates the pod for this reason: report it if the pod's last report was about a gate."""
        if self.covers(pod.uid) or _is_own(_condition(pod)):
            self.report(pod, message)

    def end(self, uid: str) -> None:
        """The pod is no longer gated, or was deleted; a later gate is reported as a new one."""
        self._messages.pop(uid, None)
        self._unreported.pop(uid, None)

    def _report(self, pod: PodInfo, message: str) -> None:
        self._unreported.pop(pod.uid, None)
        sink = self._ports.events(pod.pod.spec.scheduler_name)
        sink.event(pod, type="Warning", reason="FailedScheduling", action="Scheduling", note=message)
        self._ports.conditions.unscheduled(pod, reason=SCHEDULING_GATED, message=message, nominated_node=None)

    def _poll_later(self) -> None:
        if self._unreported and not self._polling:
            self._polling = True
            self._ports.clock.call_later(_POLL_SECONDS, self._poll)

    def _poll(self) -> None:
        self._polling = False
        if self._ports.may_report():
            for uid in [*self._unreported]:
                self._report_belatedly(uid)
        self._poll_later()

    def _report_belatedly(self, uid: str) -> None:
        """Report a pod that was gated while this process did not lead, unless the previous leader did so."""
        pod = self._current(self._unreported.pop(uid).key)
        if pod is None or pod.uid != uid or pod.node_name:
            return
        known, message = _condition(pod), self._messages[uid]
        if (known.reason, known.message) != (SCHEDULING_GATED, message):
            self._report(pod, message)


def _condition(pod: PodInfo) -> PodCondition:
    return pod.pod.status.condition(POD_SCHEDULED) or PodCondition()


def _is_own(condition: PodCondition) -> bool:
    """Whether the condition was written here, by this process or an earlier one, and not by the API server."""
    return condition.reason == SCHEDULING_GATED and condition.message != GATED
