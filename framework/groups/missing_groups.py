"""Pods whose group is missing: one Event for each, and the message of their gate.

Group plugins keep such pods out of the queue with PreEnqueue. A pod is often seen before its group, so its Event is
written once the group has been missing for a second; see `PendingReports`.
"""

from __future__ import annotations

from collections.abc import Container

from ..contract.handle import Handle
from ..model.pod_info import PodInfo
from .pod_reports import PendingReports


def group_missing(group: str) -> str:
    """The message for a pod whose group, `namespace/name`, does not exist (yet).

    It is kube-scheduler's, word for word, double genitive included.
    """
    return f'waiting for pods\'s pod group "{group.partition("/")[2]}" to appear in scheduling queue'


class MissingGroups:
    """Pods of one profile whose group is missing from `groups`: each gets one Event per name of a group."""

    def __init__(self, groups: Container[str], handle: Handle) -> None:
        self._groups = groups
        self._handle = handle
        self._pending = PendingReports[str](handle, self._report)
        self._reported: dict[str, str] = {}

    def waits_for(self, pod: PodInfo, group: str) -> None:
        """The pod waits for a group that does not exist."""
        if group not in (self._reported.get(pod.uid), self._pending.get(pod.uid)):
            self._pending.put(pod, group)

    def waits_no_more(self, uid: str) -> None:
        """The pod's group exists, or the pod names none any more, or is deleted."""
        self._pending.drop(uid)
        self._reported.pop(uid, None)

    def _report(self, pod: PodInfo, group: str) -> None:
        if group not in self._groups:
            self._reported[pod.uid] = group
            note = group_missing(group)
            self._handle.events.event(pod, type="Warning", reason="FailedScheduling", action="Scheduling", note=note)
