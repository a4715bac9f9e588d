"""Announcements: the last word on each group, for whoever tells people.

The plugin announces what was decided, the PodGroup controller reads it. Both run on one event loop.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial

from muster.framework.contract import Clock, Timer

QUIET_SECONDS = 30.0
_NUMBERS = re.compile(r"\d+")


class PodGroupReason(StrEnum):
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


_NUMBERS_CHANGE = frozenset({PodGroupReason.UNSCHEDULABLE, PodGroupReason.NOT_ENOUGH_RESOURCES})
"""Reasons that a group is given again and again while it waits, each time with other numbers."""


@dataclass(frozen=True, slots=True)
class Announcement:
    """The last word on a group.

    Attributes:
        reason: why it is, or is not, scheduled.
        message: a sentence with the counts.
        wall: when, in seconds since the epoch.
    """

    reason: PodGroupReason
    message: str
    wall: float


class Announcements:
    """The last announcement of each group (`namespace/name`). `changed` is called with a group that has a new one.

    Where members do not fit, the numbers in the text change with every look: other numbers alone count as new at most
    every half minute, and then the latest.
    """

    def __init__(self, changed: Callable[[str], None], clock: Clock) -> None:
        self._last: dict[str, Announcement] = {}
        self._told: dict[str, Announcement] = {}
        self._later: dict[str, Timer] = {}
        self._changed = changed
        self._clock = clock

    def get(self, group: str) -> Announcement | None:
        """The last announcement that counts."""
        return self._told.get(group)

    def announce(self, group: str, announcement: Announcement) -> None:
        """Something was decided; what says the same as the last is left out, unless it is another timeout."""
        last, told = self._last.get(group), self._told.get(group)
        same = last is not None and (last.reason, last.message) == (announcement.reason, announcement.message)
        if same and announcement.reason is not PodGroupReason.TIMEOUT:
            return
        self._last[group] = announcement
        if told is None or not _differ_in_numbers_alone(told, announcement):
            self._tell(group)
        elif group not in self._later:
            seconds = max(0.0, told.wall + QUIET_SECONDS - self._clock.wall())
            self._later[group] = self._clock.call_later(seconds, partial(self._tell, group))

    def forget(self, group: str) -> None:
        """The group is gone."""
        self._last.pop(group, None)
        self._told.pop(group, None)
        self._cancel(group)

    def _tell(self, group: str) -> None:
        self._cancel(group)
        self._told[group] = self._last[group]
        self._changed(group)

    def _cancel(self, group: str) -> None:
        timer = self._later.pop(group, None)
        if timer is not None:
            timer.cancel()


def _differ_in_numbers_alone(one: Announcement, other: Announcement) -> bool:
    return one.reason is other.reason in _NUMBERS_CHANGE and _without_numbers(one) == _without_numbers(other)


def _without_numbers(announcement: Announcement) -> frozenset[str]:
    """The words of a message, whose order may depend on the numbers in it."""
    return frozenset(_NUMBERS.sub("", announcement.message).split())
