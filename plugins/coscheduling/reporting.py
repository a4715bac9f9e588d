"""Keeps the statuses of PodGroups up to date, and records Events about them. See `GroupReporter`.

A status names the version of the PodGroup on which it is based, so it is never computed from one PodGroup and written
to another one of the same name.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from muster.framework.groups import GroupReporter, Look, Notice, Report

from .api import PodGroup, PodGroupStatus
from .notices import notices
from .record import Announcement
from .status import Observation, next_status

if TYPE_CHECKING:
    from muster.framework.contract import Clock

    from .groups import PodGroups


@dataclass(slots=True)
class _Known:
    """What is kept of a group.

    Attributes:
        told: the PodGroup as the informer last told it.
        latest: the same, or what the server answered when the status was written after that.
        announcement: the one that was there at the last look.
    """

    told: PodGroup
    latest: PodGroup
    announcement: Announcement | None = None


class PodGroupReporter(GroupReporter):
    """Reports on all PodGroups."""

    counts_ended = True

    def __init__(self, groups: PodGroups, clock: Clock) -> None:
        self._groups = groups
        self._clock = clock
        self._known: dict[str, _Known] = {}

    def look(self, group: str) -> Look | None:
        """A group without members waits while others are looked at."""
        found = self._groups.get(group)
        if found is None:
            self._known.pop(group, None)
            return None
        known = self._known.get(group)
        if known is None or known.told.metadata.uid != found.metadata.uid:
            self._known[group] = _Known(found, found)
        elif known.told is not found:
            known.told = known.latest = found
        return Look(patient=not self._groups.record(group).has_members)

    def report(self, group: str) -> Report | None:
        """The group's status, and the Events of its change. Nothing is reported while members are unaccounted for."""
        known, record = self._known[group], self._groups.record(group)
        if record.unaccounted:
            return None
        found, announcement = known.latest, record.announced
        seen = Observation(
            min_member=found.spec.min_member,
            generation=found.metadata.generation,
            counts=record.counts(),
            owners=record.owners(),
            announcement=announcement,
        )
        before = found.read_status()
        after = next_status(before, seen, now=self._clock.wall())
        told = notices(found, before, after, announcement, anew=announcement is not known.announcement)
        accepted = partial(_accepted, known, known.told, announcement, told=[*told])
        return Report(status_patch(found, before, after), accepted=accepted)


def _accepted(
    known: _Known,
    based_on: PodGroup,
    announcement: Announcement | None,
    answer: bytes | None,
    *,
    told: Iterable[Notice],
) -> Iterable[Notice]:
    if answer is not None and known.told is based_on:
        known.latest = _decode(answer)
    known.announcement = announcement
    return told


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
