"""Reports: what people are told of a pod's fate, as Events and as the PodScheduled condition.

The scheduler calls it once an attempt. A pod that waits for something outside (PENDING), such as its siblings, is
reported only when it still waits a moment later: a gang whose pods are created one after another would otherwise be
told once for each of them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from cachetools import LRUCache

from ..contract.handle import Timer
from ..contract.status import Code, Status
from ..model.pod_info import PodInfo
from .attempt import Attempt
from .ports import Ports

log = logging.getLogger(__name__)

DECISIONS = logging.INFO - 2
"""Level of the line that each decision gets: shown from `-v 2` on, as in kube-scheduler."""

PATIENCE_SECONDS = 1.0
_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class LastDecision:
    """The last decision about a pod. `node` is "" when it found none; `wall` is in seconds since the epoch.

    With `code` Wait Permit holds the pod on the node.
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
    """What will be told of a pod when the timer ends, see `Reports.failed`."""

    timer: Timer
    status: Status
    nominated: str | None


class Reports:
    """Writes through the ports. `current` gives the latest version of a pod by its key, None for one that is gone."""

    def __init__(self, ports: Ports, current: Callable[[str], PodInfo | None]) -> None:
        self._ports = ports
        self._current = current
        self._postponed: dict[str, _Postponed] = {}
        self._last: LRUCache[str, LastDecision] = LRUCache(_REMEMBERED)
        self._ended = False

    def last(self, key: str) -> LastDecision | None:
        """The last decision about the pod `namespace/name`, if it was among the latest ten thousand."""
        return self._last.get(key)

    def placed(self, attempt: Attempt) -> None:
        """The pod has a node, where Permit may hold it: it must not be said any more why it has none."""
        pod, node_name = attempt.pod, attempt.node_name
        self._drop(pod.uid)
        plugins = attempt.framework.waits_for(pod)
        if plugins:
            names = ", ".join(sorted(plugins))
            self._remember(pod, Status.wait(f"waits on node {node_name} for {names} to permit it").by(names), node_name)
            pairs = {"pod": pod.key, "node": node_name, "plugins": names}
            log.log(DECISIONS, "Pod waits on permit", extra={"pairs": pairs})

    def end(self) -> None:
        """The process ends: from now on nobody is told why pods wait. Whoever takes over will tell what holds then."""
        self._ended = True

    def bound(self, pod: PodInfo, node_name: str) -> None:
        """The pod was bound."""
        self._remember(pod, Status(Code.SUCCESS), node_name)
        note = f"Successfully assigned {pod.key} to {node_name}"
        self._event(pod, kind="Normal", reason="Scheduled", action="Binding", note=note)

    def warn(self, pod: PodInfo, note: str) -> None:
        """The pod cannot be scheduled; its condition stays as it is."""
        self._event(pod, kind="Warning", reason="FailedScheduling", action="Scheduling", note=note)

    def failed(self, pod: PodInfo, status: Status, nominated: str | None) -> None:
        """An attempt failed; `nominated` as in `ConditionWriter.unscheduled`."""
        self._remember(pod, status, "")
        if status.code is not Code.PENDING:
            self._drop(pod.uid)
            self._tell(pod, status, nominated)
            return
        postponed = self._postponed.get(pod.uid)
        if postponed is None:
            timer = self._ports.clock.call_later(PATIENCE_SECONDS, partial(self._tell_now, pod))
            self._postponed[pod.uid] = _Postponed(timer, status, nominated)
        else:
            postponed.status, postponed.nominated = status, nominated

    def _tell_now(self, pod: PodInfo) -> None:
        """The patience with a pod that waits is over: the latest reason is told."""
        postponed = self._postponed.pop(pod.uid)
        current = self._current(pod.key)
        if current is not None and current.uid == pod.uid and not current.node_name:
            self._tell(current, postponed.status, postponed.nominated)

    def _tell(self, pod: PodInfo, status: Status, nominated: str | None) -> None:
        if self._ended:
            return
        reason = "Unschedulable" if status.rejected else "SchedulerError"
        self.warn(pod, status.message)
        self._ports.conditions.unscheduled(pod, reason=reason, message=status.message, nominated_node=nominated)

    def _event(self, pod: PodInfo, *, kind: str, reason: str, action: str, note: str) -> None:
        sink = self._ports.events(pod.pod.spec.scheduler_name)
        sink.event(pod, kind=kind, reason=reason, action=action, note=note)

    def _remember(self, pod: PodInfo, status: Status, node_name: str) -> None:
        self._last[pod.key] = LastDecision(
            pod.key, pod.uid, node_name, status.code.wire_name, status.message, status.plugin, self._ports.clock.wall()
        )

    def _drop(self, uid: str) -> None:
        postponed = self._postponed.pop(uid, None)
        if postponed is not None:
            postponed.timer.cancel()
