"""Keeps the statuses of PodGroups true, and tells people what became of their groups.

The plugin's `PodGroups` know, from the process's informers, which PodGroups there are, who their members are and what
was decided, and mark each group of which any of that changed; all that is followed here is how members end. One worker
computes the group's status and writes it if it is another, at most once a second a group and only while this process
leads. A write names the version it is based on, so a status is never computed from one PodGroup and written to another
of its name.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from muster.framework.contract import Clock
from muster.framework.runtime.standstill import Standstill
from muster.operator.kube.client import ApiClient, PatchType
from muster.operator.kube.errors import ApiError, Conflict, NotFound, Rejected
from muster.operator.kube.series import EventKey
from muster.plugins.coscheduling.announcements import Announcement
from muster.plugins.coscheduling.api import API_VERSION, PLURAL, PodGroup, PodGroupStatus
from muster.plugins.coscheduling.groups import PodGroups
from muster.plugins.coscheduling.status import Observation, next_status

from .ended_pods import ended_pods, group_by_label
from .events import Notice, event_of, notices
from .work_queue import WorkQueue

log = logging.getLogger(__name__)

WRITE_PERIOD = 1.0
"""Seconds between two writes to one group."""

_RETRY_SECONDS = 10.0
_LEADING_POLL_SECONDS = 1.0


class EventRecorder(Protocol):
    """Who writes Events, see `kube.events`. Never blocks."""

    def record(self, key: EventKey) -> None:
        """Note an event that happens now."""
        ...


@dataclass(slots=True)
class _Known:
    """What the controller keeps of a group.

    Attributes:
        told: the PodGroup as the informer last told it.
        latest: the same, or what the server answered when the status was written after that.
        not_before: when it may be written again, seconds on the clock.
        announcement: the one that was there at the last look.
    """

    told: PodGroup
    latest: PodGroup
    not_before: float = 0.0
    announcement: Announcement | None = None


class PodGroupController:
    """The controller. Make it, `start` and `stop` it on one event loop."""

    def __init__(
        self,
        client: ApiClient,
        groups: PodGroups,
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
        Nothing is looked at before all of `synced` are set, those of the informers that feed `groups`: until every
        member is known, groups would seem to lack some.
        """
        self._client = client
        self._groups = groups
        self._recorder = recorder
        self._clock = clock
        self._leading = leading
        self._synced = synced
        self._reporter = reporter
        self._pace = (standstill or Standstill()).pace
        self._known: dict[str, _Known] = {}
        self._queue = WorkQueue()
        self._wake = asyncio.Event()
        self._ended = ended_pods(client, group_by_label, groups.follow_ended)
        self._tasks: list[asyncio.Task[None]] = []
        self._failing = False
        self._paused_until = 0.0
        groups.subscribe(self._mark)

    def start(self) -> None:
        """Begin to follow members that have ended, and to write statuses once all members are known."""
        self._tasks = [asyncio.create_task(self._pace(work)) for work in (self._ended.run(), self._work())]

    async def stop(self) -> None:
        """End. A write under way is given up."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _mark(self, key: str) -> None:
        """Have a group looked at; one without members waits while others are looked at."""
        found = self._groups.get(key)
        if found is None:
            self._known.pop(key, None)
            self._queue.discard(key)
            return
        known = self._known.get(key)
        if known is None or known.told.metadata.uid != found.metadata.uid:
            known = self._known[key] = _Known(found, found)
        elif known.told is not found:
            known.told = known.latest = found
        patient = key not in self._groups.members
        self._queue.add(key, at=max(self._clock.now(), known.not_before), patient=patient)
        self._wake.set()

    async def _work(self) -> None:
        """Look at what is due until cancelled."""
        for event in (*self._synced, self._ended.synced):
            await event.wait()
        while True:
            self._wake.clear()
            now = self._clock.now()
            key = self._queue.pop(now) if self._leading() and now >= self._paused_until else None
            if key is None:
                await self._rest()
                continue
            try:
                await self._reconcile(key, self._known[key])
            except Exception:
                log.exception("the status of PodGroup %s could not be computed", key)
            await asyncio.sleep(0)

    async def _rest(self) -> None:
        """Sleep until something is due and may be written; while another process leads, look again in a moment."""
        timer, now = None, self._clock.now()
        due = self._queue.next_time()
        if due is not None:
            until = max(due, self._paused_until) if self._leading() else now + _LEADING_POLL_SECONDS
            timer = self._clock.call_later(max(0.0, until - now), self._wake.set)
        try:
            await self._wake.wait()
        finally:
            if timer is not None:
                timer.cancel()

    async def _reconcile(self, key: str, known: _Known) -> None:
        """Write and tell what is new of a group. While members are unaccounted for it waits: it is marked again."""
        members = self._groups.members
        if members.unaccounted(key):
            return
        group, announcement = known.latest, self._groups.announcements.get(key)
        seen = Observation(
            min_member=group.spec.min_member,
            generation=group.metadata.generation,
            counts=members.counts(key),
            owners=members.owners(key),
            announcement=announcement,
        )
        before = group.read_status()
        after = next_status(before, seen, now=self._clock.wall())
        body = status_patch(group, before, after)
        if body is not None:
            known.not_before = self._clock.now() + WRITE_PERIOD
            if not await self._write(key, known, body):
                return
        self._tell(group, notices(group, before, after, announcement, anew=announcement is not known.announcement))
        known.announcement = announcement

    async def _write(self, key: str, known: _Known, body: bytes) -> bool:
        """Patch the status; false when that must be tried again, or need not.

        What the server does not take is put off; when it takes nothing at all, every group waits.
        """
        based_on = known.told
        try:
            reply = await self._client.patch(_status_path(known.latest), body, kind=PatchType.MERGE)
        except NotFound:
            return False  # the informer will say so
        except Conflict:
            self._again(key, WRITE_PERIOD)
            return False
        except Rejected as error:
            self._again(key, _RETRY_SECONDS)
            log.warning("the status of PodGroup %s was not accepted: %s", key, error)
            return False
        except ApiError as error:
            self._again(key, 0.0)
            self._paused_until = self._clock.now() + (error.retry_after or _RETRY_SECONDS)
            if not self._failing:
                log.warning("statuses of PodGroups cannot be written: %s", error)
            self._failing = True
            return False
        self._failing = False
        if known.told is based_on:
            known.latest = _decode(reply.body)
        return True

    def _again(self, key: str, seconds: float) -> None:
        if key in self._known:
            self._queue.add(key, at=self._clock.now() + seconds)

    def _tell(self, group: PodGroup, told: Iterable[Notice]) -> None:
        for notice in told:
            self._recorder.record(event_of(notice, group, reporter=self._reporter))


def status_patch(group: PodGroup, before: PodGroupStatus, after: PodGroupStatus) -> bytes | None:
    """The merge patch that turns the group's status from `before` into `after`; None when they are equal.

    It holds only if the group is still at the version that was read.
    """
    old, new = _fields(before), _fields(after)
    changes = {name: new.get(name) for name in old | new if old.get(name) != new.get(name)}
    if not changes:
        return None
    return _encode({"metadata": {"resourceVersion": group.metadata.resource_version}, "status": changes})


def _fields(status: PodGroupStatus) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(status)
    return fields


def _status_path(group: PodGroup) -> str:
    meta = group.metadata
    return f"/apis/{API_VERSION}/namespaces/{meta.namespace}/{PLURAL}/{meta.name}/status"


_decode = msgspec.json.Decoder(PodGroup).decode
_encode = msgspec.json.Encoder().encode
