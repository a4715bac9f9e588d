"""Calls that never end cost the pod its attempt, by plugin and point, as long as they pass checkpoints."""

from contextlib import suppress
from dataclasses import replace
from typing import Any, NoReturn

import pytest
from greenlet import getcurrent

from muster.framework.contract import Plugin, checkpoint
from muster.framework.runtime.budgets import (
    CALL_SECONDS,
    GROUP_SECONDS,
    MEMBER_SECONDS,
    REDUCED_FOR_SECONDS,
)
from muster.framework.scheduler.engine import Engine
from muster.framework.scheduler.ports import Ports
from tests.builders import make_node, make_pod
from tests.security.conforming_plugin import Conforming, OneByOne, World
from tests.security.test_every_method import CASES, Call, Rogues, make_room, play

STEP_SECONDS = 0.25
NEVER_PAUSED = {
    "BindPlugin.bind",
    "CapacityReserver.reserved_shares",
    "DecisionFollower.on_pre_enqueue",
    "DisruptionPlugin.disruption_epoch",
    "EventRegistration.hint",
    "EvictionRulePlugin.may_claim",
    "GroupPlugin.group_of",
    "GroupPlugin.priority",
    "ObjectFollower.on_object",
    "PodFollower.on_assumed_pod_expired",
    "PodFollower.on_pod",
    "PostBindPlugin.post_bind",
    "PreBindPlugin.planned",
    "PreBindPlugin.pre_bind",
    "PreBindPlugin.pre_bind_pre_flight",
    "PreEnqueuePlugin.pre_enqueue",
    "QueueSortPlugin.sort_key",
    "StartForecaster.starts",
    "TenantOrderPlugin.tenant_of",
    "TenantOrderPlugin.tenants_moved",
    "TenantOrderPlugin.turn_of",
}
"""Methods that these tests call while no decision is in progress, so that their checkpoints do not pause."""
LARGER = {
    "DecisionFollower.on_group_decision": CALL_SECONDS + MEMBER_SECONDS,
    "PodGroupPostFilterPlugin.pod_group_post_filter": GROUP_SECONDS + MEMBER_SECONDS,
}
"""The budgets of calls about a group of two."""


class Work:
    """What endless steps have spent, seconds. It passes on the stopwatch alone.

    Attributes:
        seconds: how long they have worked.
        closed: how many of them have ended.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.closed = 0

    def go_on(self) -> NoReturn:
        """Work for ever, whatever an `Exception` says."""
        try:
            while True:
                self.seconds += STEP_SECONDS
                with suppress(Exception):
                    checkpoint()
        finally:
            self.closed += 1

    def answer(self, method: str) -> Any:
        """What a method answers, as `Rogues` wants it; it answers well where checkpoints do not pause."""

        def answer(call: Call) -> Any:
            if method == "LongWork.left":
                return "Conforming", self.go_on
            return call.well() if getcurrent().parent is None else self.go_on()

        return answer


class TimedWorld(World):
    """What is done in one step lasts longer than a slice."""

    def __init__(self, work: Work, *plugins: type[Plugin]) -> None:
        self._work = work
        super().__init__(*plugins, stopwatch=lambda: work.seconds)

    def build(self, ports: Ports) -> Engine:
        return super().build(replace(ports, stopwatch=lambda: self.clock.now() + self._work.seconds))


@pytest.mark.parametrize("name", sorted(CASES))
async def test_the_budget_ends_them_by_name_and_the_rest_goes_on(name: str, caplog: pytest.LogCaptureFixture) -> None:
    case, work = CASES[name], Work()
    rogues = Rogues(case, name, work.answer(name))
    plugins = {plugin.name: plugin for plugin in (Conforming, OneByOne, rogues.plugin())}
    world = TimedWorld(work, *plugins.values())

    await play(world, case)

    others = {key for key in world.api.pods if "victim" not in key}
    assert {key for key in others if world.node_of(key)} == others
    notes = [note for _, _, note in world.events]
    reported = [*notes, *(message for _, message, _ in world.conditions.values()), caplog.text]
    budget = LARGER.get(name, CALL_SECONDS)
    words = f"it has not come to an end within {budget:.3g} s"
    if name not in NEVER_PAUSED:
        assert any(case.says in text and words in text for text in reported), reported
        assert budget <= work.seconds <= work.closed * (budget + STEP_SECONDS)
    assert bool(work.closed) is (name not in NEVER_PAUSED)
    assert not world.engine.cache.snapshot.tentative

    rogues.mended = True
    plugins["Conforming"].crowded = False  # type: ignore[attr-defined]
    await make_room(world)
    assert {key: world.place(key) for key in world.api.pods if not world.node_of(key)} == {}
    world.check()


class Endless(Conforming):
    """Searches capacity for ever, for pods labelled `picky`."""

    spends: Work

    def post_filter(self, state: Any, pod: Any, diagnosis: Any) -> Any:
        return self.spends.go_on()


def endless(work: Work) -> type[Plugin]:
    return type("Conforming", (Endless,), {"spends": work, "crowded": True})


async def test_a_plugin_that_repeatedly_exceeds_its_budget_gets_a_smaller_one_for_a_while() -> None:
    work = Work()
    world = TimedWorld(work, endless(work))
    world.add(make_pod("alike").requests(cpu="500m").node("node-x"))

    async def attempt(cpu: str = "500m") -> float:
        """The seconds that an attempt of a pod takes."""
        before = work.seconds
        [key] = world.add(make_pod("victim").requests(cpu=cpu).labels(picky="yes"))
        await world.settle()
        world.delete(key)
        return work.seconds - before

    assert [await attempt() for _ in range(6)] == [20.0, 5.0, 1.25, 0.5, 0.25, 0.25]
    assert await attempt(cpu="501m") == CALL_SECONDS
    await world.run(REDUCED_FOR_SECONDS)
    assert await attempt() == CALL_SECONDS
    await world.kill()


class Instant(Work):
    """Its steps take no time at all."""

    def __init__(self) -> None:
        super().__init__()
        self.taken = 0

    def go_on(self) -> NoReturn:
        while True:
            self.taken += 1
            checkpoint()


async def test_where_the_clock_stands_their_number_ends_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muster.framework.runtime.budgets.CALL_SECONDS", 0.05)
    work = Instant()
    world = World(endless(work))
    world.add(make_pod("victim").requests(cpu="500m").labels(picky="yes"))
    await world.settle()
    assert work.taken == pytest.approx(50 * 10_000, rel=0.001)
    await world.kill()


async def test_changes_that_informers_bring_meanwhile_are_taken_in_when_the_budget_is_spent() -> None:
    work = Work()
    world = TimedWorld(work, endless(work))
    world.add(make_pod("victim").requests(cpu="500m").labels(picky="yes"))
    assert world.step()

    world.add_nodes(make_node("late", cpu="8"))
    world.add(make_pod("other").requests(cpu="250m"))
    while world.engine.scheduler.under_way:
        assert world.engine.cache.snapshot.node_count == 3
        assert world.step()
    assert (work.seconds, world.engine.cache.snapshot.node_count) == (CALL_SECONDS, 4)
    await world.settle()
    assert world.node_of("default/other")
    await world.kill()
