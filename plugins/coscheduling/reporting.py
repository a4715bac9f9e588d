"""Keeps the statuses of PodGroups up to date, and records Events about them. See `GroupReporter`.

A status names the version of the PodGroup on which it is based, so it is never computed from one PodGroup and written
to another one of the same name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from muster.framework.contract import MAX_WAIT_SECONDS
from muster.framework.groups import Announcement, GroupReporter, Notice, Report, ReportTime

from . import messages
from .api import SCHEDULED, PodGroup, PodGroupStatus
from .record import PodGroupReason
from .status import Observation, next_status

if TYPE_CHECKING:
    from .book import PodGroups


_LONGEST = int(MAX_WAIT_SECONDS)


class PodGroupReporter(GroupReporter):
    """Reports on all PodGroups."""

    counts_ended = True

    _groups: PodGroups

    def report_time(self, group: str) -> ReportTime | None:
        """At once; for a group without members, after all others. None if the group is deleted."""
        record = self._groups.record(group)
        return None if record.group is None else ReportTime(patient=not record.has_members)

    def report(self, group: str) -> Report | None:
        """The group's status, and the Events of its change. Nothing is reported while members are unaccounted for."""
        record = self._groups.record(group)
        found, announcement = record.latest, record.announced
        if found is None or record.unaccounted:
            return None
        seen = Observation(
            min_member=found.spec.min_member,
            generation=found.metadata.generation,
            counts=record.counts(),
            owners=record.owners(),
            announcement=announcement,
            held=self._groups.holds.text(group) or "",
        )
        before = found.read_status()
        after = next_status(before, seen, now=self._clock.wall())
        resumed_by = self._groups.holds.resumed_by(group)
        anew = announcement is not record.reported
        events = [*notices(found, before, after, announcement, anew=anew, resumed_by=resumed_by)]
        return self.report_of(record, status_patch(found, before, after), lambda: events)

    def _read(self, answer: bytes) -> PodGroup:
        return _decode(answer)


def notices(
    group: PodGroup,
    before: PodGroupStatus,
    after: PodGroupStatus,
    announcement: Announcement | None,
    *,
    anew: bool = False,
    resumed_by: str = "",
) -> Iterator[Notice]:
    """The notices about the step from one status of the group to the next.

    A group that lacks members is reported only once the scheduler has seen one: before that, none of them waits. When
    lost members are replaced, the group is not reported as started again. `anew` says that the announcement is not the
    one of the last look: each timeout is reported. `resumed_by` is who ended the last hold, if known.
    """
    timeout = group.spec.schedule_timeout_seconds or 0
    if timeout > _LONGEST and before.observed_generation != after.observed_generation:
        yield Notice(
            "Warning",
            "TimeoutTooLong",
            f"spec.scheduleTimeoutSeconds of {timeout} is cut to {_LONGEST} ({_LONGEST // 60}m)",
        )
    old, new = before.condition(SCHEDULED), after.condition(SCHEDULED)
    if new is None:
        return
    repeated = old is not None and (old.status, old.message) == (new.status, new.message)
    if repeated and not (anew and new.reason == PodGroupReason.TIMEOUT):
        return
    if new.status == "True":
        if old is None or (old.status != "True" and old.reason != PodGroupReason.LOST_MEMBERS):
            yield Notice("Normal", "Scheduled", new.message or "")
        return
    if new.reason == PodGroupReason.HELD:
        yield Notice("Normal", "Held", new.message or "")
        return
    if old is not None and old.reason == PodGroupReason.HELD:
        yield Notice("Normal", "Resumed", messages.resumed(resumed_by))
    if announcement is not None and announcement.reason is not PodGroupReason.SCHEDULED:
        yield _unschedulable(new.reason or "", new.message or "")


def _unschedulable(reason: str, message: str) -> Notice:
    if reason == PodGroupReason.TIMEOUT:
        return Notice("Warning", "Timeout", message)
    if reason == PodGroupReason.UNSCHEDULABLE:
        return Notice("Warning", "Unschedulable", message)
    return Notice("Warning", "Unschedulable", f"{reason}: {message}")


def status_patch(group: PodGroup, before: PodGroupStatus, after: PodGroupStatus) -> bytes | None:
    """The merge patch that turns the group's status from `before` into `after`; None when they are equal.

    It applies only if the group is still at the version that was read.
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
