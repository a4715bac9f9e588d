"""Announcements: the last word on each group, for whoever tells people.

The plugin announces what was decided, the PodGroup controller reads it. Both run on one event loop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class Reason(StrEnum):
    """Why a group is, or is not, scheduled: the machine-readable word of the condition and of events."""

    SCHEDULED = "Scheduled"
    """Its quorum has nodes."""
    WAITING_FOR_PODS = "WaitingForPods"
    """Fewer pods than minMember exist, or are there for Muster to try."""
    GATED_PODS = "GatedPods"
    """Enough pods exist, but some have scheduling gates."""
    NOT_ENOUGH_RESOURCES = "NotEnoughResources"
    """What is free is less than minResources."""
    UNSCHEDULABLE = "Unschedulable"
    """The members that it lacks do not fit on the nodes together."""
    BINDING_FAILED = "BindingFailed"
    """Members of its quorum have nodes, and the API refused to bind the others."""
    TIMEOUT = "Timeout"
    """Members held nodes, but the others did not come in time."""
    SCHEDULING = "Scheduling"
    """Enough pods exist, and fewer than its quorum have nodes yet. Not announced: the pods show it."""
    LOST_MEMBERS = "LostMembers"
    """Its quorum had nodes; pods went, and their successors have none yet. Not announced: the pods show it."""


@dataclass(frozen=True, slots=True)
class Announcement:
    """The last word on a group.

    Attributes:
        reason: why it is, or is not, scheduled.
        message: a sentence with the counts.
        wall: when, in seconds since the epoch.
    """

    reason: Reason
    message: str
    wall: float


class Announcements:
    """The last announcement of each group (`namespace/name`). `changed` is called with a group that has a new one."""

    def __init__(self, changed: Callable[[str], None]) -> None:
        self._last: dict[str, Announcement] = {}
        self._changed = changed

    def get(self, group: str) -> Announcement | None:
        """The last announcement."""
        return self._last.get(group)

    def announce(self, group: str, announcement: Announcement) -> None:
        """Something was decided; what says the same as the last is left out, unless it is another timeout."""
        last = self._last.get(group)
        same = last is not None and (last.reason, last.message) == (announcement.reason, announcement.message)
        if same and announcement.reason is not Reason.TIMEOUT:
            return
        self._last[group] = announcement
        self._changed(group)

    def forget(self, group: str) -> None:
        """The group is gone."""
        self._last.pop(group, None)
