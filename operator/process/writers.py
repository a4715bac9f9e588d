"""The engine's ports for writing, over the API client: bindings, and the PodScheduled condition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from muster.framework.contract import Status
from muster.framework.model.pod import PodCondition
from muster.operator.kube.outcome import Result
from muster.operator.kube.pod_status import plan_patch

if TYPE_CHECKING:
    from muster.framework.contract import Clock
    from muster.framework.model.pod_info import PodInfo
    from muster.operator.kube.bindings import BindingWriter
    from muster.operator.kube.pod_status import StatusWriter

    from .tasks import TaskSet


class ApiBinder:
    """Implements `contract.Binder`."""

    def __init__(self, writer: BindingWriter) -> None:
        self._writer = writer

    async def bind(self, pod: PodInfo, node_name: str) -> Status | None:
        """Bind the pod; success when the API accepted it."""
        outcome = await self._writer.bind(pod.pod.metadata, node_name)
        return None if outcome.result is Result.DONE else Status.failure(outcome.message)


class ConditionWriter:
    """Implements `contract.ConditionWriter`: the latest condition of a pod wins, and one write a pod is under way.

    When a pod fails again before its last condition was written, only the newest is written after it.
    """

    def __init__(self, writer: StatusWriter, tasks: TaskSet, clock: Clock) -> None:
        self._writer = writer
        self._tasks = tasks
        self._clock = clock
        self._next: dict[str, tuple[PodInfo, PodCondition, str | None]] = {}
        self._writing: set[str] = set()

    def unscheduled(self, pod: PodInfo, *, reason: str, message: str, nominated_node: str | None) -> None:
        """Set PodScheduled to False."""
        condition = PodCondition(type="PodScheduled", status="False", reason=reason, message=message)
        self._next[pod.uid] = (pod, condition, nominated_node)
        if pod.uid not in self._writing:
            self._writing.add(pod.uid)
            self._tasks.spawn(self._write(pod.uid))

    async def _write(self, uid: str) -> None:
        try:
            while (newest := self._next.pop(uid, None)) is not None:
                pod, condition, nominated_node = newest
                patch = plan_patch(pod.pod, now=self._clock.wall(), condition=condition, nominated_node=nominated_node)
                if patch is not None:
                    await self._writer.patch(pod.pod.metadata, patch)
        finally:
            self._writing.discard(uid)
