"""Keeps the statuses of groups of one kind up to date, and records Events about them.

The plugin's book knows, from the process's informers, which groups and members exist and what was decided, and marks
each group for which this changed; the controller itself only follows how members end. One worker takes a group's
changes from the plugin's `GroupReporter` and writes them, at most once a second per group and only while this process
leads. A write that the server refuses is delayed; while the server accepts no write at all, every group waits.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Iterable
from dataclasses import replace
from typing import Any

from muster.framework.contract import GroupKind
from muster.framework.groups.book import GroupBook
from muster.framework.groups.record import EndedHandler
from muster.framework.groups.reporting import GroupReporter, Notice
from muster.framework.model.meta import ObjectMeta
from muster.operator.kube.client import PatchType
from muster.operator.kube.errors import ApiError, Conflict, NotFound, Rejected
from muster.operator.kube.transport import Reply

from .ended_pods import EndedPod, ended_pods
from .events import event_of
from .worker import GroupWorker, WorkerPorts

log = logging.getLogger(__name__)

WRITE_PERIOD = 1.0
"""Seconds between two writes to one group."""

_RETRY_SECONDS = 10.0


class StatusController(GroupWorker):
    """The controller of one kind of group. Create, `start` and `stop` it on one event loop.

    If the reporter counts ended members, the watch of ended pods begins at the start, and no group is reported before
    its first list; otherwise it begins with the first group. In both cases the pods that have not ended are listed
    first, because scheduling waits for them, and an API server reads all pods again in order to list ended ones.

    Attributes:
        ended: the informer of ended members.
    """

    def __init__(
        self,
        groups: GroupBook[Any, Any],
        kind: GroupKind[Any],
        reporter: GroupReporter | None,
        ports: WorkerPorts,
        *,
        ended_handler: EndedHandler,
    ) -> None:
        """`ended_handler` receives the ended members: the engine's handler, which feeds the book."""
        self.ended = ended_pods(ports.client, self._group_of, ended_handler, ports.timing)
        self._before_ended = ports.synced
        counts_ended = reporter is not None and reporter.counts_ended
        super().__init__(replace(ports, synced=(*ports.synced, self.ended.synced)) if counts_ended else ports, groups)
        self._groups = groups
        self._named = kind.named_by
        self._kind = kind.objects
        self._reporter = reporter
        self._failing = False
        self._any = asyncio.Event()
        if counts_ended:
            self._any.set()
        groups.subscribe(self._mark)

    def _group_of(self, pod: EndedPod) -> str | None:
        """The group in which an ended pod is counted. Its owner's group is known once the groups are known."""
        return self._named(pod) or self._groups.members.owned(pod)

    def _coroutines(self) -> list[Coroutine[Any, Any, None]]:
        return [self._follow_ended(), *super()._coroutines()]

    async def _follow_ended(self) -> None:
        await self._any.wait()
        for event in self._before_ended:
            await event.wait()
        await self.ended.run()

    def _mark(self, key: str) -> None:
        """Queue the group for a report; drop a deleted one."""
        self._any.set()
        due = None if self._reporter is None else self._reporter.report_time(key)
        if key not in self._groups:
            self._queue.discard(key)
        elif due is not None:
            at = max(self._clock.now() + due.after, self._groups.record(key).next_write)
            self._enqueue(key, not_before=at, patient=due.patient)

    async def _reconcile(self, key: str) -> None:
        """Write the changes of a group, and record their Events."""
        group = self._groups.get(key)
        report = None if group is None or self._reporter is None else self._reporter.report(key)
        if group is None or report is None:
            return
        answer = None
        if report.patch is not None:
            # Set before the request: a change during the request waits for the next write.
            self._groups.record(key).next_write = self._clock.now() + WRITE_PERIOD
            reply = await self._patch(key, report.patch, PatchType.STRATEGIC if report.strategic else PatchType.MERGE)
            if reply is None:
                return
            answer = reply.body
        self._record(group.metadata, report.accepted(answer))

    def _record(self, group: ObjectMeta, notices: Iterable[Notice]) -> None:
        for notice in notices:
            self._ports.recorder.record(event_of(notice, self._kind, group, reporter=self._ports.reporter))

    async def _patch(self, key: str, body: bytes, form: PatchType) -> Reply | None:
        """Patch a group's status; None if the patch failed, and is retried unless the group is gone."""
        namespace, _, name = key.partition("/")
        path = f"/apis/{self._kind.api_version}/namespaces/{namespace}/{self._kind.plural}/{name}/status"
        try:
            reply = await self._ports.client.patch(path, body, kind=form)
        except NotFound:
            return None  # the informer will report it
        except Conflict:
            self._enqueue_again(key, WRITE_PERIOD)
            return None
        except Rejected as error:
            self._enqueue_again(key, _RETRY_SECONDS)
            log.warning("the status of %s %s was not accepted: %s", self._kind.name, key, error)
            return None
        except ApiError as error:
            self._enqueue_again(key, 0.0)
            self._paused_until = self._clock.now() + (error.retry_after or _RETRY_SECONDS)
            if not self._failing:
                log.warning("statuses of %ss cannot be written: %s", self._kind.name, error)
            self._failing = True
            return None
        self._failing = False
        return reply
