"""A budget ends the call that exceeds it and nothing around it, where calls are made within calls, as in trials."""

from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from muster.framework.contract import Status, checkpoint
from muster.framework.runtime.budgets import CALL_SECONDS, GROUP_SECONDS, MEMBER_SECONDS
from tests.builders import make_pod
from tests.security.conforming_plugin import Conforming
from tests.security.test_endless_steps import STEP_SECONDS, TimedWorld, Work
from tests.security.test_every_method import too_large

GROUP_BUDGET = GROUP_SECONDS + MEMBER_SECONDS
TRIED = "pod group preemption: tried"
EXCEEDED = f"it has not come to an end within {GROUP_BUDGET:.3g} s"


class Trying(Conforming):
    """Requests a trial of a group that does not fit, in which members are placed and taken back.

    Attributes:
        spends: what the plugin works.
        tries: what it does with a trial.
        places: what it does where a member is reserved in the trial.
        takes_back: what it does where that ends.
    """

    spends: ClassVar[Work]
    tries: ClassVar[Callable[[Any], object]] = lambda trial: trial.schedule()
    places: ClassVar[Callable[[Work], object]] = lambda work: None
    takes_back: ClassVar[Callable[[Work], object]] = lambda work: None
    trying = False

    def pod_group_post_filter(self, state: Any, group: Any, trial: Any) -> Any:
        if "victims" not in group.key:
            return None, Status.unschedulable()
        self.trying = True
        try:
            with trial.scenario():
                type(self).tries(trial)
        finally:
            self.trying = False
        return None, Status.unschedulable("tried")

    def reserve(self, state: Any, pod: Any, node_name: str) -> Any:
        return type(self).places(self.spends) if self.trying else None

    def unreserve(self, state: Any, pod: Any, node_name: str) -> None:
        if self.trying:
            type(self).takes_back(self.spends)


async def decided(work: Work, **does: Callable[[Any], object]) -> str:
    """What is said about the group, when another pod has been placed after it."""
    methods = {name: staticmethod(each) for name, each in does.items()}
    world = TimedWorld(work, type("Conforming", (Trying,), {"spends": work, "crowded": True, **methods}))
    too_large()(world)
    await world.settle()
    assert not world.engine.cache.snapshot.tentative
    world.add(make_pod("other").requests(cpu="250m"))
    await world.settle()
    assert world.node_of("default/other")
    [message] = {message for _, message, _ in world.conditions.values()}
    await world.kill()
    return message


def slow(work: Work) -> None:
    work.seconds += 2 * GROUP_SECONDS


def endless(trial: Any) -> None:
    while True:
        trial.schedule()
        checkpoint()


@pytest.mark.parametrize("tries", [Trying.tries, endless])
async def test_a_budget_that_is_used_up_while_a_trial_is_undone_ends_the_call_after_that(
    tries: Callable[[Any], object],
) -> None:
    assert EXCEEDED in await decided(Work(), takes_back=slow, tries=tries)


async def test_a_call_that_undoes_a_trial_for_ever_ends_and_the_call_around_it_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    work = Work()
    assert TRIED in await decided(work, takes_back=Work.go_on)
    words = f"it has not come to an end within {CALL_SECONDS:.3g} s"
    assert f'running Unreserve plugin "Conforming": {words}' in caplog.text
    assert work.closed


def at_length(work: Work) -> None:
    for _ in range(40):
        work.seconds += STEP_SECONDS
        checkpoint()


async def test_calls_within_a_call_count_for_its_budget() -> None:
    work = Work()

    def tries(trial: Any) -> None:
        while True:
            trial.schedule()
            work.seconds += STEP_SECONDS
            checkpoint()

    assert EXCEEDED in await decided(work, places=at_length, tries=tries)
    assert work.seconds < 2 * GROUP_BUDGET


async def test_a_call_that_has_ended_may_clean_up() -> None:
    work = Work()
    cleaned_up: list[int] = []

    def tries(trial: Any) -> None:
        try:
            work.go_on()
        finally:
            for part in range(4):
                work.seconds += STEP_SECONDS
                checkpoint()
                cleaned_up.append(part)

    assert EXCEEDED in await decided(work, tries=tries)
    assert cleaned_up == [0, 1, 2, 3]
