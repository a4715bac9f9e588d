"""Reports on Kubernetes' own PodGroups: the condition `PodGroupInitiallyScheduled`, and Events.

`NativePodGroups` knows the latest decision on each group. Groups whose pods name another scheduler are never reported,
so that kube-scheduler may have groups of its own beside these. See `GroupReporter`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from muster.framework.groups import GroupReporter, Look, Notice, Report

from . import messages
from .api import NativePodGroup, NativePodGroupCondition
from .conditions import Said, next_condition

if TYPE_CHECKING:
    from muster.framework.contract import Clock

    from .groups import NativePodGroups

_PATIENCE_SECONDS = 5.0
"""How long pods of a group may come one after another before people are told that it waits for more."""


class NativePodGroupReporter(GroupReporter):
    """Reports on all PodGroups."""

    def __init__(self, groups: NativePodGroups, clock: Clock) -> None:
        self._groups = groups
        self._clock = clock
        self._told: dict[str, Said] = {}
        self._waiting: set[str] = set()

    def look(self, group: str) -> Look | None:
        """At once where something is said of it; in a while where it waits for pods and people do not know."""
        if self._groups.record(group).said is None:
            self._told.pop(group, None)
        if group not in self._groups:
            self._waiting.discard(group)
        elif self._groups.record(group).said is not None:
            return Look()
        elif self._groups.waits_for(group) is None:
            self._waiting.discard(group)
        elif group not in self._waiting:
            return Look(after=_PATIENCE_SECONDS)
        return None

    def report(self, group: str) -> Report | None:
        """The group's condition. A group that is not tried has none; an Event reports once that its pods are late."""
        found, said = self._groups.get(group), self._groups.record(group).said
        if found is None:
            return None
        if said is None:
            note = self._groups.waits_for(group)
            if note is None or group in self._waiting:
                return None
            self._waiting.add(group)
            return Report(accepted=lambda _: [Notice("Warning", "WaitingForPods", note)])
        after = next_condition(found, said, now=self._clock.wall())
        if after is None:
            self._told[group] = said
            return None
        return Report(_patch(found, after), strategic=True, accepted=lambda _: self._notices(group, found, said))

    def _notices(self, key: str, group: NativePodGroup, said: Said) -> Iterable[Notice]:
        """Events for people; kube-scheduler has none on groups."""
        told = self._told.get(key)
        if key in self._groups:  # it may have gone while it was written
            self._told[key] = said
        if told is not None and (told.reason, told.message) == (said.reason, said.message):
            return []
        note = f"{said.message}. {said.note}" if said.note else said.message
        kind = "Warning"
        if said.scheduled:
            kind, note = "Normal", messages.scheduled(self._groups.record(key).scheduled, group.spec.min_count)
        return [Notice(kind, said.reason.value, note)]


def _patch(group: NativePodGroup, condition: NativePodGroupCondition) -> bytes:
    """A strategic merge patch: conditions are merged by their type, and the UID holds it to this very object."""
    uid = {"uid": group.metadata.uid}
    return msgspec.json.encode({"metadata": uid, "status": {"conditions": [msgspec.to_builtins(condition)]}})
