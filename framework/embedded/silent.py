"""The recipient of what an engine reports when no user reads it."""

from __future__ import annotations

from ..contract import PodInfo


class Silent:
    """Implements `contract.EventSink` and `contract.ConditionWriter`, and drops what is reported."""

    def event(
        self, regarding: PodInfo, *, type: str, reason: str, action: str, note: str, related: PodInfo | None = None
    ) -> None:
        """Drop an Event."""

    def unscheduled(self, pod: PodInfo, *, reason: str, message: str, nominated_node: str | None) -> None:
        """Drop a condition."""

    def nominated(self, pod: PodInfo, node_name: str) -> None:
        """Drop a nomination."""

    def forget(self, uid: str) -> None:
        """Nothing is kept."""
