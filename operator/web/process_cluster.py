"""The cluster as the scheduling process knows it, for pages that it serves itself.

The pages show the state on which decisions are made. They try no pod or group, because the event loop is the
scheduler's: a pod's page shows the last decision, a group's page its condition. A replica that does not lead follows
the cluster too, but has made no decision.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from aiohttp import web

from muster.framework.contract import GroupId, WatchedKind
from muster.framework.model.pod import Pod
from muster.framework.snapshot.snapshot import Snapshot
from muster.operator.defrag.question import DefragQuestion
from muster.operator.podgroups.membership import GroupKinds
from muster.operator.process.endpoints import last_decision
from muster.operator.serving import Unknown
from muster.plugins.catalog import QUOTAS

from .cluster import LeaderDecision, Unavailable
from .routes import Clocks, PageRoutes

if TYPE_CHECKING:
    from muster.operator.process.process import Process

BASE = "/web"
_POLL_SECONDS = 2.0


class ProcessCluster:
    """Implements `FollowedCluster` with the informers and decisions of the scheduling process."""

    asks_extenders = False
    proposes_moves = False
    reads_all = True

    def __init__(self, process: Process) -> None:
        self._process = process

    @property
    def snapshot(self) -> Snapshot:
        """See `FollowedCluster`."""
        return self._process.engine.cache.snapshot

    def pods(self) -> Iterable[Pod]:
        """See `FollowedCluster`."""
        return self._process.informers.pods.list()

    def pod(self, key: str) -> Pod | None:
        """See `FollowedCluster`."""
        return self._process.informers.pods.get(key)

    @property
    def kinds(self) -> GroupKinds:
        """See `FollowedCluster`."""
        return self._process.groups

    def group_objects(self, kind: WatchedKind) -> Iterable[Any]:
        """See `FollowedCluster`."""
        lister = self._process.informers.listers.get(kind.resource)
        return () if lister is None else lister.list()

    def quotas(self) -> Iterable[Any]:
        """See `FollowedCluster`."""
        return self.group_objects(QUOTAS.objects)

    def missing(self) -> Sequence[str]:
        """See `FollowedCluster`."""
        unread = self._process.informers.missing()
        standby = "" if self._process.leadership.may_write() else "this replica does not lead and has decided nothing"
        return [sentence for sentence in (unread, standby) if sentence]

    async def explain(self, pod: Pod) -> LeaderDecision | Unavailable:
        """See `FollowedCluster`."""
        decision = last_decision(self._process, pod.metadata.namespace, pod.metadata.name)
        if isinstance(decision, Unknown):
            return Unavailable(decision.reason)
        return LeaderDecision(decision.message, decision.node, decision.wall)

    async def try_group(self, group: GroupId) -> None:
        """See `FollowedCluster`."""

    async def propose_moves(self, question: DefragQuestion) -> Unavailable:
        """See `FollowedCluster`."""
        return Unavailable("The process that schedules proposes no moves; muster web does.")


def mounted(app: web.Application, process: Process) -> PageRoutes:
    """Mount the pages below `/web` of an application, which protects them as it protects its own."""
    about = "as the scheduler sees it"
    pages = PageRoutes(
        ProcessCluster(process),
        time=Clocks(wall=time.time, timer=time.monotonic),
        about=about,
        base=BASE,
        every=_POLL_SECONDS,
    )

    async def redirect_to_queue(_: web.Request) -> web.Response:
        raise web.HTTPSeeOther(f"{BASE}/")

    app.router.add_get(BASE, redirect_to_queue, allow_head=False)
    app.add_subapp(BASE, pages.application())
    return pages
