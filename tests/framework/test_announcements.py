"""Announcements of a group follow reasons, not the numbers in their text."""

from typing import Any

import pytest

from muster.framework.embedded.clock import VirtualClock
from muster.framework.groups.announcements import QUIET_SECONDS, Announcements
from muster.framework.groups.record import Announcement, GroupRecord
from muster.plugins.coscheduling.book import PodGroups
from muster.plugins.coscheduling.record import PodGroupReason


class Board:
    """Announcements, and what was new at each change."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.reported: list[str] = []
        self.group: GroupRecord[Any] = GroupRecord("ml/g")
        self.announcements = Announcements(self, self.clock, counting=PodGroups.counting)

    def say(self, message: str, reason: PodGroupReason = PodGroupReason.UNSCHEDULABLE) -> None:
        self.announcements.announce(self.group, Announcement(reason, message, self.clock.wall()))

    def mark_changed(self, group: str) -> None:
        """Note the announcement that is new."""
        found = self.group.announced
        assert found is not None
        assert group == "ml/g"
        self.reported.append(found.message)


def test_other_numbers_are_reported_half_a_minute_later_and_the_latest_only() -> None:
    board = Board()
    for number in (1, 2, 3):
        board.say(f"{number} of 9 fit: 5 Insufficient cpu")
    assert board.reported == ["1 of 9 fit: 5 Insufficient cpu"]

    board.clock.move_to(board.clock.now() + QUIET_SECONDS)
    assert board.reported == ["1 of 9 fit: 5 Insufficient cpu", "3 of 9 fit: 5 Insufficient cpu"]


@pytest.mark.parametrize(
    ("reason", "message"),
    [
        (PodGroupReason.UNSCHEDULABLE, "2 of 9 fit: 5 Insufficient memory"),
        (PodGroupReason.NOT_ENOUGH_RESOURCES, "1 of 9 fit: 5 Insufficient cpu"),
        (PodGroupReason.SCHEDULED, "the 9 pods that it needs are scheduled"),
    ],
)
def test_another_reason_is_reported_at_once_and_numbers_that_wait_are_not(reason: PodGroupReason, message: str) -> None:
    board = Board()
    board.say("1 of 9 fit: 5 Insufficient cpu")
    board.say("2 of 9 fit: 5 Insufficient cpu")
    board.say(message, reason)
    assert board.reported == ["1 of 9 fit: 5 Insufficient cpu", message]

    board.clock.move_to(board.clock.now() + QUIET_SECONDS)
    assert len(board.reported) == 2


def test_the_number_of_members_is_reported_at_once() -> None:
    board = Board()
    for number in (1, 2):
        board.say(f"{number} of 9 pods exist", PodGroupReason.WAITING_FOR_PODS)

    assert len(board.reported) == 2


def test_nothing_is_reported_about_a_group_that_is_gone() -> None:
    board = Board()
    board.say("1 of 9 fit")
    board.say("2 of 9 fit")
    board.announcements.forget(board.group)
    board.clock.move_to(board.clock.now() + QUIET_SECONDS)

    assert board.reported == ["1 of 9 fit"]
    assert board.group.announced is None
