"""Heals groups that lost members for good, by the `muster-scheduler.io/healing-policy` of each group.

The healer reads from the plugin's book which pods are bound and which have succeeded, also while another process leads,
so that a new leader knows what was lost. It acts only after a loss has lasted for a moment, because the members of a
deleted group are deleted one after another.

A separate watch reports that a pod has succeeded. It may be late, and an eviction cannot be undone. So before it acts,
the healer asks the API for each pod that seems lost: by a list of one, which needs no right beyond those of the
watches. Only the watch reports a pod that succeeded and was deleted since, so nothing is done while the watch is
broken.

Pods are evicted through the eviction API; an eviction that a PodDisruptionBudget refuses is retried. A held group is
healed after it is resumed.
"""

from __future__ import annotations

import logging
from types import NoneType
from typing import Any

from muster.framework.contract import GroupKind
from muster.framework.groups.book import GroupBook
from muster.framework.groups.healing import GroupRun, HealingPolicy, healing_policy
from muster.framework.groups.record import GroupObject
from muster.framework.groups.reporting import Notice
from muster.framework.model.pod_info import PodInfo
from muster.operator.kube.errors import ApiError, Conflict, Gone, NotFound
from muster.operator.kube.evictions import evict
from muster.operator.kube.frames import Decoder, GarbageError
from muster.operator.kube.informer import Informer, InformerPhase
from muster.operator.kube.listing import list_one

from .ended_pods import EndedPod
from .events import event_of
from .worker import GroupWorker, WorkerPorts

log = logging.getLogger(__name__)

SETTLE_SECONDS = 2.0
_RETRY_SECONDS = 10.0


class Healer(GroupWorker):
    """Heals groups of one kind."""

    def __init__(
        self, groups: GroupBook[Any, Any], kind: GroupKind[Any], ports: WorkerPorts, ended: Informer[Any]
    ) -> None:
        """`ended` follows members that have ended."""
        super().__init__(ports, groups)
        self._groups = groups
        self._kind = kind.objects
        self._ended = ended
        groups.subscribe(self._mark)

    def _mark(self, key: str) -> None:
        """Update a group's members; queue the group if it lost one."""
        record = self._groups.record(key)
        falls = record.run is not None and bool(record.run.to_evict)
        if record.group is None or (self._policy_of(key) is HealingPolicy.KEEP and not falls):
            record.run = None
            self._queue.discard(key)
        elif self._lost(key):
            self._enqueue(key, not_before=self._clock.now() + SETTLE_SECONDS)

    async def _reconcile(self, key: str) -> None:
        """Decide about a lasting loss, record the Event, and evict. Does nothing while the group is held."""
        if self._groups.holds.text(key) is not None:
            self._enqueue_again(key, _RETRY_SECONDS)
            return
        try:
            certain = await self._is_certain(key)
        except (ApiError, GarbageError) as error:
            log.warning("%s %s: it is not known how its pods ended: %s", self._kind.name, key, error)
            self._enqueue_again(key, _RETRY_SECONDS)
            return
        if not certain:
            self._enqueue_again(key, SETTLE_SECONDS)
            return
        group, run = self._groups.get(key), self._groups.record(key).run
        if group is None or run is None:
            return
        lost, bound = self._lost(key), self._bound(key)
        if lost and run.decide(self._policy_of(key), bound, self._groups.quorum(key)):
            self._restart(key, group, lost=len(lost), to_evict=len(run.to_evict))
        answers = [await self._evict(bound[uid]) for uid in sorted(run.to_evict & bound.keys())]
        refused = [error for error in answers if error is not None]
        if refused:
            self._record(group, "RestartDelayed", f"{len(refused)} of its pods cannot be evicted yet: {refused[0]}")
            self._enqueue_again(key, _RETRY_SECONDS)

    async def _is_certain(self, key: str) -> bool:
        """Whether it is known which of the seemingly lost members have succeeded, as far as the decision depends on it.

        Raises ApiError or GarbageError.
        """
        checked: set[str] = set()
        while (run := self._groups.record(key).run) is not None and (unchecked := self._lost(key) - checked):
            if self._groups.record(key).unaccounted or not self._follows_ended():
                return False
            uid = min(unchecked)
            checked.add(uid)
            if await self._has_succeeded(run.members[uid]):
                run.finish({uid})
            elif self._policy_of(key) is HealingPolicy.RESTART:
                return True
        return True

    def _policy_of(self, key: str) -> HealingPolicy:
        return healing_policy(*self._groups.annotations_around(key))

    def _follows_ended(self) -> bool:
        """Whether the watch of ended pods has listed all pods and follows them, also after a 410."""
        status = self._ended.status
        return status.phase is InformerPhase.WATCHING and isinstance(status.error, (Gone, NoneType))

    async def _has_succeeded(self, pod: PodInfo) -> bool:
        """Whether the API reports that the pod with this UID has succeeded. Raises ApiError or GarbageError."""
        body = await list_one(self._ports.client, pod.pod.metadata)
        return any(found.metadata.uid == pod.uid and found.succeeded for found in _decoder.page(body).items)

    def _restart(self, key: str, group: GroupObject, *, lost: int, to_evict: int) -> None:
        """End the run of a group, and the runs of the groups that cannot continue without it."""
        others = 0
        for other in self._groups.evicted_with(key):
            found, bound = self._groups.get(other), self._bound(other)
            run = self._run_of(other)
            if found is None or not bound or run.to_evict:
                continue
            others += 1
            run.end(bound.keys())
            self._enqueue(other, not_before=self._clock.now())
            why = f"{key} lost pods for good, and its tree cannot go on without it"
            self._record(found, "Restarting", f"{why}: {len(bound)} pods are evicted")
        left = [f"the {to_evict} left"] if to_evict else []
        if others:
            left.append(f"those of {others} {'group' if others == 1 else 'groups'} that cannot go on without it")
        if left:
            note = f"{lost} of its pods were lost for good: {' and '.join(left)} are evicted, so that all start anew"
            self._record(group, "Restarting", note)

    def _lost(self, key: str) -> set[str]:
        succeeded = self._groups.record(key).succeeded_uids()
        return self._run_of(key).follow(self._bound(key), succeeded, self._groups.quorum(key))

    def _run_of(self, key: str) -> GroupRun[PodInfo]:
        """The run of a group; a new run, which has not begun, if the group has none."""
        record = self._groups.record(key)
        record.run = record.run or GroupRun()
        found: GroupRun[PodInfo] = record.run
        return found

    def _bound(self, key: str) -> dict[str, PodInfo]:
        return {pod.uid: pod for pod in self._groups.record(key).bound_pods()}

    async def _evict(self, pod: PodInfo) -> ApiError | None:
        """Evict a pod. Returns the API's error if it refuses; None if it accepts, or if the pod is gone."""
        try:
            await evict(self._ports.client, pod.pod.metadata)
        except (NotFound, Conflict):
            return None  # the pod is gone, or another pod has its name
        except ApiError as error:
            return error
        return None

    def _record(self, group: GroupObject, reason: str, note: str) -> None:
        meta = group.metadata
        log.info("%s %s: %s", self._kind.name, meta.key, note)
        notice, reporter = Notice("Warning", reason, note), self._ports.reporter
        self._ports.recorder.record(event_of(notice, self._kind, meta, reporter=reporter, action="Evicting"))


_decoder = Decoder(EndedPod)
