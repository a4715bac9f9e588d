"""The reports of an engine under test, kept for tests to read."""

from __future__ import annotations

from muster.framework.contract import PodInfo
from muster.framework.embedded.silent import Silent


class RecordedReports(Silent):
    """Implements `contract.EventSink` and `contract.ConditionWriter`; reports stay after their pod was deleted.

    Attributes:
        events: (pod's key, reason, note) of each Event.
        conditions: (reason, message, nominated node) last written to each pod, by key; see `ConditionWriter`.
        nominations: (pod's key, node) of each nomination that was written without a condition.
    """

    def __init__(self) -> None:
        self.events: list[tuple[str, str, str]] = []
        self.conditions: dict[str, tuple[str, str, str | None]] = {}
        self.nominations: list[tuple[str, str]] = []

    def event(
        self, regarding: PodInfo, *, type: str, reason: str, action: str, note: str, related: PodInfo | None = None
    ) -> None:
        """Keep an Event."""
        self.events.append((regarding.key, reason, note))

    def unscheduled(self, pod: PodInfo, *, reason: str, message: str, nominated_node: str | None) -> None:
        """Keep a condition."""
        self.conditions[pod.key] = (reason, message, nominated_node)

    def nominated(self, pod: PodInfo, node_name: str) -> None:
        """Keep a nomination."""
        self.nominations.append((pod.key, node_name))
