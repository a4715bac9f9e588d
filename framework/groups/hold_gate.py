"""The gate of held groups: unbound members are not started, and each reports the hold.

PreEnqueue gates members that enter the queue while their group is held. `HoldGate` does the rest for the group plugin
of one profile: members that wait at Permit when the hold begins release their nodes, nominations are withdrawn, members
that are already in the queue are gated after their next attempt, which PreFilter rejects, and gated members are
reported. A member whose binding has begun is bound.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..contract.handle import Handle
from ..contract.status import Status
from ..model.pod_info import PodInfo
from .holds import GroupHolds
from .members import Members
from .nominations import MemberNominations


class HoldGate:
    """Enforces `holds` for the group plugin of this name."""

    def __init__(
        self,
        holds: GroupHolds,
        members: Members[Any],
        nominations: MemberNominations,
        handle: Handle,
        *,
        plugin: str,
    ) -> None:
        self._holds = holds
        self._members = members
        self._nominations = nominations
        self._handle = handle
        self._plugin = plugin

    def begin(self, group: str) -> bool:
        """Release nodes and nominations of members if the group is held; returns whether it is."""
        reason = self._holds.text(group)
        if reason is None:
            return False
        released: dict[str, PodInfo] = {}
        for waiting in self._handle.waiting_pods:
            if self._members.counted_in(waiting.pod) == group:
                waiting.reject(self._plugin, reason)
                released[waiting.pod.key] = waiting.pod
        self._handle.activate(released)
        self._nominations.withdraw(group)
        return True

    def gate(self, pods: Iterable[PodInfo]) -> None:
        """Activate rejected members of held groups, so that PreEnqueue gates them when they return to the queue."""
        if self._holds:
            self._handle.activate({pod.key: pod for pod in pods if self._reason(pod) is not None})

    def report(self, pod: PodInfo, status: Status) -> None:
        """Report a pod that PreEnqueue gates with this status, if its group is held."""
        reason = self._reason(pod) if status.plugin == self._plugin and self._holds else None
        if reason is not None:
            self._handle.report_gate(pod, reason)

    def _reason(self, pod: PodInfo) -> str | None:
        group = self._members.named_by(pod)
        return None if group is None else self._holds.text(group)
