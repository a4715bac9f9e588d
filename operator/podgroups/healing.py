"""Heals groups that lost members for good, as `muster-scheduler.io/healing-policy` of each says.

The healer follows who is bound and who succeeded from the plugin's own book, also while another process leads, so that
whoever leads next knows what was lost. It acts when a loss has stood for a moment, which is long enough for the rest of
a group that is deleted to begin to go, too. Pods are evicted through the eviction API: what a PodDisruptionBudget does
not let go is asked for again and again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Protocol

import msgspec

from muster.framework.contract.api import pod_path
from muster.framework.contract.group_book import GroupObject
from muster.framework.contract.healing import HealingPolicy, Life, healing_policy
from muster.framework.contract.members import Members
from muster.framework.model.pod_info import PodInfo
from muster.operator.kube.errors import ApiError, Conflict, NotFound

from .events import Notice, event_of
from .worker import GroupWorker, WorkerPorts

log = logging.getLogger(__name__)

SETTLE_SECONDS = 2.0
_RETRY_SECONDS = 10.0


class HealedGroup(GroupObject, Protocol):
    """A group's object with its annotations."""

    @property
    def annotations(self) -> dict[str, str]:
        """Those that are read."""
        ...


class HealedGroups(Protocol):
    """A plugin's groups.

    Attributes:
        members: who belongs to which.
    """

    members: Members

    def __contains__(self, group: object, /) -> bool:
        """Whether there is such a group."""
        ...

    def get(self, group: str) -> HealedGroup | None:
        """Its object."""
        ...

    def quorum(self, group: str) -> int:
        """How many members it needs."""
        ...

    def subscribe(self, reader: Callable[[str], None]) -> None:
        """Have `reader` told of each group whose members or object changed."""
        ...


class Healer(GroupWorker):
    """Heals groups of one kind, `api_version`."""

    def __init__(self, groups: HealedGroups, ports: WorkerPorts, api_version: str) -> None:
        super().__init__(ports, groups)
        self._groups = groups
        self._api_version = api_version
        self._lives: dict[str, Life] = {}
        groups.subscribe(self._mark)

    def _mark(self, key: str) -> None:
        """Follow what became of a group's members; look at it again soon if any was lost."""
        group = self._groups.get(key)
        if group is None or healing_policy(group.annotations) is HealingPolicy.KEEP:
            self._lives.pop(key, None)
            self._queue.discard(key)
        elif self._lost(key):
            self._look_at(key, not_before=self._clock.now() + SETTLE_SECONDS)

    async def _reconcile(self, key: str) -> None:
        """The loss has stood: decide, tell, and evict."""
        group, lost = self._groups.get(key), self._lost(key)
        if group is None:
            return
        if self._groups.members.unaccounted(key):
            self._again(key, SETTLE_SECONDS)
            return
        life, bound = self._lives[key], self._bound(key)
        if lost:
            doomed = life.decide(healing_policy(group.annotations), bound, self._groups.quorum(key))
            if doomed:
                left = f"the {len(doomed)} left are evicted, so that all start anew"
                self._tell(group, "Restarting", f"{len(lost)} of its pods were lost for good: {left}")
        answers = [await self._evict(bound[uid]) for uid in sorted(life.doomed & bound.keys())]
        refused = [error for error in answers if error is not None]
        if refused:
            self._tell(group, "RestartDelayed", f"{len(refused)} of its pods cannot be evicted yet: {refused[0]}")
            self._again(key, _RETRY_SECONDS)

    def _lost(self, key: str) -> set[str]:
        members = self._groups.members
        life = self._lives.setdefault(key, Life())
        return life.follow(self._bound(key).keys(), members.succeeded_uids(key), self._groups.quorum(key))

    def _bound(self, key: str) -> dict[str, PodInfo]:
        return {pod.uid: pod for pod in self._groups.members.bound_pods(key)}

    async def _evict(self, pod: PodInfo) -> ApiError | None:
        """Why the API does not let it go; None when it does, or it is gone."""
        name = {"name": pod.name, "namespace": pod.namespace}
        options = {"preconditions": {"uid": pod.uid}}
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": name, "deleteOptions": options}
        try:
            await self._ports.client.post(pod_path(pod.pod.metadata, "eviction"), msgspec.json.encode(body))
        except (NotFound, Conflict):
            return None  # it is gone, or another has its name
        except ApiError as error:
            return error
        return None

    def _tell(self, group: GroupObject, reason: str, note: str) -> None:
        meta = group.metadata
        log.info("PodGroup %s/%s: %s", meta.namespace, meta.name, note)
        notice, reporter = Notice("Warning", reason, note), self._ports.reporter
        self._ports.recorder.record(event_of(notice, meta, self._api_version, reporter=reporter, action="Evicting"))
