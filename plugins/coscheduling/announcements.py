"""Announcements: the latest decision on each group, for reports.

The plugin announces decisions, and the PodGroup controller reads them. Both run on one event loop.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from muster.framework.contract import Clock

from .record import Announcement, PodGroupReason, PodGroupRecord

QUIET_SECONDS = 30.0
_NUMBERS = re.compile(r"\d+")
_NUMBERS_CHANGE = frozenset({PodGroupReason.UNSCHEDULABLE, PodGroupReason.NOT_ENOUGH_RESOURCES})
"""Reasons that a group is given again and again while it waits, each time with other numbers."""


class Announcements:
    """Announces of groups, and calls `changed` with one of which there is something new.

    Where members do not fit, the numbers in the text change with every look: other numbers alone count as new at most
    every half minute, and then the latest.
    """

    def __init__(self, changed: Callable[[str], None], clock: Clock) -> None:
        self._changed = changed
        self._clock = clock

    def announce(self, record: PodGroupRecord, announcement: Announcement) -> None:
        """Something was decided; what says the same as the last is left out, unless it is another timeout."""
        last, told = record.decided, record.announced
        same = last is not None and (last.reason, last.message) == (announcement.reason, announcement.message)
        if same and announcement.reason is not PodGroupReason.TIMEOUT:
            return
        record.decided = announcement
        if told is None or not _differ_in_numbers_alone(told, announcement):
            self._tell(record)
        elif record.announcing is None:
            seconds = max(0.0, told.wall + QUIET_SECONDS - self._clock.wall())
            record.announcing = self._clock.call_later(seconds, partial(self._tell, record))

    def forget(self, record: PodGroupRecord) -> None:
        """The group is gone."""
        record.decided = record.announced = None
        self._cancel(record)

    def _tell(self, record: PodGroupRecord) -> None:
        self._cancel(record)
        record.announced = record.decided
        self._changed(record.key)

    def _cancel(self, record: PodGroupRecord) -> None:
        if record.announcing is not None:
            record.announcing.cancel()
            record.announcing = None


def _differ_in_numbers_alone(one: Announcement, other: Announcement) -> bool:
    return one.reason is other.reason in _NUMBERS_CHANGE and _without_numbers(one) == _without_numbers(other)


def _without_numbers(announcement: Announcement) -> frozenset[str]:
    """The words of a message, whose order may depend on the numbers in it."""
    return frozenset(_NUMBERS.sub("", announcement.message).split())
