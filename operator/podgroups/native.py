"""Writes what became of Kubernetes' own PodGroups: the condition `PodGroupInitiallyScheduled`, and Events.

GangScheduling's `Groups` know the last word on each group and mark each of which it changed. One worker writes it, at
most once a second a group and only while this process leads. From the first such group on it also follows which members
have succeeded. Groups whose pods are left to another scheduler are never spoken of, so that kube-scheduler may have
groups of its own beside these.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

import msgspec

from muster.framework.contract import Clock
from muster.framework.runtime.standstill import Standstill
from muster.operator.kube.client import ApiClient, PatchType
from muster.operator.kube.errors import ApiError, Conflict, NotFound
from muster.operator.kube.events import cut_note
from muster.operator.kube.references import ObjectReference
from muster.operator.kube.series import EventKey
from muster.plugins.gangscheduling import messages
from muster.plugins.gangscheduling.api import API_VERSION, KIND, PLURAL, Condition, PodGroup
from muster.plugins.gangscheduling.conditions import next_condition
from muster.plugins.gangscheduling.groups import Groups, Reason, Said

from .ended_pods import ended_pods, group_by_spec
from .work_queue import WorkQueue

if TYPE_CHECKING:
    from .controller import EventRecorder

log = logging.getLogger(__name__)

WRITE_PERIOD = 1.0
"""Seconds between two writes to one group."""

_RETRY_SECONDS = 10.0
_LEADING_POLL_SECONDS = 1.0


class NativeGroupController:
    """The controller. Make it, `start` and `stop` it on one event loop."""

    def __init__(
        self,
        client: ApiClient,
        groups: Groups,
        recorder: EventRecorder,
        clock: Clock,
        *,
        leading: Callable[[], bool],
        synced: Collection[asyncio.Event] = (),
        reporter: str = "muster",
        standstill: Standstill | None = None,
    ) -> None:
        """`leading` is asked before each write; Events are reported in `reporter`'s name.

        `standstill` is the engine's: what the plugin keeps is read and changed when no decision is under way.
        Nothing is looked at before all of `synced` are set: those of the informers that feed `groups`.
        """
        self._client = client
        self._groups = groups
        self._recorder = recorder
        self._clock = clock
        self._leading = leading
        self._synced = synced
        self._reporter = reporter
        self._pace = (standstill or Standstill()).pace
        self._told: dict[str, Said] = {}
        self._not_before: dict[str, float] = {}
        self._queue = WorkQueue()
        self._any = asyncio.Event()
        self._wake = asyncio.Event()
        self._ended = ended_pods(client, group_by_spec, groups.follow_ended)
        self._tasks: list[asyncio.Task[None]] = []
        groups.subscribe(self._mark)

    def start(self) -> None:
        """Begin."""
        self._tasks = [asyncio.create_task(self._pace(work)) for work in (self._follow_ended(), self._work())]

    async def stop(self) -> None:
        """End. A write under way is given up."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _follow_ended(self) -> None:
        """Follow pods that have ended, once there is a group that they may be members of."""
        await self._any.wait()
        await self._ended.run()

    def _mark(self, key: str) -> None:
        """Have a group looked at; one that is gone is forgotten."""
        self._any.set()
        if self._groups.said(key) is None:
            self._told.pop(key, None)
        if key not in self._groups:
            self._not_before.pop(key, None)
            self._queue.discard(key)
        elif self._groups.said(key) is not None:
            self._queue.add(key, at=max(self._clock.now(), self._not_before.get(key, 0.0)))
            self._wake.set()

    async def _work(self) -> None:
        """Look at what is due until cancelled."""
        for event in self._synced:
            await event.wait()
        while True:
            self._wake.clear()
            key = self._queue.pop(self._clock.now()) if self._leading() else None
            if key is None:
                await self._rest()
                continue
            try:
                await self._reconcile(key)
            except Exception:
                log.exception("the status of PodGroup %s could not be computed", key)
            await asyncio.sleep(0)

    async def _rest(self) -> None:
        """Sleep until something is due and may be written; while another process leads, look again in a moment."""
        timer, now = None, self._clock.now()
        due = self._queue.next_time()
        if due is not None:
            until = due if self._leading() else now + _LEADING_POLL_SECONDS
            timer = self._clock.call_later(max(0.0, until - now), self._wake.set)
        try:
            await self._wake.wait()
        finally:
            if timer is not None:
                timer.cancel()

    async def _reconcile(self, key: str) -> None:
        """Write and tell what is new of a group."""
        group, said = self._groups.get(key), self._groups.said(key)
        if group is None or said is None:
            return
        after = next_condition(group, said, now=self._clock.wall())
        if after is None:
            self._told[key] = said
            return
        self._not_before[key] = self._clock.now() + WRITE_PERIOD
        if await self._write(key, group, after):
            self._tell(key, group, said)

    async def _write(self, key: str, group: PodGroup, condition: Condition) -> bool:
        """Patch the status; false when that must be tried again, or need not."""
        try:
            await self._client.patch(_status_path(group), _patch(group, condition), kind=PatchType.STRATEGIC)
        except (NotFound, Conflict):
            return False  # it is gone, or another of its name; the informer will say so
        except ApiError as error:
            log.warning("the status of PodGroup %s cannot be written: %s", key, error)
            self._queue.add(key, at=self._clock.now() + (error.retry_after or _RETRY_SECONDS))
            return False
        return True

    def _tell(self, key: str, group: PodGroup, said: Said) -> None:
        """Events for people; kube-scheduler has none on groups."""
        told = self._told.get(key)
        self._told[key] = said
        if told is not None and (told.reason, told.message) == (said.reason, said.message):
            return
        note = said.message
        if said.reason is Reason.SCHEDULED:
            note = messages.scheduled(self._groups.scheduled(key), group.spec.min_count)
        self._recorder.record(_event(group, said.reason, note, self._reporter))


def _event(group: PodGroup, reason: Reason, note: str, reporter: str) -> EventKey:
    meta = group.metadata
    return EventKey(
        kind="Normal" if reason is Reason.SCHEDULED else "Warning",
        reason=reason.value,
        action="Scheduling",
        note=cut_note(note),
        controller=reporter,
        regarding=ObjectReference(
            kind=KIND, namespace=meta.namespace, name=meta.name, uid=meta.uid, api_version=API_VERSION
        ),
        related=None,
    )


def _patch(group: PodGroup, condition: Condition) -> bytes:
    """A strategic merge patch: conditions are merged by their type, and the UID holds it to this very object."""
    uid = {"uid": group.metadata.uid}
    return msgspec.json.encode({"metadata": uid, "status": {"conditions": [msgspec.to_builtins(condition)]}})


def _status_path(group: PodGroup) -> str:
    meta = group.metadata
    return f"/apis/{API_VERSION}/namespaces/{meta.namespace}/{PLURAL}/{meta.name}/status"
