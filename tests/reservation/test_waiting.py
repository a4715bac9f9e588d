"""For whom room is to be reserved: those of the highest priority that have waited longest, and nobody too early."""

from collections.abc import Mapping

from muster.framework.contract import PodInfo
from muster.plugins.reservation.waiting import LongWaiters
from muster.testing.clock import VirtualClock
from tests.builders import make_pod
from tests.coscheduling.objects import typed_pod

AFTER = 100.0


class Waiting:
    """Waiters of a scheduler in virtual time."""

    def __init__(self, most: int = 2) -> None:
        self.clock = VirtualClock()
        self.activated: list[list[str]] = []
        self.waiters = LongWaiters(AFTER, most, self.clock, self._activate)

    def _activate(self, pods: Mapping[str, PodInfo]) -> None:
        self.activated.append(sorted(pods))

    def refuse(self, holder: str, *names: str, priority: int = 0) -> bool:
        pods = [typed_pod(make_pod(name).priority(priority)) for name in names or (holder,)]
        return self.waiters.refused(holder, pods)

    def wait(self, seconds: float) -> None:
        self.clock.move_to(self.clock.now() + seconds)

    def first(self) -> list[str]:
        return [waiter.holder for waiter in self.waiters.first()]


def test_who_has_waited_long_enough_is_tried_again_by_itself() -> None:
    waiting = Waiting()
    assert not waiting.refuse("a")
    waiting.wait(50)
    assert not waiting.refuse("b")
    waiting.wait(51)
    assert waiting.activated == [["default/a"]]
    assert waiting.refuse("a")
    assert not waiting.refuse("b")
    waiting.wait(50)
    assert waiting.activated[1:] == [["default/a"], ["default/b"]]


def test_the_most_important_come_first_then_those_that_have_waited_longest() -> None:
    waiting = Waiting()
    for holder, priority in (("a", 0), ("b", 0), ("c", 5)):
        waiting.refuse(holder, priority=priority)
        waiting.wait(1)
    waiting.wait(AFTER)
    assert waiting.first() == ["c", "a"]
    assert not waiting.refuse("b")
    waiting.waiters.placed("c")
    assert waiting.first() == ["a", "b"]


def test_a_group_waits_on_with_other_members_and_no_more_when_the_last_has_left() -> None:
    waiting = Waiting()
    waiting.refuse("group", "x", "y")
    waiting.refuse("group", "y", "z")
    waiting.wait(AFTER)
    for name in ("x", "y"):
        waiting.waiters.pod_left(f"pod-default-{name}")
        assert waiting.first() == ["group"]
    waiting.waiters.pod_left("pod-default-z")
    assert waiting.first() == []
