"""The pods for which capacity is reserved: those of highest priority that waited longest, and none too early."""

from collections.abc import Mapping
from math import inf

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from muster.framework.contract import PodInfo
from muster.framework.model.times import rfc3339
from muster.plugins.reservation.packing import FREE, Cost
from muster.plugins.reservation.waiters import Chance, LongWaiters, Waiter
from tests.builders import make_pod
from tests.coscheduling.objects import typed_pod
from tests.reservation.jumping_clock import JumpingClock

AFTER = 100.0


def pods_of(*names: str, priority: int = 0) -> list[PodInfo]:
    return [typed_pod(make_pod(name).priority(priority)) for name in names]


def uid_of(name: str) -> str:
    return f"pod-default-{name}"


class Waiting:
    """Waiters of a scheduler in virtual time."""

    def __init__(self, most: int = 2) -> None:
        self.clock = JumpingClock()
        self.activated: list[list[str]] = []
        self.left: list[str] = []
        self.starts: dict[str, float] = {}
        self.waiters = LongWaiters(
            AFTER, most, self.clock, self._activate, left=self.left.append, start_of=self.starts.get
        )

    def _activate(self, pods: Mapping[str, PodInfo]) -> None:
        self.activated.append(sorted(pods))

    def reject(self, holder: str, *names: str, priority: int = 0) -> bool:
        return self.waiters.rejected(holder, pods_of(*names or (holder,), priority=priority))

    def waiter(self, holder: str) -> Waiter:
        found = self.waiters.get(holder)
        assert found is not None
        return found

    def judge(self, holder: str, cost: Cost | None) -> None:
        self.waiters.judge(self.waiter(holder), cost)

    def over(self, holder: str, *names: str) -> None:
        self.waiters.over(holder, pods_of(*names or (holder,)))

    def wait(self, seconds: float) -> None:
        self.clock.move_to(self.clock.now() + seconds)

    def first(self) -> list[str]:
        return [waiter.holder for waiter in self.waiters.first()]


def test_a_waiter_is_tried_again_after_the_time_for_a_reservation() -> None:
    waiting = Waiting()
    assert not waiting.reject("a")
    waiting.wait(50)
    assert not waiting.reject("b")
    waiting.wait(51)
    assert waiting.activated == [["default/a"]]
    assert waiting.reject("a")
    assert not waiting.reject("b")
    waiting.wait(50)
    assert waiting.activated[1:] == [["default/a"], ["default/b"]]


def test_a_new_leader_counts_on_from_the_condition_of_the_pod_that_has_waited_longest() -> None:
    waiting = Waiting()
    waiting.wait(80)
    members = [
        make_pod(name)
        | {"status": {"conditions": [{"type": "PodScheduled", "status": status, "reason": reason, **since}]}}
        for name, status, reason, since in (
            ("a", "False", "Unschedulable", {"lastTransitionTime": rfc3339(waiting.clock.wall() - 60)}),
            ("b", "False", "SchedulerError", {"lastTransitionTime": rfc3339(waiting.clock.wall() - 20)}),
            ("c", "False", "Unschedulable", {}),
            ("d", "True", "", {"lastTransitionTime": rfc3339(waiting.clock.wall() - 70)}),
            ("e", "False", "QuotaExceeded", {"lastTransitionTime": rfc3339(waiting.clock.wall() - 75)}),
        )
    ]
    assert not waiting.waiters.rejected("gang", [typed_pod(pod) for pod in members])
    assert waiting.waiter("gang").since == waiting.clock.now() - 60
    waiting.wait(41)
    assert waiting.activated == [[f"default/{name}" for name in "abcde"]]
    assert waiting.first() == ["gang"]


def test_a_condition_from_a_clock_that_is_ahead_begins_no_wait_in_the_future() -> None:
    waiting = Waiting()
    ahead = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "lastTransitionTime": rfc3339(waiting.clock.wall() + 90),
    }
    waiting.waiters.rejected("a", [typed_pod(make_pod("a") | {"status": {"conditions": [ahead]}})])
    assert waiting.waiter("a").since == waiting.clock.now()


