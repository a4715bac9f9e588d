"""Writes what became of Kubernetes' own PodGroups: the condition `PodGroupInitiallyScheduled`, and Events.

GangScheduling's `Groups` know the last word on each group and mark each of which it changed. One worker writes it, at
most once a second a group and only while this process leads. From the first such group on it also follows which members
have succeeded. Groups whose pods are left to another scheduler are never spoken of, so that kube-scheduler may have
groups of its own beside these.
"""

from __future__ import annotations

import asyncio

import msgspec

from muster.operator.kube.client import PatchType
from muster.plugins.gangscheduling import messages
from muster.plugins.gangscheduling.api import API_VERSION, Condition, PodGroup
from muster.plugins.gangscheduling.conditions import next_condition
from muster.plugins.gangscheduling.groups import Groups, Reason, Said

from .ended_pods import ended_pods, group_by_spec
from .events import Notice, event_of
from .status_controller import WRITE_PERIOD, StatusController
from .worker import WorkerPorts

_PATIENCE_SECONDS = 5.0
"""How long pods of a group may come one after another before people are told that it waits for more."""


class NativeGroupController(StatusController):
    """The controller. Make it, `start` and `stop` it on one event loop."""

    def __init__(self, groups: Groups, ports: WorkerPorts) -> None:
        ended = ended_pods(ports.client, group_by_spec, groups.follow_ended, ports.timing)
        super().__init__(ports, groups, ended, API_VERSION)
        self._groups = groups
        self._told: dict[str, Said] = {}
        self._not_before: dict[str, float] = {}
        self._waiting: set[str] = set()
        self._any = asyncio.Event()
        groups.subscribe(self._mark)

    async def _follow_ended(self) -> None:
        """Follow pods that have ended, once there is a group that they may be members of."""
        await self._any.wait()
        await super()._follow_ended()

    def _mark(self, key: str) -> None:
        """Have a group looked at; one that is gone is forgotten."""
        self._any.set()
        if self._groups.said(key) is None:
            self._told.pop(key, None)
        if key not in self._groups:
            self._not_before.pop(key, None)
            self._waiting.discard(key)
            self._queue.discard(key)
        elif self._groups.said(key) is not None:
            self._look_at(key, not_before=self._not_before.get(key, 0.0))
        elif self._groups.waits_for(key) is None:
            self._waiting.discard(key)
        elif key not in self._waiting:
            self._look_at(key, not_before=self._clock.now() + _PATIENCE_SECONDS)

    async def _reconcile(self, key: str) -> None:
        """Write and tell what is new of a group."""
        group, said = self._groups.get(key), self._groups.said(key)
        if group is not None and said is None:
            self._tell_that_it_waits(key, group)
        if group is None or said is None:
            return
        after = next_condition(group, said, now=self._clock.wall())
        if after is None:
            self._told[key] = said
            return
        self._not_before[key] = self._clock.now() + WRITE_PERIOD
        if await self._patch(key, _body(group, after), PatchType.STRATEGIC) is not None:
            self._tell(key, group, said)

    def _tell_that_it_waits(self, key: str, group: PodGroup) -> None:
        """The group is not tried, so nothing is said of it; people are told once, when its pods do not come soon."""
        note = self._groups.waits_for(key)
        if note is not None and key not in self._waiting:
            self._waiting.add(key)
            self._record(group, Notice("Warning", "WaitingForPods", note))

    def _tell(self, key: str, group: PodGroup, said: Said) -> None:
        """Events for people; kube-scheduler has none on groups."""
        told = self._told.get(key)
        if key in self._groups:  # it may have gone while it was written
            self._told[key] = said
        if told is not None and (told.reason, told.message) == (said.reason, said.message):
            return
        note = f"{said.message}. {said.note}" if said.note else said.message
        kind = "Warning"
        if said.reason is Reason.SCHEDULED:
            kind, note = "Normal", messages.scheduled(self._groups.scheduled(key), group.spec.min_count)
        self._record(group, Notice(kind, said.reason.value, note))

    def _record(self, group: PodGroup, notice: Notice) -> None:
        self._ports.recorder.record(event_of(notice, group.metadata, API_VERSION, reporter=self._ports.reporter))


def _body(group: PodGroup, condition: Condition) -> bytes:
    """A strategic merge patch: conditions are merged by their type, and the UID holds it to this very object."""
    uid = {"uid": group.metadata.uid}
    return msgspec.json.encode({"metadata": uid, "status": {"conditions": [msgspec.to_builtins(condition)]}})
