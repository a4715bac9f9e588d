"""Keeps the statuses of PodGroups true, and tells people what became of their groups.

The plugin's `PodGroups` know, from the process's informers, which PodGroups there are, who their members are and what
was decided, and mark each group of which any of that changed; all that is followed here is how members end. One worker
computes the group's status and writes it if it is another, at most once a second a group and only while this process
leads. A write names the version it is based on, so a status is never computed from one PodGroup and written to another
of its name.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from muster.operator.kube.client import PatchType
from muster.plugins.coscheduling.announcements import Announcement
from muster.plugins.coscheduling.api import API_VERSION, PodGroup, PodGroupStatus
from muster.plugins.coscheduling.groups import PodGroups
from muster.plugins.coscheduling.status import Observation, next_status

from .ended_pods import ended_pods, group_by_label
from .events import Notice, event_of, notices
from .status_controller import WRITE_PERIOD, StatusController
from .worker import WorkerPorts


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


class PodGroupController(StatusController):
    """The controller. Make it, `start` and `stop` it on one event loop."""

    def __init__(self, groups: PodGroups, ports: WorkerPorts) -> None:
        ended = ended_pods(ports.client, group_by_label, groups.follow_ended, ports.timing)
        super().__init__(replace(ports, synced=(*ports.synced, ended.synced)), groups, ended, API_VERSION)
        self._groups = groups
        self._known: dict[str, _Known] = {}
        groups.subscribe(self._mark)

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
        self._look_at(key, not_before=known.not_before, patient=key not in self._groups.members)

    async def _reconcile(self, key: str) -> None:
        """Write and tell what is new. While members are unaccounted for it waits: the group is marked again."""
        known, members = self._known[key], self._groups.members
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
        """Patch the status; false when that must be tried again, or need not."""
        based_on = known.told
        reply = await self._patch(key, body, PatchType.MERGE)
        if reply is not None and known.told is based_on:
            known.latest = _decode(reply.body)
        return reply is not None

    def _tell(self, group: PodGroup, told: Iterable[Notice]) -> None:
        for notice in told:
            self._ports.recorder.record(event_of(notice, group.metadata, API_VERSION, reporter=self._ports.reporter))


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


_decode = msgspec.json.Decoder(PodGroup).decode
_encode = msgspec.json.Encoder().encode
