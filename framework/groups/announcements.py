"""Announcements: the latest decision on each group, for reports.

The book of groups announces decisions, and the reporter of the groups reads them. Both run on one event loop.
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
    """Announces of groups, and calls `changed` with one of which there is something new.

    A group is given each of the reasons in `counting` again and again while it waits, each time with other numbers in
    the text: other numbers alone count as new at most every half minute, and then the latest. A decision for a reason
    in `recurring` is new although the last one said the same.
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
        """Something was decided; what says the same as the last is left out, unless its reason recurs."""
        told = record.announced
        if record.decided == announcement and announcement.reason not in self._recurring:
            return
        record.decided = announcement
        if told is None or not self._differ_in_numbers_alone(told, announcement):
            self._tell(record)
        elif record.announcing is None:
            seconds = max(0.0, told.wall + QUIET_SECONDS - self._clock.wall())
            record.announcing = self._clock.call_later(seconds, partial(self._tell, record))

    def forget(self, record: GroupRecord[Any]) -> None:
        """The group is gone."""
        record.decided = record.announced = None
        self._cancel(record)

    def _tell(self, record: GroupRecord[Any]) -> None:
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
