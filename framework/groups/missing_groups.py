"""Pods that name a group which does not exist: each gets one Event per name, once this has lasted for a second.

Group plugins keep such pods out of the queue with PreEnqueue, and report them here. Pods and groups arrive in separate
streams, so a pod is often seen before its group. A process that does not lead, or has not synced yet, must not report.
"""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

from ..contract.handle import Handle
from ..model.pod_info import PodInfo

_PATIENCE_SECONDS = 1.0
_SLACK_SECONDS = 0.01
"""Timers may fire a little early."""


def group_missing(group: str) -> str:
    """The message for a pod whose group, `namespace/name`, does not exist (yet).

    It is kube-scheduler's, word for word, double genitive included.
    """
    return f'waiting for pods\'s pod group "{group.partition("/")[2]}" to appear in scheduling queue'


class _Waiting(NamedTuple):
    """A pod, the group that it waits for, and since when, in seconds on the engine's clock."""

    pod: PodInfo
    group: str
    since: float


class MissingGroups:
    """Pods of one profile whose group is missing from `groups`, by pod: each gets an Event of its own."""

    def __init__(self, groups: Container[str], handle: Handle) -> None:
        self._groups = groups
        self._handle = handle
        self._pending: dict[str, _Waiting] = {}
        self._reported: dict[str, str] = {}
        self._looking = False

    def waits_for(self, pod: PodInfo, group: str) -> None:
        """The pod waits for a group that does not exist."""
        pending = self._pending.get(pod.uid)
        if group in (self._reported.get(pod.uid), pending.group if pending is not None else None):
            return
        self._pending[pod.uid] = _Waiting(pod, group, self._handle.clock.now())
        self._look_later()

    def waits_no_more(self, uid: str) -> None:
        """The pod's group exists, or the pod is deleted."""
        self._pending.pop(uid, None)
        self._reported.pop(uid, None)

    def _look_later(self) -> None:
        if self._pending and not self._looking:
            self._looking = True
            self._handle.clock.call_later(_PATIENCE_SECONDS, self._look)

    def _look(self) -> None:
        self._looking = False
        if self._handle.may_report():
            patient_since = self._handle.clock.now() - _PATIENCE_SECONDS + _SLACK_SECONDS
            for uid, waiting in [*self._pending.items()]:
                if waiting.since <= patient_since:
                    del self._pending[uid]
                    self._report(waiting)
        self._look_later()

    def _report(self, waiting: _Waiting) -> None:
        pod, group, _ = waiting
        if group not in self._groups:
            self._reported[pod.uid] = group
            note = group_missing(group)
            self._handle.events.event(pod, type="Warning", reason="FailedScheduling", action="Scheduling", note=note)
