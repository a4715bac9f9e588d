"""The executor: evicts the victims of a decision, while the scheduler continues.

DefaultPreemption starts it when the scheduler acts on a decision, and asks it at PreEnqueue whether a pod's victims are
still being evicted. All victims but one are evicted concurrently and the last one after them: the pod is held until the
eviction that completes its capacity has been requested, so an event that can wake it is still to come (upstream:
`preemption.Executor`). The pod is held further until the watch has reported that each victim ended or is terminating:
an attempt before that would not see that they go, and would choose other victims.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
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
"""The time by which the watch has reported the deletion of a pod."""


def terminating_by_preemption(pod: PodInfo) -> bool:
    """Whether the pod is on its way out because a scheduler preempted it."""
    return pod.terminating and any(
        condition.type == _DISRUPTION_TARGET and condition.status == "True" and condition.reason == _BY_SCHEDULER
        for condition in pod.pod.status.conditions
    )


@dataclass(frozen=True, slots=True)
class Preemptor:
    """The preemptor: a pod, or the waiting members of a group.

    Attributes:
        pods: who waits.
        priority: victims and nominated pods that yield are below it.
        kind: what it is, as users read it.
        uid: of the pod, or of the group's object.
        place: where pods are evicted, as users read it: a node, or for a group "cluster", as in kube-scheduler's text,
            which puts "on node" before it.
        nodes: the nodes that it is to get.
    """

    pods: Sequence[PodInfo]
    priority: int
    kind: EntityType
    uid: str
    place: str
    nodes: Sequence[str]


@dataclass(slots=True)
class _Run:
    """Evictions of `victims`: under way until the last was asked for, then until the watch has told of all."""

    victims: Sequence[Placed]
    asked: bool = False
    unseen: list[Placed] = field(init=False)
    """The victims whose end was unknown at the last look."""

    def __post_init__(self) -> None:
        self.unseen = [*self.victims]


class Executor:
    """Evictions in progress. `plugin` is the name in which waiting victims are rejected.

    Attributes:
        leaving: UIDs of pods whose eviction was decided, until their termination is sure to have been seen.
    """

    def __init__(self, handle: PreemptionHandle, plugin: str, leaving: set[str]) -> None:
        self._handle = handle
        self._plugin = plugin
        self.leaving = leaving
        self._runs: dict[str, _Run] = {}

    def is_running(self, uid: str) -> bool:
        """Whether evictions for the pod with this UID are still to be asked for, or to be seen.

        A pod that is tried before would find its victims as they were, and look for others.
        """
        run = self._runs.get(uid)
        if run is None or not run.asked:
            return run is not None
        while run.unseen and not self._stays(run.unseen[-1]):
            run.unseen.pop()
        return bool(run.unseen)

    def start(self, preemptor: Preemptor, victims: Sequence[Placed], *, violations: int, disruptions: int) -> None:
        """Evict the victims for the preemptor. Those on their way out already are left alone.

        Those that another preemptor has asked for, and that the watch has not told of, are asked for last. Where there
        are no victims, no event is to come that could wake it. So many `violations` and
        `disruptions` are told (see `SchedulerMetrics.preemption_victims`).
        """
        self._handle.metrics.victims_chosen(
            len(victims), preemptor=preemptor.kind, violations=violations, disruptions=disruptions
        )
        if not victims:
            self._try_again_later(preemptor)
        victims = [victim for victim in victims if not victim.pod.terminating]
        victims.sort(key=lambda victim: victim.pod.uid in self.leaving)
        if victims:
            run = _Run(victims)
            self._runs.update((pod.uid, run) for pod in preemptor.pods)
            # Noted now, not when the task begins: a decision may come first, and must count these pods as leaving.
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
            failed = not await self._take_back(lower)
            *others, last = run.victims
            outcomes = await asyncio.gather(
                *(self._handle.paced(self._evict(preemptor, victim)) for victim in others), return_exceptions=True
            )
            errors = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
            if errors:
                self.leaving.discard(last.pod.uid)
                raise errors[0]
            # Set before the last request: the event of this victim's end may come before the answer, and has to find
            # that the preemptor may be tried.
            run.asked = True
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
                self._try_again_later(preemptor)
            elif all(self._current(victim) is None for victim in run.victims):
                # No event is to come that could wake the preemptor: the last one found it held.
                self._activate(preemptor)

    def _forget(self, run: _Run, preemptor: Preemptor) -> None:
        for pod in preemptor.pods:
            if self._runs.get(pod.uid) is run:
                del self._runs[pod.uid]

    def _seen(self, run: _Run, preemptor: Preemptor) -> None:
        """The victims are known to be going, or never will be."""
        self.leaving.difference_update(victim.pod.uid for victim in run.victims)
        held = [pod for pod in preemptor.pods if self._runs.get(pod.uid) is run and self.is_running(pod.uid)]
        self._forget(run, preemptor)
        self._handle.activate({pod.key: pod for pod in held})

    def _activate(self, preemptor: Preemptor) -> None:
        self._handle.activate({pod.key: pod for pod in preemptor.pods})

    def _stays(self, victim: Placed) -> bool:
        """Whether nothing is known of the victim's end yet."""
        current = self._current(victim)
        return current is not None and not current.terminating

    def _current(self, victim: Placed) -> PodInfo | None:
        """The victim as it is by now; None when it is not on its node any more."""
        snapshot = self._handle.snapshot
        row = snapshot.row_of(victim.node_name)
        return None if row is None else snapshot.pods[row].get(victim.pod.uid)

    def _try_again_later(self, preemptor: Preemptor) -> None:
        """No event may come that wakes it; tried at once it would storm an API that fails."""
        seconds = _RETRY_SECONDS * (1.0 + self._handle.random())
        self._handle.clock.call_later(seconds, partial(self._activate, preemptor))

    async def _take_back(self, nominees: Sequence[PodInfo]) -> bool:
        """End the nominations of these pods, which are tried again at once; whether the API has heard of each."""
        for pod in nominees:
            self._handle.nominator.clear(pod.uid)
        told = await asyncio.gather(*(self._handle.paced(self._tell_taken_back(pod)) for pod in nominees))
        self._handle.activate({pod.key: pod for pod in nominees})
        return all(told)

    async def _tell_taken_back(self, nominee: PodInfo) -> bool:
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
        """Turn the victim away in memory if it is not bound yet, else delete it. Raises ApiError."""
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
        """Say why, then delete. False when the pod is gone already."""
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
            "message": f"{profile}: preempting to accommodate a higher priority {preemptor.kind}",
            "lastTransitionTime": rfc3339(self._handle.clock.wall()),
        }
        if pod.pod.metadata.generation:
            condition["observedGeneration"] = pod.pod.metadata.generation
        return msgspec.json.encode({"metadata": {"uid": pod.uid}, "status": {"conditions": [condition]}})
