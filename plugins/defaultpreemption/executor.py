"""The executor: evicts the victims of a decision, while the scheduler goes on.

DefaultPreemption sets it off when the scheduler acts on a decision, and asks it at PreEnqueue whether a pod's victims
are still being evicted. All victims but one are evicted side by side and the last one after them, so that a pod is held
until the eviction that frees its place has been asked for, and an event that could wake it is still to come
(upstream: `preemption.Executor`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

import msgspec

from muster.framework.contract import STRATEGIC_MERGE_PATCH, ApiError, Handle
from muster.framework.model.meta import rfc3339
from muster.framework.model.pod_info import PodInfo

from .candidates import Candidate
from .victims import Placed

log = logging.getLogger(__name__)

_NOT_FOUND = 404
_DISRUPTION_TARGET = "DisruptionTarget"
_BY_SCHEDULER = "PreemptionByScheduler"


def terminating_by_preemption(pod: PodInfo) -> bool:
    """Whether the pod is on its way out because a scheduler preempted it."""
    return pod.terminating and any(
        condition.type == _DISRUPTION_TARGET and condition.status == "True" and condition.reason == _BY_SCHEDULER
        for condition in pod.pod.status.conditions
    )


class Executor:
    """Evictions under way. `plugin` is the name that waiting victims are turned away in."""

    def __init__(self, handle: Handle, plugin: str) -> None:
        self._handle = handle
        self._plugin = plugin
        self._last_victim: dict[str, Placed | None] = {}

    def is_running(self, uid: str) -> bool:
        """Whether evictions for the pod with this UID are still to be asked for."""
        if uid not in self._last_victim:
            return False
        last = self._last_victim[uid]
        if last is None:
            return True
        snapshot = self._handle.snapshot
        row = snapshot.row_of(last.node_name)
        current = None if row is None else snapshot.pods[row].get(last.pod.uid)
        return current is not None and not current.terminating

    def start(self, preemptor: PodInfo, candidate: Candidate) -> None:
        """Evict the candidate's victims for the preemptor. Those on their way out already are left alone."""
        self._handle.observer.preemption_victims(len(candidate.victims), violations=candidate.violations)
        victims = [victim for victim in candidate.victims if not victim.pod.terminating]
        if victims:
            self._last_victim[preemptor.uid] = None
            self._handle.spawn(self._run(preemptor, candidate.node_name, victims))

    async def _run(self, preemptor: PodInfo, node_name: str, victims: Sequence[Placed]) -> None:
        failed = in_memory = False
        since = self._handle.clock.now()
        try:
            for pod in self._handle.nominator.nominated_pods(node_name):
                if pod.priority < preemptor.priority:
                    self._handle.nominator.clear(pod.uid)
            *others, last = victims
            outcomes = await asyncio.gather(
                *(self._evict(preemptor, node_name, victim) for victim in others), return_exceptions=True
            )
            errors = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
            if errors:
                raise errors[0]
            self._last_victim[preemptor.uid] = last
            in_memory = await self._evict(preemptor, node_name, last)
        except ApiError as error:
            failed = True
            log.error("Preemption failed", extra={"pairs": {"preemptor": preemptor.key, "error": str(error)}})
        finally:
            del self._last_victim[preemptor.uid]
            seconds = self._handle.clock.now() - since
            self._handle.observer.preemption_executed("error" if failed else "success", seconds=seconds)
            if failed or in_memory:
                self._handle.activate({preemptor.key: preemptor})

    async def _evict(self, preemptor: PodInfo, node_name: str, victim: Placed) -> bool:
        """Whether it was enough to turn the victim away in memory, because it is not bound yet. Raises ApiError."""
        pod = victim.pod
        note = f"Preempted by pod {preemptor.uid} on node {node_name}"
        in_memory = self._handle.preempt(pod.uid, self._plugin)
        if in_memory:
            note += " (in kube-scheduler memory)."
        elif not await self._delete(preemptor, pod):
            return False
        self._handle.events.event(
            pod, kind="Normal", reason="Preempted", action="Preempting", note=note, related=preemptor
        )
        return in_memory

    async def _delete(self, preemptor: PodInfo, pod: PodInfo) -> bool:
        """Say why, then delete. False when the pod is gone already."""
        path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}"
        options = msgspec.json.encode({"preconditions": {"uid": pod.uid}})
        try:
            await self._handle.api.patch(
                f"{path}/status", self._disruption(preemptor, pod), content_type=STRATEGIC_MERGE_PATCH
            )
            await self._handle.api.delete(path, options)
        except ApiError as error:
            if error.status == _NOT_FOUND:
                return False
            raise
        return True

    def _disruption(self, preemptor: PodInfo, pod: PodInfo) -> bytes:
        profile = preemptor.pod.spec.scheduler_name
        condition = {
            "type": _DISRUPTION_TARGET,
            "status": "True",
            "reason": _BY_SCHEDULER,
            "message": f"{profile}: preempting to accommodate a higher priority pod",
            "lastTransitionTime": rfc3339(self._handle.clock.wall()),
        }
        return msgspec.json.encode({"metadata": {"uid": pod.uid}, "status": {"conditions": [condition]}})
