"""Reports: what people are told of a pod's fate, as Events and as the PodScheduled condition.

The scheduler calls it once an attempt. A pod that waits for something outside (PENDING), such as its siblings, is
reported only when it still waits a moment later: a gang whose pods are created one after another would otherwise be
told once for each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from cachetools import LRUCache

from ..contract.handle import Timer
from ..contract.status import Code, Status
from ..model.pod_info import PodInfo
from .ports import Ports

PATIENCE_SECONDS = 1.0
_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class Decision:
    """The last decision about a pod. `node` is "" when it found none; `wall` is in seconds since the epoch."""

    pod: str
    uid: str
    node: str
    code: str
    message: str
    plugin: str
    wall: float


@dataclass(slots=True)
class _HeldBack:
    """What will be told of a pod when the timer ends, see `Reports.failed`."""

    timer: Timer
    status: Status
    nominated: str | None


class Reports:
    """Writes through the ports. `current` gives the latest version of a pod by its key, None for one that is gone."""

    def __init__(self, ports: Ports, current: Callable[[str], PodInfo | None]) -> None:
        self._ports = ports
        self._current = current
        self._held_back: dict[str, _HeldBack] = {}
        self._last: LRUCache[str, Decision] = LRUCache(_REMEMBERED)
        self._ended = False

    def last(self, key: str) -> Decision | None:
        """The last decision about the pod `namespace/name`, if it was among the latest ten thousand."""
        return self._last.get(key)

    def held(self, pods: Iterable[PodInfo]) -> None:
        """The pods hold nodes and are about to be bound: it must not be said any more that they wait."""
        for pod in pods:
            self._drop(pod.uid)

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
        held_back = self._held_back.get(pod.uid)
        if held_back is None:
            timer = self._ports.clock.call_later(PATIENCE_SECONDS, partial(self._tell_now, pod))
            self._held_back[pod.uid] = _HeldBack(timer, status, nominated)
        else:
            held_back.status, held_back.nominated = status, nominated

    def _tell_now(self, pod: PodInfo) -> None:
        """The patience with a pod that waits is over: the latest reason is told."""
        held_back = self._held_back.pop(pod.uid)
        current = self._current(pod.key)
        if current is not None and current.uid == pod.uid and not current.node_name:
            self._tell(current, held_back.status, held_back.nominated)

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
        self._last[pod.key] = Decision(
            pod.key, pod.uid, node_name, status.code.wire_name, status.message, status.plugin, self._ports.clock.wall()
        )

    def _drop(self, uid: str) -> None:
        held_back = self._held_back.pop(uid, None)
        if held_back is not None:
            held_back.timer.cancel()
