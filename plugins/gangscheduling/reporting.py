"""Reports on Kubernetes' own PodGroups: the condition `PodGroupInitiallyScheduled`, and Events.

`NativePodGroups` knows the latest decision on each group. Groups whose pods name another scheduler are never reported,
so that kube-scheduler may have groups of its own beside these. See `GroupReporter`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from muster.framework.groups import Announcement, GroupReporter, Notice, Report, ReportTime, transition_time

from . import messages
from .api import INITIALLY_SCHEDULED, NativePodGroup, NativePodGroupCondition
from .record import NativePodGroupReason, NativePodGroupRecord

if TYPE_CHECKING:
    from .book import NativePodGroups

_PATIENCE_SECONDS = 5.0
"""How long a group may wait for pods, which may come one after another, before an Event reports it."""


class NativePodGroupReporter(GroupReporter):
    """Reports on all PodGroups."""

    _groups: NativePodGroups

    def report_time(self, group: str) -> ReportTime | None:
        """At once if a decision was announced; later if the group waits for pods and no Event has reported that."""
        record = self._groups.record(group)
        if record.group is None:
            return None
        if record.announced is not None:
            return ReportTime()
        if self._groups.waits_for(group) is None:
            record.lateness_reported = False
        elif not record.lateness_reported:
            return ReportTime(after=_PATIENCE_SECONDS)
        return None

    def report(self, group: str) -> Report | None:
        """The group's condition. A group that is not tried has none; one Event reports that it waits for pods."""
        record = self._groups.record(group)
        found, said = record.group, record.announced
        if found is None:
            return None
        if said is None:
            note = self._groups.waits_for(group)
            if note is None or record.lateness_reported:
                return None
            record.lateness_reported = True
            return Report(accepted=lambda _: [Notice("Warning", "WaitingForPods", note)])
        after = _next_condition(found, said, now=self._clock.wall())
        if after is None:
            record.reported = said
            return None
        return self.report_of(record, _patch(found, after), partial(_notices, record, found, said), strategic=True)


def _next_condition(group: NativePodGroup, said: Announcement, *, now: float) -> NativePodGroupCondition | None:
    """The condition to write; None if nothing is to be written. Upstream: `updatePodGroupCondition`.

    Once True, the condition stays as it is. Its transition time is `now`, in seconds since the epoch, if its status
    changes.
    """
    before = group.condition()
    status = "True" if said.reason is NativePodGroupReason.SCHEDULED else "False"
    if before is not None and before.status == "True" != status:
        return None
    after = NativePodGroupCondition(
        type=INITIALLY_SCHEDULED,
        status=status,
        reason=said.reason.value,
        message=said.message,
        last_transition_time=transition_time(before, status, now=now),
        observed_generation=said.generation,
    )
    return None if after == before else after


def _notices(record: NativePodGroupRecord, group: NativePodGroup, said: Announcement) -> Iterator[Notice]:
    """Events for users; kube-scheduler records none on groups."""
    before = record.reported
    if before is not None and (before.reason, before.message) == (said.reason, said.message):
        return
    note = f"{said.message}. {said.note}" if said.note else said.message
    type_, reason = "Warning", said.reason.value
    if said.reason is NativePodGroupReason.SCHEDULED:
        type_, note = "Normal", messages.scheduled(group.spec.min_count)
    elif said.reason is NativePodGroupReason.HELD:
        type_ = "Normal"
    elif said.message == messages.RESUMED:
        type_, reason = "Normal", "Resumed"
    yield Notice(type_, reason, note)


def _patch(group: NativePodGroup, condition: NativePodGroupCondition) -> bytes:
    """A strategic merge patch, which merges conditions by type; the UID makes it fail for any later object."""
    uid = {"uid": group.metadata.uid}
    return msgspec.json.encode({"metadata": uid, "status": {"conditions": [msgspec.to_builtins(condition)]}})