def test_a_condition_from_a_clock_that_is_behind_begins_no_wait_before_the_pod_was_created() -> None:
    waiting = Waiting()
    waiting.wait(80)
    wall = waiting.clock.wall()
    behind = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "lastTransitionTime": rfc3339(wall - 900),
    }
    pod = make_pod("a") | {"status": {"conditions": [behind]}}
    pod["metadata"]["creationTimestamp"] = rfc3339(wall - 30)
    waiting.waiters.rejected("a", [typed_pod(pod)])
    assert waiting.waiter("a").since == waiting.clock.now() - 30


def test_a_clock_that_jumps_ahead_begins_no_wait_before_the_pod_was_seen_to_come() -> None:
    waiting = Waiting()
    rejected = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "lastTransitionTime": rfc3339(waiting.clock.wall()),
    }
    pod = make_pod("a") | {"status": {"conditions": [rejected]}}
    pod["metadata"]["creationTimestamp"] = rfc3339(waiting.clock.wall())
    came = waiting.clock.now()
    waiting.waiters.rejections.pod_came(typed_pod(pod))
    waiting.wait(30)
    waiting.clock.jump = 900.0
    waiting.waiters.rejected("a", [typed_pod(pod)])
    assert waiting.waiter("a").since == came


@pytest.mark.timeout(20)
def test_a_round_begins_at_its_moment_though_the_difference_of_both_rounds_to_less() -> None:
    """A decision at that very moment would else look for the next round for ever."""
    since = 1008.1
    assert since + AFTER - since < AFTER
    waiting = Waiting()
    waiting.clock.move_to(since)
    waiting.reject("early")
    waiting.clock.move_to(since + AFTER)
    assert waiting.reject("early")
    assert waiting.waiters.round_of(waiting.waiter("early")) == 0


def test_a_waiter_with_a_reservation_is_not_tried_when_others_are_due() -> None:
    waiting = Waiting()
    waiting.reject("a")
    waiting.wait(1)
    waiting.reject("b")
    waiting.wait(AFTER - 0.5)
    waiting.starts["a"] = inf
    waiting.wait(1)
    assert waiting.activated == [["default/a"], ["default/b"]]


def test_a_waiter_without_a_plan_yields_to_the_next_until_a_change() -> None:
    waiting = Waiting(most=1)
    waiting.reject("a")
    waiting.wait(1)
    waiting.reject("b")
    waiting.wait(AFTER + 1)
    assert waiting.first() == ["a"]
    waiting.judge("a", None)
    assert waiting.first() == ["b"]
    assert not waiting.reject("a")
    waiting.waiters.plan_for(waiting.waiter("a"))
    assert waiting.reject("a")
    waiting.judge("a", FREE)
    assert waiting.first() == ["a"]


BLOCKED = Cost(blocked=1, moved=1, lacking=1, missing=0.5)
LATE = Cost(blocked=1)


@pytest.mark.parametrize(
    ("costs", "chance"),
    [
        ([BLOCKED], Chance.OPEN),
        ([BLOCKED, BLOCKED], Chance.NONE),
        ([BLOCKED, BLOCKED._replace(missing=0.25)], Chance.SLIM),
        ([BLOCKED, BLOCKED._replace(missing=0.25), BLOCKED._replace(missing=0.25)], Chance.NONE),
        ([BLOCKED, BLOCKED._replace(missing=0.25), BLOCKED._replace(missing=0.125)], Chance.SLIM),
        ([BLOCKED, BLOCKED._replace(blocked=0, lacking=4)], Chance.OPEN),
        ([BLOCKED, LATE], Chance.SLIM),
        ([BLOCKED, LATE, LATE], Chance.SLIM),
    ],
)
def test_in_each_round_who_waits_for_long_lived_pods_has_to_have_gained_something(
    costs: list[Cost], chance: Chance
) -> None:
    waiting = Waiting()
    waiting.reject("a")
    for number, cost in enumerate(costs):
        waiting.wait(AFTER * 2**number - (waiting.clock.now() - waiting.waiter("a").since))
        waiting.judge("a", cost)
    assert waiting.waiter("a").chance is chance


def test_waiters_with_a_chance_come_first_then_waiters_with_a_reported_time() -> None:
    waiting = Waiting(most=1)
    for holder in ("a", "b", "c"):
        waiting.reject(holder)
        waiting.wait(1)
    waiting.wait(AFTER)
    assert waiting.first() == ["a"]
    waiting.starts.update(a=inf, b=waiting.clock.now() + 1000)
    assert waiting.first() == ["b"]
    waiting.wait(AFTER)
    waiting.judge("b", BLOCKED)
    assert waiting.first() == ["a"]


