"""The executor: evicts the victims of a decision, while the scheduler continues.

DefaultPreemption starts it when the scheduler acts on a decision, and asks it at PreEnqueue whether a pod's victims are
still being evicted. All victims but one are evicted concurrently and the last one after them: the pod is held until the
eviction that completes its capacity has been requested, so an event that can wake it is still to come (upstream:
`preemption.Executor`). After that, the pod is held until the watch has reported that each victim ended or is
terminating: an earlier attempt would not see that the victims leave, and would choose others.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from functools import partial

import msgspec

from muster.framework.contract import (
    STRATEGIC_MERGE_PATCH,
    ApiError,
    EntityType,
    Placed,
    PreemptionHandle,
    PreemptionResult,
    pod_path,
)
from muster.framework.model.pod_info import PodInfo
from muster.framework.model.times import rfc3339

log = logging.getLogger(__name__)

_NOT_FOUND = 404
_RETRY_SECONDS = 1.0
_DISRUPTION_TARGET = "DisruptionTarget"
_BY_SCHEDULER = "PreemptionByScheduler"
_SEEN_SECONDS = 30.0
"""The time in which the watch reports a deletion for certain."""


def terminating_by_preemption(pod: PodInfo) -> bool:
    """Whether the pod is terminating because a scheduler preempted it."""
    return pod.terminating and any(
        condition.type == _DISRUPTION_TARGET and condition.status == "True" and condition.reason == _BY_SCHEDULER
        for condition in pod.pod.status.conditions
    )


@dataclass(frozen=True, slots=True)
class Preemptor:
    """The preemptor: a pod, or the waiting members of a group.

    Attributes:
        pods: the waiting pods.
        priority: victims that are not reclaimable, and nominated pods that yield, have a lower priority.
        kind: `pod` or `podgroup`, as messages name it.
        uid: the UID of the pod, or of the group's object.
        place: the node, or "cluster" for a group, as in kube-scheduler's messages, which put "on node" before it.
        nodes: the nodes for which the preemptor is nominated.
        reclaimable: UIDs of the borrowed pods whose capacity the preemptor may reclaim, whatever their priority.
    """

    pods: Sequence[PodInfo]
    priority: int
    kind: EntityType
    uid: str
    place: str
    nodes: Sequence[str]
    reclaimable: Set[str] = frozenset()


@dataclass(slots=True)
class _Run:
    """Evictions of `victims`: in progress until the last is requested and the watch has reported all ends."""

    victims: Sequence[Placed]
    requested: bool = False
    unseen: list[Placed] = field(init=False)
    """The victims whose end was not reported at the last check."""

    def __post_init__(self) -> None:
        self.unseen = [*self.victims]


class Executor:
    """Evictions in progress. Victims that wait at Permit are rejected in the name of `plugin`.

    Attributes:
        leaving: UIDs of pods whose eviction was decided, until the watch must have reported their termination.
    """

    def __init__(self, handle: PreemptionHandle, plugin: str, leaving: set[str]) -> None:
        self._handle = handle
        self._plugin = plugin
        self.leaving = leaving
        self._runs: dict[str, _Run] = {}

    def is_running(self, uid: str) -> bool:
        """Whether evictions for the pod with this UID have yet to be requested, or to be reported by the watch.

        An earlier attempt of the pod would find its victims unchanged, and choose others.
        """
        run = self._runs.get(uid)
        if run is None or not run.requested:
            return run is not None
        while run.unseen and not self._seems_to_stay(run.unseen[-1]):
            run.unseen.pop()
        return bool(run.unseen)

    def start(
        self,
        preemptor: Preemptor,
        victims: Sequence[Placed],
        *,
        violations: int,
        disruptions: int,
        retries: bool = True,
    ) -> None:
        """Evict the victims for the preemptor, without those that are terminating already.

        Victims whose eviction another preemptor has requested, and whose end the watch has not reported, come last. If
        there are no victims, the preemptor is retried by a timer, because no event would wake it; unless `retries` is
        false, as nothing has changed for it. `violations` and `disruptions` are for the metrics, see
        `SchedulerMetrics.victims_chosen`.
        """
        self._handle.metrics.victims_chosen(
            len(victims), preemptor=preemptor.kind, violations=violations, disruptions=disruptions
        )
        if not victims and retries:
            self._retry_later(preemptor)
        victims = [victim for victim in victims if not victim.pod.terminating]
        victims.sort(key=lambda victim: victim.pod.uid in self.leaving)
        if victims:
            run = _Run(victims)
            self._runs.update((pod.uid, run) for pod in preemptor.pods)
            # Noted before the task begins, because a decision in between must count these pods as leaving.
            self.leaving.update(victim.pod.uid for victim in victims)
            self._handle.spawn(self._run(run, preemptor))

    async def _run(self, run: _Run, preemptor: Preemptor) -> None:
        failed = False
        since = self._handle.clock.now()
        try:
            nodes = preemptor.nodes
            nominator = self._handle.nominator
            nominees = [pod for node_name in nodes for pod in nominator.nominated_pods(node_name)]
            lower = [pod for pod in nominees if nominator.priority_of(pod) < preemptor.priority]
            failed = not await self._withdraw_nominations(lower)
            *others, last = run.victims
            outcomes = await asyncio.gather(
                *(self._handle.paced(self._evict(preemptor, victim)) for victim in others), return_exceptions=True
            )
            errors = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
            if errors:
                self.leaving.discard(last.pod.uid)
                raise errors[0]
            # Set before the last request: the event of this victim's end may come before the answer, and must be able
            # to wake the preemptor.
            run.requested = True
            await self._evict(preemptor, last)
        except ApiError as error:
            failed = True
            pairs = {"preemptor": preemptor.uid, "error": str(error)}
            log.error("Preemption failed", extra={"pairs": pairs})
        finally:
            if failed:
                self._forget(run, preemptor)
            self._handle.clock.call_later(_SEEN_SECONDS, partial(self._seen, run, preemptor))
            seconds = self._handle.clock.now() - since
            result: PreemptionResult = "error" if failed else "success"
            self._handle.metrics.preemption_executed(result, preemptor=preemptor.kind, seconds=seconds)
            if failed:
                self._retry_later(preemptor)
            elif all(self._current(victim) is None for victim in run.victims):
                # No further event would wake the preemptor, because PreEnqueue held it at the last one.
                self._activate(preemptor)

    def _forget(self, run: _Run, preemptor: Preemptor) -> None:
        for pod in preemptor.pods:
            if self._runs.get(pod.uid) is run:
                del self._runs[pod.uid]

    def _seen(self, run: _Run, preemptor: Preemptor) -> None:
        """Forget the run, because the watch has reported all ends by now; retry pods that it still holds."""
        self.leaving.difference_update(victim.pod.uid for victim in run.victims)
        held = [pod for pod in preemptor.pods if self._runs.get(pod.uid) is run and self.is_running(pod.uid)]
        self._forget(run, preemptor)
        self._handle.activate({pod.key: pod for pod in held})

    def _activate(self, preemptor: Preemptor) -> None:
        self._handle.activate({pod.key: pod for pod in preemptor.pods})

    def _seems_to_stay(self, victim: Placed) -> bool:
        """Whether the watch has not reported yet that the victim ended or is terminating."""
        current = self._current(victim)
        return current is not None and not current.terminating

    def _current(self, victim: Placed) -> PodInfo | None:
        """The latest version of the victim; None if it is no longer on its node."""
        snapshot = self._handle.snapshot
        row = snapshot.row_of(victim.node_name)
        return None if row is None else snapshot.pods[row].get(victim.pod.uid)

    def _retry_later(self, preemptor: Preemptor) -> None:
        """Retry the preemptor after a delay: no event may wake it, and an immediate retry would load a failing API."""
        seconds = _RETRY_SECONDS * (1.0 + self._handle.random())
        self._handle.clock.call_later(seconds, partial(self._activate, preemptor))

    async def _withdraw_nominations(self, nominees: Sequence[PodInfo]) -> bool:
        """End the nominations of these pods, and retry them; returns whether the API accepted all the changes."""
        for pod in nominees:
            self._handle.nominator.clear(pod.uid)
        written = await asyncio.gather(*(self._handle.paced(self._write_withdrawal(pod)) for pod in nominees))
        self._handle.activate({pod.key: pod for pod in nominees})
        return all(written)

    async def _write_withdrawal(self, nominee: PodInfo) -> bool:
        patch = msgspec.json.encode({"metadata": {"uid": nominee.uid}, "status": {"nominatedNodeName": None}})
        path = pod_path(nominee.pod.metadata, "status")
        try:
            await self._handle.api.patch(path, patch, content_type=STRATEGIC_MERGE_PATCH)
        except ApiError as error:
            pairs = {"pod": nominee.key, "error": str(error)}
            log.error("A nomination was not taken back", extra={"pairs": pairs})
            return error.status == _NOT_FOUND
        return True

    async def _evict(self, preemptor: Preemptor, victim: Placed) -> None:
        """Reject the victim in memory if it is not bound yet; otherwise delete it. Raises ApiError."""
        pod = victim.pod
        note = f"Preempted by {preemptor.kind} {preemptor.uid} on node {preemptor.place}"
        in_memory = self._handle.preempt(pod.uid, self._plugin)
        if in_memory:
            note += " (in kube-scheduler memory)."
        else:
            try:
                deleted = await self._delete(preemptor, pod)
            except BaseException:
                self.leaving.discard(pod.uid)
                raise
            if not deleted:
                return
        self._handle.events.event(
            pod, type="Normal", reason="Preempted", action="Preempting", note=note, related=preemptor.pods[0]
        )

    async def _delete(self, preemptor: Preemptor, pod: PodInfo) -> bool:
        """Set the condition DisruptionTarget, then delete the pod. False if the pod is gone already."""
        meta, condition = pod.pod.metadata, self._disruption(preemptor, pod)
        options = msgspec.json.encode({"preconditions": {"uid": pod.uid}})
        try:
            await self._handle.api.patch(pod_path(meta, "status"), condition, content_type=STRATEGIC_MERGE_PATCH)
            await self._handle.api.delete(pod_path(meta), options)
        except ApiError as error:
            if error.status == _NOT_FOUND:
                return False
            raise
        return True

    def _disruption(self, preemptor: Preemptor, pod: PodInfo) -> bytes:
        profile = preemptor.pods[0].pod.spec.scheduler_name
        condition: dict[str, str | int] = {
            "type": _DISRUPTION_TARGET,
            "status": "True",
            "reason": _BY_SCHEDULER,
            "message": f"{profile}: {_purpose(preemptor, pod)}",
            "lastTransitionTime": rfc3339(self._handle.clock.wall()),
        }
        if pod.pod.metadata.generation:
            condition["observedGeneration"] = pod.pod.metadata.generation
        return msgspec.json.encode({"metadata": {"uid": pod.uid}, "status": {"conditions": [condition]}})


def _purpose(preemptor: Preemptor, victim: PodInfo) -> str:
    """The purpose of the eviction, in kube-scheduler's words where it has them."""
    if victim.uid in preemptor.reclaimable:
        return f"reclaiming borrowed capacity for a {preemptor.kind} within the min of its quota"
    return f"preempting to accommodate a higher priority {preemptor.kind}"
