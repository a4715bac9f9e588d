"""Pods that have a node but are not bound yet: pods that wait at Permit, and pods in PreBind.

A pod waits until every plugin that answered `Wait` has allowed it, one of them rejects it, or the time is up. The
scheduling cycle adds the pod, plugins allow and reject it through the handle, and the binding cycle awaits the result.
Until Bind starts, the pod can be preempted without any request to the API.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..config.durations import format_duration
from ..contract.handle import MAX_WAIT_SECONDS, Clock, Timer
from ..contract.status import Status
from ..model.pod_info import PodInfo
from .standstill import Standstill


@dataclass(frozen=True, slots=True)
class PermitWait:
    """A plugin's WAIT: for how many seconds at most, and why; "" if the plugin gives no reason."""

    seconds: float
    message: str = ""


class PodAtPermit:
    """A pod that waits at Permit. Its wait ends once: by the last `allow`, the first `reject` or the first timer."""

    def __init__(self, pod: PodInfo, node_name: str, waits: Mapping[str, PermitWait], clock: Clock) -> None:
        """`waits` by the name of the plugin; none lasts longer than 15 minutes."""
        self.pod = pod
        self.node_name = node_name
        self._verdict: Status | None = None
        self._settled = asyncio.Event()
        self._waits = waits
        self._timers: dict[str, Timer] = {}
        for plugin, wait in waits.items():
            seconds = min(wait.seconds, MAX_WAIT_SECONDS)
            text = f"rejected due to timeout after waiting {format_duration(seconds)} at plugin {plugin}"
            self._timers[plugin] = clock.call_later(seconds, partial(self.reject, plugin, text))

    @property
    def pending_plugins(self) -> frozenset[str]:
        """Plugins that have not allowed it yet."""
        return frozenset(self._timers)

    @property
    def messages(self) -> dict[str, str]:
        """The messages of the pending plugins, "" for one without."""
        return {plugin: self._waits[plugin].message for plugin in self._timers}

    @property
    def is_rejected(self) -> bool:
        """Whether the pod was rejected."""
        return self._verdict is not None

    def allow(self, plugin: str) -> None:
        """`plugin` lets the pod pass."""
        timer = self._timers.pop(plugin, None)
        if timer is not None:
            timer.cancel()
            if not self._timers:
                self._settled.set()

    def reject(self, plugin: str, message: str) -> None:
        """Reject the pod in `plugin`'s name, unless its wait has ended."""
        if not self._settled.is_set():
            self._settle(Status.unschedulable(message).by(plugin))

    def fail(self, status: Status) -> bool:
        """End the wait with a status of the engine, e.g. because the pod was deleted. False if it had ended before."""
        if self._settled.is_set():
            return False
        self._settle(status)
        return True

    async def wait(self) -> Status | None:
        """Wait until every plugin has allowed the pod (None), or it is rejected (the status)."""
        await self._settled.wait()
        return self._verdict

    def _settle(self, verdict: Status) -> None:
        self._verdict = verdict
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._settled.set()


class PodsAtPermit:
    """Pods of all profiles by UID: pods that wait at Permit, and pods in PreBind, whose work `standstill` paces."""

    def __init__(self, standstill: Standstill) -> None:
        self._standstill = standstill
        self._by_uid: dict[str, PodAtPermit] = {}
        self._in_pre_bind: dict[str, asyncio.Future[Status]] = {}

    def add(self, pod: PodAtPermit) -> None:
        """Let a pod wait."""
        self._by_uid[pod.pod.uid] = pod

    def discard(self, uid: str) -> None:
        """Forget the pod: its wait has ended."""
        self._by_uid.pop(uid, None)

    def get(self, uid: str) -> PodAtPermit | None:
        """The waiting pod with this UID."""
        return self._by_uid.get(uid)

    def preempt(self, uid: str, plugin: str) -> bool:
        """Reject a waiting pod, or cancel its PreBind; returns whether there was anything to end.

        A pod that was rejected before and has not released its node yet counts too. Upstream: WaitingPod.Preempt and
        CancelPod.
        """
        waiting = self._by_uid.get(uid)
        if waiting is not None:
            waiting.fail(Status.failure("preempted").by(plugin))
            return waiting.is_rejected
        cancelled = self._in_pre_bind.get(uid)
        if cancelled is None:
            return False
        if not cancelled.done():
            cancelled.set_result(Status.failure(f"preempted by {plugin}").by(plugin))
        return True

    async def unless_preempted(self, pod: PodInfo, work: Coroutine[Any, Any, Status | None]) -> Status | None:
        """The answer of `work`, the pod's PreBind. If the pod is preempted meanwhile, `work` is cancelled."""
        cancelled: asyncio.Future[Status] = asyncio.get_running_loop().create_future()
        task = asyncio.ensure_future(self._standstill.pace_own(work))
        self._in_pre_bind[pod.uid] = cancelled
        try:
            await asyncio.wait((task, cancelled), return_when=asyncio.FIRST_COMPLETED)
            return cancelled.result() if cancelled.done() else task.result()
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait((task,))
            del self._in_pre_bind[pod.uid]

    def __iter__(self) -> Iterator[PodAtPermit]:
        return iter(tuple(self._by_uid.values()))

    def __len__(self) -> int:
        return len(self._by_uid)
