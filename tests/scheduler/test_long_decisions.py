"""A gang is decided in slices, each of which does one member's work at most beyond its time. Nothing else changes what
it is decided on meanwhile."""

import asyncio
from collections import Counter
from collections.abc import Callable
from functools import partial

from muster.operator.process.loop import SchedulingLoop
from tests.builders import make_node, make_pod
from tests.coscheduling.objects import make_member
from tests.scheduler.slices import Timed, gang, sliced


async def turns() -> None:
    """Some turns of the test's own loop."""
    for _ in range(40):
        await asyncio.sleep(0)


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
    assert len(steps) >= 6 * 8  # begun, tried, undone twice over, reserved, permitted, reported


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
        world.engine.scheduler.abort()
        assert not world.engine.cache.snapshot.tentative
        while world.step():
            pass
        assert "preempting 3 victims" in world.conditions["default/alone"][1]


async def test_changes_during_a_decision_wait_for_its_end() -> None:
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
        await turns()
        assert world.step()

    assert (snapshot.node_count, world.engine.cache.assumed_count) == (2, 4)
    await world.settle()
    await turns()
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


async def test_nodes_of_a_gang_that_lost_its_quorum_are_released_in_slices() -> None:
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
        world.engine.scheduler.abort()
        assert not world.engine.scheduler.under_way
        assert not world.engine.cache.snapshot.tentative
        assert world.engine.cache.assumed_count in (0, 4)
        await world.settle()
        assert len(world.bound("gang")) == 4
        world.check()


async def test_losing_the_lease_aborts_the_decision_in_progress() -> None:
    world = sliced()
    world.add_nodes(make_node("one", cpu="4"))
    gang(world, 4)
    leads = True
    loop = SchedulingLoop(world.engine, world.clock, may_schedule=lambda: leads)
    task = asyncio.get_running_loop().create_task(loop.run())
    await turns_until(lambda: world.engine.scheduler.under_way)
    leads = False
    await turns()
    task.cancel()

    assert not world.engine.scheduler.under_way
    assert world.bound() == []
    assert world.places() == {"active": 4}


async def test_delayed_tasks_continue_before_the_next_decision() -> None:
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