def test_waiters_are_ordered_by_priority_then_by_waiting_time() -> None:
    waiting = Waiting()
    for holder, priority in (("a", 0), ("b", 0), ("c", 5)):
        waiting.reject(holder, priority=priority)
        waiting.wait(1)
    waiting.wait(AFTER)
    assert waiting.first() == ["c", "a"]
    assert not waiting.reject("b")
    waiting.over("c")
    assert waiting.first() == ["a", "b"]


def test_a_group_waits_on_with_other_members_and_no_more_when_the_last_has_left() -> None:
    waiting = Waiting()
    waiting.reject("group", "x", "y")
    waiting.reject("group", "y", "z")
    waiting.wait(AFTER)
    for name in ("x", "y"):
        waiting.waiters.pod_left(uid_of(name))
        assert waiting.first() == ["group"]
    waiting.waiters.pod_left(uid_of("z"))
    assert waiting.first() == []


def test_a_pod_that_was_refused_by_itself_and_then_with_its_group_waits_with_that_alone() -> None:
    waiting = Waiting()
    waiting.reject("x")
    waiting.reject("group", "x", "y")
    waiting.wait(AFTER)
    assert waiting.first() == ["group"]
    assert waiting.left == [uid_of("x")]
    waiting.over("group", "x", "y")
    assert waiting.first() == []


def test_a_group_that_waits_again_takes_back_pods_that_waited_by_themselves_meanwhile() -> None:
    waiting = Waiting()
    waiting.reject("group", "x", "y")
    for name in ("x", "y"):
        waiting.reject(name)
    waiting.wait(AFTER)
    assert waiting.first() == ["x", "y"]
    waiting.waiters.pod_left(uid_of("x"))
    waiting.reject("group", "x", "y")
    waiting.wait(AFTER)
    assert waiting.first() == ["group"]


def test_a_group_has_waited_since_its_first_rejection_even_if_all_its_pods_were_replaced() -> None:
    waiting = Waiting()
    waiting.reject("group", "x")
    waiting.wait(AFTER)
    assert waiting.reject("group", "y")
    assert waiting.left == [uid_of("x")]


_holders, _pods = st.sampled_from(["a", "b", "c"]), st.lists(st.sampled_from("vwxyz"), min_size=1, unique=True)


class PodsThatWait(RuleBasedStateMachine):
    """Pods are rejected with one holder or another; beside it the plain list of which wait together."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting = Waiting(most=9)
        self.with_whom: dict[str, str] = {}

    @rule(holder=_holders, names=_pods)
    def reject(self, holder: str, names: list[str]) -> None:
        self.waiting.reject(holder, *names)
        self._become(
            {name: other for name, other in self.with_whom.items() if other != holder} | dict.fromkeys(names, holder)
        )

    @rule(holder=_holders, names=_pods)
    def over(self, holder: str, names: list[str]) -> None:
        self.waiting.over(holder, *names)
        self._become({name: other for name, other in self.with_whom.items() if other != holder and name not in names})

    @rule(names=_pods)
    def leave(self, names: list[str]) -> None:
        for name in names:
            self.waiting.waiters.pod_left(uid_of(name))
        self._become({name: other for name, other in self.with_whom.items() if name not in names})

    def _become(self, with_whom: dict[str, str]) -> None:
        left = {uid_of(name) for name, other in self.with_whom.items() if with_whom.get(name) != other}
        assert sorted(self.waiting.left) == sorted(left)
        self.waiting.left.clear()
        self.with_whom = with_whom

    @invariant()
    def everyone_waits_with_one_holder(self) -> None:
        self.waiting.wait(AFTER)
        found = [(uid, waiter.holder) for waiter in self.waiting.waiters.first() for uid in waiter.pods]
        assert sorted(found) == sorted((uid_of(name), holder) for name, holder in self.with_whom.items())
        assert sorted(self.waiting.first()) == sorted({*self.with_whom.values()})


PodsThatWait.TestCase.settings = settings(max_examples=60, stateful_step_count=12, deadline=None)
TestPodsThatWait = PodsThatWait.TestCase
