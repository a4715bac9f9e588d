"""Keeps the statuses of PodGroups true, and tells people what became of their groups.

kopf's handlers say which PodGroups there are, informers of the controller's own who their members are, and the plugin's
board what was decided. Each of them only marks a group; one worker computes the group's status from all three and
writes it if it is another, at most once a second a group and only while this process leads. A write names the version
it is based on, so a status is never computed from one PodGroup and written to another of the same name.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from muster.framework.contract import Clock
from muster.operator.kube.client import ApiClient, PatchType
from muster.operator.kube.errors import ApiError, Conflict, NotFound, Rejected
from muster.operator.kube.events import cut_note
from muster.operator.kube.series import EventKey
from muster.plugins.coscheduling.board import Board, Verdict
from muster.plugins.coscheduling.status import Observation, next_status

from .agenda import Agenda
from .notices import Notice, notices
from .pods import Member, informers
from .stored import StoredGroup, patch, read
from .tally import Tally

log = logging.getLogger(__name__)

WRITE_PERIOD = 1.0
"""Seconds between two writes to one group."""

_RETRY_SECONDS = 10.0
_LEADING_POLL_SECONDS = 1.0
_ACTION = "Scheduling"


class EventRecorder(Protocol):
    """Who writes Events, see `kube.events`. Never blocks."""

    def record(self, key: EventKey) -> None:
        """Note an event that happens now."""
        ...


@dataclass(slots=True)
class _Known:
    group: StoredGroup
    not_before: float = 0.0


class PodGroupController:
    """The controller. Make it, feed it by kopf's handlers, `start` and `stop` it on one event loop."""

    def __init__(
        self,
        client: ApiClient,
        board: Board,
        recorder: EventRecorder,
        clock: Clock,
        *,
        leading: Callable[[], bool],
        reporter: str = "muster",
    ) -> None:
        """`leading` is asked before each write; Events are reported in `reporter`'s name."""
        self._client = client
        self._board = board
        self._recorder = recorder
        self._clock = clock
        self._leading = leading
        self._reporter = reporter
        self._groups: dict[str, _Known] = {}
        self._looked_at: dict[str, Verdict] = {}
        self._tally = Tally()
        self._agenda = Agenda()
        self._wake = asyncio.Event()
        self._informers = informers(client, self)
        self._tasks: list[asyncio.Task[None]] = []
        self._failing = False
        self._paused_until = 0.0
        board.subscribe(self._mark)

    def start(self) -> None:
        """Begin to follow members, and to write statuses once all of them are known."""
        work = [*(informer.run() for informer in self._informers), self._work()]
        self._tasks = [asyncio.create_task(coroutine) for coroutine in work]

    async def stop(self) -> None:
        """End. A write under way is given up."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def group_seen(self, body: Mapping[str, Any]) -> None:
        """There is this PodGroup, in its JSON form."""
        group = read(msgspec.json.encode(body))
        known = self._groups.get(group.key)
        if known is None or known.group.uid != group.uid:
            self._groups[group.key] = _Known(group)
        elif known.group.version == group.version:
            return  # what was written here a moment ago
        else:
            known.group = group
        self._mark(group.key)

    def group_gone(self, body: Mapping[str, Any]) -> None:
        """This PodGroup is there no longer."""
        group = read(msgspec.json.encode(body))
        self._looked_at.pop(group.key, None)
        self._forget(group)

    def forget_groups(self) -> None:
        """Nobody follows the PodGroups any more; whoever begins to again will name all there are."""
        for known in list(self._groups.values()):
            self._forget(known.group)

    def member_changed(self, old: Member | None, new: Member | None) -> None:
        """A member came, changed or went."""
        if new is not None:
            self._tally.add(new)
            self._mark(new.group)
        if old is not None:
            self._tally.remove(old)
            self._mark(old.group)

    def _mark(self, key: str) -> None:
        """Have a group looked at; one without members waits while others are looked at."""
        known = self._groups.get(key)
        if known is not None:
            patient = not self._tally.counts(key).pods
            self._agenda.add(key, at=max(self._clock.now(), known.not_before), patient=patient)
            self._wake.set()

    def _forget(self, group: StoredGroup) -> None:
        known = self._groups.get(group.key)
        if known is not None and known.group.uid == group.uid:
            del self._groups[group.key]
            self._agenda.discard(group.key)

    async def _work(self) -> None:
        """Look at what is due until cancelled, once all members are known: before, groups would seem to lack some."""
        for informer in self._informers:
            await informer.synced.wait()
        while True:
            self._wake.clear()
            now = self._clock.now()
            key = self._agenda.pop(now) if self._leading() and now >= self._paused_until else None
            if key is None:
                await self._rest()
                continue
            try:
                await self._reconcile(self._groups[key])
            except Exception:
                log.exception("the status of PodGroup %s could not be computed", key)
            await asyncio.sleep(0)

    async def _rest(self) -> None:
        """Sleep until something is due and may be written; while another process leads, look again in a moment."""
        timer, now = None, self._clock.now()
        due = self._agenda.next_time()
        if due is not None:
            until = max(due, self._paused_until) if self._leading() else now + _LEADING_POLL_SECONDS
            timer = self._clock.call_later(max(0.0, until - now), self._wake.set)
        try:
            await self._wake.wait()
        finally:
            if timer is not None:
                timer.cancel()

    async def _reconcile(self, known: _Known) -> None:
        group = known.group
        verdict = self._board.get(group.key)
        seen = Observation(
            min_member=group.min_member,
            generation=group.generation,
            counts=self._tally.counts(group.key),
            owners=self._tally.owners(group.key),
            verdict=verdict,
        )
        before = group.status()
        after = next_status(before, seen, now=self._clock.wall())
        body = patch(group, after)
        if body is not None:
            known.not_before = self._clock.now() + WRITE_PERIOD
            if not await self._write(known, group, body):
                return
        self._tell(group, notices(group, before, after, verdict, anew=verdict is not self._looked_at.get(group.key)))
        if verdict is not None:
            self._looked_at[group.key] = verdict

    async def _write(self, known: _Known, group: StoredGroup, body: bytes) -> bool:
        """Patch the status; false when that must be tried again, or need not.

        What the server does not take is put off; when it takes nothing at all, every group waits.
        """
        try:
            reply = await self._client.patch(group.status_path, body, kind=PatchType.MERGE)
        except NotFound:
            self._forget(group)
            return False
        except Conflict:
            self._again(group.key, WRITE_PERIOD)
            return False
        except Rejected as error:
            self._again(group.key, _RETRY_SECONDS)
            log.warning("the status of PodGroup %s was not accepted: %s", group.key, error)
            return False
        except ApiError as error:
            self._again(group.key, 0.0)
            self._paused_until = self._clock.now() + (error.retry_after or _RETRY_SECONDS)
            if not self._failing:
                log.warning("statuses of PodGroups cannot be written: %s", error)
            self._failing = True
            return False
        self._failing = False
        if known.group is group:
            known.group = read(reply.body)
        return True

    def _again(self, key: str, seconds: float) -> None:
        if key in self._groups:
            self._agenda.add(key, at=self._clock.now() + seconds)

    def _tell(self, group: StoredGroup, told: Iterable[Notice]) -> None:
        for notice in told:
            self._recorder.record(
                EventKey(
                    kind=notice.kind,
                    reason=notice.reason,
                    action=_ACTION,
                    note=cut_note(notice.note),
                    controller=self._reporter,
                    regarding=group.reference,
                    related=None,
                )
            )
