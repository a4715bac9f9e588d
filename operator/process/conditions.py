"""The writer of PodScheduled conditions and nominations, between the engine and the API.

The engine reports a pod after each attempt, and thousands at once after the attempt of a gang of thousands. The number
of concurrent writes is small: however many reports there are, no Binding waits behind them, and a waiting report needs
no task of its own.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from cachetools import LRUCache

from muster.framework.model.pod import POD_SCHEDULED, PodCondition
from muster.operator.kube.outcome import Result
from muster.operator.kube.pod_status import plan_patch

from .tasks import TaskSet

if TYPE_CHECKING:
    from muster.framework.contract import Clock
    from muster.framework.model.pod_info import PodInfo
    from muster.framework.runtime.standstill import Standstill
    from muster.operator.kube.outcome import Outcome
    from muster.operator.kube.pod_status import StatusWriter

log = logging.getLogger(__name__)

_AT_ONCE = 16
"""Half of a client's limit of writes in flight."""
_NOMINATIONS = 10_000


class PodConditionWriter:
    """Implements `contract.ConditionWriter`: the latest condition of a pod wins, with one write per pod in flight.

    If a pod fails again before its last condition was written, only the newest is written after it. A nomination that
    was written and that the watch has not reported yet is known here, so that it can be withdrawn.
    """

    def __init__(self, writer: StatusWriter, clock: Clock, standstill: Standstill) -> None:
        self._writer = writer
        self._clock = clock
        self._standstill = standstill
        self._tasks = TaskSet()
        self._next: dict[str, tuple[PodInfo, PodCondition | None, str | None]] = {}
        self._waiting: dict[str, None] = {}
        self._nominated: LRUCache[str, str] = LRUCache(_NOMINATIONS)
        self._under_way: dict[str, tuple[asyncio.Task[None], asyncio.Event]] = {}

    def __len__(self) -> int:
        """The number of pods whose condition waits to be written, or is in flight."""
        return len(self._under_way.keys() | self._next.keys())

    def unscheduled(self, pod: PodInfo, *, reason: str, message: str, nominated_node: str | None) -> None:
        """Set PodScheduled to False."""
        condition = PodCondition(type=POD_SCHEDULED, status="False", reason=reason, message=message)
        self._queue(pod, condition, nominated_node)

    def nominated(self, pod: PodInfo, node_name: str) -> None:
        """Set the nomination alone."""
        self._queue(pod, None, node_name)

    def forget(self, uid: str) -> None:
        """Forget a deleted pod and its conditions, written or not."""
        self._next.pop(uid, None)
        self._waiting.pop(uid, None)
        self._nominated.pop(uid, None)

    async def withdraw(self, uid: str) -> None:
        """Drop the pod's condition that is not written yet. Returns when no write for the pod is in flight."""
        self._next.pop(uid, None)
        self._waiting.pop(uid, None)
        if uid in self._under_way:
            task, given_up = self._under_way[uid]
            given_up.set()
            await asyncio.wait((task,))

    async def drain(self, *, within: float) -> int:
        """Write the remaining conditions, for `within` seconds at most. Returns the number of pods left."""
        try:
            async with asyncio.timeout(within):
                while self._under_way:
                    await asyncio.wait([task for task, _ in self._under_way.values()])
        except TimeoutError:
            pass
        cut_off = len(self)
        self._next.clear()
        self._waiting.clear()
        await self._tasks.drain(within=0)
        return cut_off

    def _queue(self, pod: PodInfo, condition: PodCondition | None, nominated_node: str | None) -> None:
        _, earlier_condition, earlier_node = self._next.get(pod.uid, (pod, None, None))
        node = earlier_node if nominated_node is None else nominated_node
        self._next[pod.uid] = (pod, condition or earlier_condition, node)
        if pod.uid not in self._under_way:
            self._waiting[pod.uid] = None
            self._go_on()

    def _go_on(self) -> None:
        """Start writes for the pods that have waited longest, up to the limit of writes in flight."""
        while self._waiting and len(self._under_way) < _AT_ONCE:
            uid = next(iter(self._waiting))
            del self._waiting[uid]
            given_up = asyncio.Event()
            task = self._tasks.spawn(self._standstill.pace(self._write(uid, given_up)))
            self._under_way[uid] = task, given_up
            task.add_done_callback(lambda _, uid=uid: self._done(uid))  # type: ignore[misc]  # a default keeps it

    def _done(self, uid: str) -> None:
        del self._under_way[uid]
        if uid in self._next:
            self._waiting[uid] = None
        self._go_on()

    async def _write(self, uid: str, given_up: asyncio.Event) -> None:
        while (newest := self._next.pop(uid, None)) is not None:
            pod, condition, nominated_node = newest
            patch = plan_patch(
                pod.pod,
                now=self._clock.wall(),
                condition=condition,
                nominated_node=nominated_node,
                written_node=self._nominated.get(uid),
            )
            if patch is not None:
                if nominated_node is not None:
                    # Noted before the request: if its answer is lost, the nomination may have been written.
                    self._nominated[uid] = nominated_node
                outcome = await self._writer.patch(pod.pod.metadata, patch, given_up=given_up)
                failed = outcome.result is Result.FAILED and not given_up.is_set()
                _log_unwritten(pod, outcome, logging.WARNING if failed else logging.DEBUG)


def _log_unwritten(pod: PodInfo, outcome: Outcome, level: int) -> None:
    if outcome.result is not Result.DONE:
        log.log(level, "the PodScheduled condition of pod %s was not written: %s", pod.key, outcome.message)
