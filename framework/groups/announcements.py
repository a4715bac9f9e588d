"""Announcements: the latest decision on each group, for reports.

The book of groups announces decisions, and the reporter reads them from the record. Both run on one event loop.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from enum import StrEnum
from functools import partial
from typing import Any

from ..contract.handle import Clock
from .record import Announcement, GroupRecord

QUIET_SECONDS = 30.0
_NUMBERS = re.compile(r"\d+")


class Announcements:
    """Records announcements, and calls `changed` with the group when there is a new one.

    `counting` are the reasons whose messages change in numbers alone while a group waits, with every attempt. Such a
    message counts as new at most every half minute. `recurring` are the reasons of which each repetition is new.
    """

    def __init__(
        self,
        changed: Callable[[str], None],
        clock: Clock,
        *,
        counting: Collection[StrEnum] = (),
        recurring: Collection[StrEnum] = (),
    ) -> None:
        self._changed = changed
        self._clock = clock
        self._counting = counting
        self._recurring = recurring

    def announce(self, record: GroupRecord[Any], announcement: Announcement) -> None:
        """Record a decision. A repetition of the last one is ignored, unless its reason is recurring."""
        announced = record.announced
        if record.decided == announcement and announcement.reason not in self._recurring:
            return
        record.decided = announcement
        if announced is None or not self._differ_in_numbers_alone(announced, announcement):
            self._publish(record)
        elif record.announcing is None:
            seconds = max(0.0, announced.wall + QUIET_SECONDS - self._clock.wall())
            record.announcing = self._clock.call_later(seconds, partial(self._publish, record))

    def forget(self, record: GroupRecord[Any]) -> None:
        """Forget the announcements of a deleted group."""
        record.decided = record.announced = None
        self._cancel(record)

    def _publish(self, record: GroupRecord[Any]) -> None:
        self._cancel(record)
        record.announced = record.decided
        self._changed(record.key)

    def _cancel(self, record: GroupRecord[Any]) -> None:
        if record.announcing is not None:
            record.announcing.cancel()
            record.announcing = None

    def _differ_in_numbers_alone(self, one: Announcement, other: Announcement) -> bool:
        same = one.reason is other.reason and one.reason in self._counting
        return same and _without_numbers(one) == _without_numbers(other)


def _without_numbers(announcement: Announcement) -> frozenset[str]:
    """The words of a message, whose order may depend on the numbers in it."""
    return frozenset(_NUMBERS.sub("", announcement.message).split())
