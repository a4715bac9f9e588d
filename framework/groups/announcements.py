"""Announcements: the latest decision on each group, on its way to users.

A plugin *announces* a decision on a group, and the operator *reports* it. Each step notes in the group's record how far
the decision has come:

    plugin: `GroupBook.announce`                    -> record.decided
      at once, or within half a minute if only numbers changed
                                                    -> record.announced
      `mark_changed`, `GroupBook.subscribe`
    operator: `StatusController`, at most once a second for each group
      `GroupReporter.report` returns a `Report`: a patch of the status, and `Notice`s (Events)
      the API server accepts the patch              -> record.reported (the announcement),
                                                       record.answered (the object in the server's answer)

All of this runs on one event loop.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from enum import StrEnum
from functools import partial
from typing import Any, Protocol

from ..contract.handle import Clock
from .record import Announcement, GroupRecord

QUIET_SECONDS = 30.0
_NUMBERS = re.compile(r"\d+")


class ChangeMarker(Protocol):
    """The book of groups, which passes changes on to its readers."""

    def mark_changed(self, group: str) -> None:
        """The group has a new announcement."""
        ...


class Announcements:
    """Records announcements, and marks the group in the `book` when there is a new one.

    `counting` are the reasons whose messages change in numbers alone while a group waits, with every attempt. Such a
    message counts as new at most every half minute. `recurring` are the reasons of which each repetition is new.
    """

    def __init__(
        self,
        book: ChangeMarker,
        clock: Clock,
        *,
        counting: Collection[StrEnum] = (),
        recurring: Collection[StrEnum] = (),
    ) -> None:
        self._book = book
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
        self._book.mark_changed(record.key)

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
