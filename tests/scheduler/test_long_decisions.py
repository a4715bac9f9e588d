"""A gang is decided in slices, each of which does one member's work at most beyond its time. Nothing else changes what
it is decided on meanwhile."""

import asyncio
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from muster.framework.contract import (
    CycleState,
    NodeView,
    PermitPlugin,
    PodInfo,
    PreFilterPlugin,
    ReservePlugin,
    Status,
)
from muster.framework.runtime.standstill import SLICE_SECONDS
from muster.operator.process.loop import SchedulingLoop
from tests.builders import PodDict, make_node, make_pod
from tests.coscheduling.objects import make_group, make_member
from tests.coscheduling.world import World

_GANGS = ("red", "blue")


class Timed(PreFilterPlugin, ReservePlugin, PermitPlugin):
    """Each call takes as long as a slice."""

    name = "Timed"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.calls: Counter[str] = Counter()

    def note(self, point: str) -> None:
        self.calls[point] += 1

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status | None:
        self.note("pre_filter")
        return None

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        self.note("reserve")
        return None

    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        self.note("unreserve")

    def permit(self, state: CycleState, pod: PodInfo, node_name: str) -> tuple[Status | None, float]:
        self.note("permit")
        return None, 0.0


class Ticks:
    """A stopwatch on which every look takes longer than a slice, so that a slice is one step."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        self.seconds += SLICE_SECONDS
        return self.seconds


def sliced(*plugins: type[Timed]) -> World:
    return World(plugins={plugin.name: plugin for plugin in plugins}, stopwatch=Ticks())


def gang(world: World, size: int, *, cpu: str = "1", name: str = "gang") -> list[str]:
    world.add_group(name, size)
    return world.add(*(make_member(f"{name}-{number}", name, cpu=cpu) for number in range(size)))


async def turns_until(probe: Callable[[], bool]) -> None:
    """Let the event loop turn until `probe` holds."""
    for _ in range(1000):
        if probe():
            return
        await asyncio.sleep(0)
    raise AssertionError("not so")


async def test_a_slice_does_the_work_of_one_member() -> None:
    world = sliced(Timed)
    world.add_nodes(make_node("one", cpu="100"))
    gang(world, 8)
    plugin = world.engine.algorithms["muster"].framework.plugins.plugins["Timed"]
    assert isinstance(plugin, Timed)

    steps = []
    while world.step():
        steps.append(plugin.calls)
        plugin.calls = Counter()

    assert sum(steps, Counter()) == {"pre_filter": 8, "reserve": 16, "unreserve": 8, "permit": 8}
    assert all(max(calls.values(), default=0) <= 1 for calls in steps)
    assert len(steps) >= 6 * 8  # begun, tried, undone twice over, reserved, permitted, told


async def test_a_slice_takes_one_pod_off_its_node_where_a_gang_evicts_many() -> None:
    world = sliced()
    world.add_nodes(*(make_node(f"node-{number}", cpu="4") for number in range(4)))
    world.add(*(make_pod(f"low-{number}").requests(cpu="1").priority(0) for number in range(16)))
    await world.settle()
    world.add_group("gang", 4)
    world.add(*(make_member(f"gang-{number}", "gang", cpu="3").priority(10) for number in range(4)))
    journal = world.engine.cache.snapshot.usage_journal

    moves, before = [], journal.position
    while world.step():
        moves.append(journal.position - before)
        before = journal.position

    assert sum(moves) >= 2 * 12  # taken off, and put back at the end
    assert max(moves) <= 2  # where it is seen whether a member still fits, that one comes and goes again


async def test_a_slice_takes_one_pod_off_its_node_where_a_single_pod_looks_for_victims() -> None:
    world = sliced()
    world.add_nodes(*(make_node(f"node-{number}", cpu="4") for number in range(4)))
    world.add(*(make_pod(f"low-{number}").requests(cpu="1").priority(0) for number in range(16)))
    await world.settle()
    world.add(make_pod("alone").requests(cpu="3").priority(10))
    journal = world.engine.cache.snapshot.usage_journal

    moves, before = [], journal.position
    while world.step():
        moves.append(journal.position - before)
        before = journal.position
    assert not world.engine.cache.snapshot.tentative

    assert sum(moves) >= 2 * 16  # taken off, and put back at the end
    assert max(moves) == 1
    assert world.engine.nominator.nominated_node(world.api.pods["default/alone"]["metadata"]["uid"])


async def test_a_search_for_victims_that_is_given_up_leaves_nothing_behind_and_is_made_anew() -> None:
    for slices in range(40):
        world = sliced()
        world.add_nodes(make_node("one", cpu="4"))
        world.add(*(make_pod(f"low-{number}").requests(cpu="1").priority(0) for number in range(4)))
        await world.settle()
        world.add(make_pod("alone").requests(cpu="3").priority(10))
        for _ in range(slices):
            world.step()
        world.engine.scheduler.give_up()
        assert not world.engine.cache.snapshot.tentative
        while world.step():
            pass
        assert "preempting 3 victims" in world.conditions["default/alone"][1]


async def test_what_comes_meanwhile_waits_for_the_end_of_the_decision() -> None:
    world = sliced()
    world.add_nodes(make_node("one", cpu="4"))
    gang(world, 4)
    assert world.step()
    snapshot, scheduler = world.engine.cache.snapshot, world.engine.scheduler
    world.add_nodes(make_node("two", cpu="4"))
    world.add(make_pod("late"))
    elsewhere = asyncio.get_running_loop().create_task(world.engine.standstill.pace(asyncio.sleep(0, result="the end")))
    while scheduler.under_way:
        assert (snapshot.node_count, world.places()["active"], elsewhere.done()) == (1, 0, False)
        await world.breathe()
        assert world.step()

    assert (snapshot.node_count, world.engine.cache.assumed_count) == (2, 4)
    await world.settle()
    assert elsewhere.result() == "the end"
    assert sorted(world.bound()) == [f"default/gang-{number}" for number in range(4)] + ["default/late"]
    world.check()


async def test_a_timer_that_goes_off_meanwhile_can_still_be_cancelled() -> None:
    world = sliced()
    clock, called = world.engine.standstill.clock(world.clock), list[int]()
    timers = [clock.call_later(1.0, partial(called.append, number)) for number in range(2)]
    world.engine.standstill.begin()
    world.clock.move_to(world.clock.now() + 2.0)
    timers[0].cancel()
    assert called == []
    world.engine.standstill.end()
    assert called == [1]


async def test_what_a_gang_that_lost_its_quorum_held_is_given_back_in_slices() -> None:
    world = sliced(Timed)
    world.add_nodes(make_node("one", cpu="100"))
    keys = gang(world, 8)
    plugin = world.engine.algorithms["muster"].framework.plugins.plugins["Timed"]
    assert isinstance(plugin, Timed)
    while world.step():
        pass
    world.delete(keys[0])
    world.add(make_pod("other"))
    plugin.calls = Counter()

    turns: list[Counter[str]] = []
    while world.engine.cache.assumed_count or world.engine.standstill.under_way:
        await asyncio.sleep(0)
        turns.append(plugin.calls)
        plugin.calls = Counter()
        if world.engine.standstill.under_way:
            assert not world.step()  # nothing is decided on half of it
    assert [calls["unreserve"] for calls in turns].count(1) == 8
    assert all(calls["unreserve"] <= 1 for calls in turns)
    assert world.bound() == []
    await world.settle()
    assert world.bound() == ["default/other"]
    world.check()


async def test_a_decision_that_is_given_up_leaves_nothing_behind_and_is_made_anew() -> None:
    for slices in range(40):
        world = sliced(Timed)
        world.add_nodes(make_node("one", cpu="4"))
        gang(world, 4)
        for _ in range(slices):
            world.step()
        world.engine.scheduler.give_up()
        assert not world.engine.scheduler.under_way
        assert not world.engine.cache.snapshot.tentative
        assert world.engine.cache.assumed_count in (0, 4)
        await world.settle()
        assert len(world.bound("gang")) == 4
        world.check()


async def test_whoever_loses_the_lease_gives_up_the_decision_under_way() -> None:
    world = sliced()
    world.add_nodes(make_node("one", cpu="4"))
    gang(world, 4)
    leads = True
    loop = SchedulingLoop(world.engine, world.clock, may_schedule=lambda: leads)
    task = asyncio.get_running_loop().create_task(loop.run())
    await turns_until(lambda: world.engine.scheduler.under_way)
    leads = False
    await world.breathe()
    task.cancel()

    assert not world.engine.scheduler.under_way
    assert world.bound() == []
    assert world.places() == {"active": 4}


async def test_those_that_were_held_up_go_on_before_the_next_decision_begins() -> None:
    world = sliced()
    world.add_nodes(make_node("one", cpu="100"))
    gang(world, 4, name="a")
    gang(world, 4, name="b")
    scheduler, cache = world.engine.scheduler, world.engine.cache
    loop = asyncio.get_running_loop()
    went_on: list[int] = []

    async def go_on(number: int) -> None:
        went_on.append(number)

    scheduling = loop.create_task(SchedulingLoop(world.engine, world.clock, may_schedule=lambda: True).run())
    await turns_until(lambda: scheduler.under_way)
    others = [loop.create_task(world.engine.standstill.pace(go_on(number))) for number in range(50)]
    await turns_until(lambda: not scheduler.under_way or went_on != [])
    assert went_on == []
    await turns_until(lambda: scheduler.under_way)
    assert (went_on, cache.assumed_count + len(world.bound())) == ([*range(50)], 4)
    scheduling.cancel()
    await asyncio.gather(*others)


# Sliced or not, the same is decided.

Event = Callable[[World], object]


@st.composite
def _members(draw: st.DrawFn, gang_name: str) -> list[PodDict]:
    sizes = draw(st.lists(st.sampled_from(("1", "1", "2", "3")), min_size=1, max_size=5))
    return [make_member(f"{gang_name}-{number}", gang_name, cpu=cpu) for number, cpu in enumerate(sizes)]


@st.composite
def _events(draw: st.DrawFn) -> Event:
    pick = draw(st.integers(0, 50))

    def some_pod(world: World) -> str | None:
        keys = sorted(world.api.pods)
        return keys[pick % len(keys)] if keys else None

    def delete(world: World) -> None:
        key = some_pod(world)
        if key is not None:
            world.delete(key)

    def terminate(world: World) -> None:
        key = some_pod(world)
        if key is not None:
            world.terminate(key)

    def lose_a_node(world: World) -> None:
        names = sorted(world.api.objects["nodes"])
        if len(names) > 1:
            world.api.delete("nodes", names[pick % len(names)])

    def ask_for_more_or_less(world: World) -> None:
        groups = sorted(world.api.objects["podgroups"])
        world.change_group(groups[pick % len(groups)], minMember=1 + pick % 5)

    def forget_a_group(world: World) -> None:
        world.api.delete("podgroups", f"default/{_GANGS[pick % 2]}")

    def make_a_group(world: World) -> None:
        world.api.put("podgroups", make_group(_GANGS[pick % 2], 1 + pick % 4))

    gang_name = _GANGS[pick % 2]
    cpu = draw(st.sampled_from(("1", "2", "4", "6")))

    def create(world: World, pod: PodDict) -> None:
        if f"default/{pod.name}" not in world.api.pods:
            world.add(pod)

    plain: list[Event] = [
        lambda world: create(world, make_member(f"{gang_name}-more-{pick}", gang_name, cpu=cpu)),
        lambda world: create(world, make_pod(f"plain-{pick}").requests(cpu=cpu)),
        lambda world: world.add_nodes(make_node(f"node-{pick % 4}", cpu=cpu)),
        delete,
        terminate,
        lose_a_node,
        forget_a_group,
        make_a_group,
        make_a_group,
    ]
    if draw(st.booleans()):
        return lambda world: ask_for_more_or_less(world) if world.api.objects["podgroups"] else None
    return draw(st.sampled_from(plain))


Plan = dict[int, list[tuple[int, Event]]]
"""What happens while the decision of a number is made, each after so many of its slices."""


async def _calm(world: World) -> None:
    """Let tasks run as far as they come: in slices one takes a step in each turn of the loop, others are held up."""
    quiet = 0
    while quiet < 8:
        await world.breathe()
        quiet = 0 if world.engine.standstill.crowded else quiet + 1


async def _play(world: World, begin: Event, plan: Plan) -> dict[str, object]:
    """Let it happen: in the middle of decisions where they have slices, and else right after them."""
    begin(world)
    await _calm(world)
    for decision in range(8):
        coming = sorted(plan.get(decision, ()), key=lambda planned: planned[0])
        slices = 0
        world.step()
        while world.engine.scheduler.under_way:
            slices += 1
            while coming and coming[0][0] <= slices:
                coming.pop(0)[1](world)
            await asyncio.sleep(0)
            world.step()
        for _, event in coming:
            event(world)
        await _calm(world)
    await world.run(30.0)
    return {
        "bindings": world.api.bindings,
        "events": world.events,
        "conditions": world.conditions,
        "queue": [str(line) for line in world.engine.queue.dump()],
        "pods": {key: pod["spec"].get("nodeName") for key, pod in world.api.pods.items()},
    }


@settings(max_examples=150, phases=[Phase.generate])
@given(
    nodes=st.lists(st.sampled_from(("2", "4", "8")), min_size=1, max_size=4),
    members=st.tuples(*(_members(name) for name in _GANGS)),
    quorums=st.tuples(st.integers(1, 5), st.integers(1, 5)),
    singles=st.lists(st.sampled_from(("1", "3")), max_size=3),
    plan=st.dictionaries(st.integers(0, 7), st.lists(st.tuples(st.integers(1, 30), _events()), max_size=3), max_size=4),
)
async def test_events_in_the_middle_change_nothing_about_what_is_decided(
    nodes: list[str],
    members: tuple[list[PodDict], ...],
    quorums: tuple[int, int],
    singles: list[str],
    plan: Plan,
) -> None:
    def begin(world: World) -> None:
        world.add_nodes(*(make_node(f"node-{number}", cpu=cpu) for number, cpu in enumerate(nodes)))
        for name, quorum, pods in zip(_GANGS, quorums, members, strict=True):
            world.add_group(name, quorum)
            world.add(*pods)
        world.add(*(make_pod(f"single-{number}").requests(cpu=cpu) for number, cpu in enumerate(singles)))

    in_slices, at_once = sliced(), World()
    assert await _play(in_slices, begin, plan) == await _play(at_once, begin, plan)
    in_slices.check()
