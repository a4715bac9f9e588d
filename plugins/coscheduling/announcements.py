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
"""Reasons whose messages change in numbers alone while a group waits."""


class Announcements:
    """Records announcements, and calls `changed` with the group when there is a new one.

    If members do not fit, the numbers in the message change with every attempt. A message that differs in numbers alone
    counts as new at most every half minute.
    """

    def __init__(self, changed: Callable[[str], None], clock: Clock) -> None:
        self._changed = changed
        self._clock = clock

    def announce(self, record: PodGroupRecord, announcement: Announcement) -> None:
        """Record a decision. A repetition of the last reason and message is ignored, unless it is a timeout."""
        last, announced = record.decided, record.announced
        same = last is not None and (last.reason, last.message) == (announcement.reason, announcement.message)
        if same and announcement.reason is not PodGroupReason.TIMEOUT:
            return
        record.decided = announcement
        if announced is None or not _differ_in_numbers_alone(announced, announcement):
            self._publish(record)
        elif record.announcing is None:
            seconds = max(0.0, announced.wall + QUIET_SECONDS - self._clock.wall())
            record.announcing = self._clock.call_later(seconds, partial(self._publish, record))

    def forget(self, record: PodGroupRecord) -> None:
        """Forget the announcements of a deleted group."""
        record.decided = record.announced = None
        self._cancel(record)

    def _publish(self, record: PodGroupRecord) -> None:
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
