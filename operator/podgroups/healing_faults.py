"""Tells people of healing policies that cannot be read: an Event on the object that has one, once for each change.

Nothing else comes of them: they count as if they were not there.
"""

from __future__ import annotations

from typing import Any

from muster.framework.contract.group_book import GroupBook
from muster.framework.contract.healing import healing_fault
from muster.operator.kube.series import EventKey
from muster.plugins.coscheduling.api import KIND
from muster.plugins.gangscheduling import composite_api
from muster.plugins.gangscheduling.composite_api import CompositePodGroup

from .events import Notice, event_of
from .worker import GroupWorker, WorkerPorts


class HealingFaults(GroupWorker):
    """Tells of groups of one kind, `api_version`, and of CompositePodGroups that consist of them."""

    def __init__(self, groups: GroupBook[Any], ports: WorkerPorts, api_version: str) -> None:
        super().__init__(ports, groups)
        self._groups = groups
        self._api_version = api_version
        self._told: dict[str, EventKey] = {}
        groups.subscribe(self._mark)

    def _mark(self, key: str) -> None:
        """Have people told what they have not been told yet."""
        event = self._event(key)
        if event is None:
            self._told.pop(key, None)
        elif self._told.get(key) != event:
            self._look_at(key, not_before=self._clock.now())

    async def _reconcile(self, key: str) -> None:
        """Tell it, if it is true still."""
        event = self._event(key)
        if event is not None and self._told.get(key) != event:
            self._told[key] = event
            self._ports.recorder.record(event)

    def _event(self, key: str) -> EventKey | None:
        found = self._groups.object_of(key)
        fault = "" if found is None else healing_fault(found.annotations)
        if found is None or not fault:
            return None
        kind, version = KIND, self._api_version
        if isinstance(found, CompositePodGroup):
            kind, version = composite_api.KIND, composite_api.API_VERSION
        notice, reporter = Notice("Warning", "InvalidHealingPolicy", fault), self._ports.reporter
        return event_of(notice, found.metadata, version, reporter=reporter, action="Healing", kind=kind)
