"""Gangs that compete for capacity: one gets all that it needs, the others take none, and none waits without cause."""

import pytest

from tests.builders import make_node, make_pod
from tests.coscheduling.conftest import MakeWorld
from tests.coscheduling.objects import make_member, make_members
from tests.coscheduling.world import World

PLACEMENTS = pytest.mark.parametrize("placement", ["Transaction", "PodByPod"])


@PLACEMENTS
async def test_of_two_gangs_born_in_one_second_one_runs_though_each_needs_more_than_half(
    make_world: MakeWorld, placement: str
) -> None:
    world = make_world({"placement": placement})
    world.add_nodes(*(make_node(f"n{number}", cpu="1") for number in range(10)))
    for name in ("x", "y"):
        world.add_group(name, 6, timeout=30)
    for number in range(6):  # their names interleave, and so do their births
        for name in ("x", "y"):
            world.add(make_member(f"pod-{number}-{name}", name))
            world.clock.move_to(world.clock.now() + 0.01)
    await world.run(300)

    assert sorted(len(world.bound(name)) for name in ("x", "y")) == [0, 6]
    world.check()


@PLACEMENTS
async def test_the_gang_that_lost_runs_as_soon_as_the_other_has_ended(make_world: MakeWorld, placement: str) -> None:
    world = make_world({"placement": placement})
    world.add_nodes(make_node("a", cpu="10"))
    for name in ("x", "y"):
        world.add_group(name, 6)
        world.add(*make_members(name, 6))
    await world.run(60)
    [first] = [name for name in ("x", "y") if world.bound(name)]
    [second] = [name for name in ("x", "y") if name != first]
    for key in world.bound(first):
        world.set_phase(key, "Succeeded")

    seconds = await world.until(lambda: len(world.bound(second)) == 6, within=30)
    assert seconds <= (2 if placement == "Transaction" else 30)


async def test_small_gangs_start_at_once_behind_one_that_is_too_large(world: World) -> None:
    world.add_nodes(make_node("a", cpu="10"))
    world.add_group("oversize", 20)
    world.add(*make_members("oversize", 20))
    for number in range(3):
        world.add_group(f"small-{number}", 3)
        world.add(*make_members(f"small-{number}", 3))
    await world.settle()

    assert [len(world.bound(f"small-{number}")) for number in range(3)] == [3, 3, 3]
    assert world.engine.cache.assumed_count == 0
    assert world.bound("oversize") == []


async def test_small_gangs_that_come_later_start_at_once_too(world: World) -> None:
    world.add_nodes(make_node("a", cpu="10"))
    world.add_group("oversize", 20)
    world.add(*make_members("oversize", 20))
    for number in range(3):
        await world.run(7)
        world.add_group(f"small-{number}", 3)
        world.add(*make_members(f"small-{number}", 3))
        await world.settle()
        assert len(world.bound(f"small-{number}")) == 3


async def test_a_gang_that_fits_in_sum_but_not_on_nodes_holds_nothing_and_is_not_tried_while_others_are_bound(
    make_world: MakeWorld,
) -> None:
    world = make_world()
    attempts, tried_whole = world.metrics.schedule_attempts, world.metrics.podgroup_schedule_attempts
    gpus = "example.com/gpu"
    for name, count in (("a", 6), ("b", 2), ("c", 2), ("d", 2)):
        world.add_nodes(make_node(name, cpu="100").resources({gpus: str(count)}))
    world.add_group("g", 3, min_resources={gpus: "12"})
    keys = world.add(*(make_member(f"g-{number}", "g").requests({gpus: "4"}) for number in range(3)))
    await world.run(60)
    before, webs = tried_whole.total(), []
    for number in range(6):
        webs += world.add(make_pod(f"web-{number}").requests({gpus: "1"}))
        await world.run(15)
    assert world.bound() == webs
    assert tried_whole.total() == before
    tried = attempts.total()
    await world.run(600)

    assert world.bound("g") == []
    assert world.engine.cache.assumed_count == 0
    assert attempts.total() - tried <= 3 * 4  # the sweep of what nothing has helped for minutes
    assert world.notes(keys[0])[0] == (
        "pod group default/g is unschedulable, 1 of the 3 members that it needs fits; with that one placed: "
        "0/4 nodes are available: 4 Insufficient example.com/gpu."
    )
    world.delete(*webs)
    await world.settle()
    [other] = world.add(make_pod("other").requests({gpus: "6"}))
    await world.settle()
    assert world.node_of(other) == "a"


async def test_a_gang_of_high_priority_gets_the_capacity_before_a_waiting_gang_of_low_priority(world: World) -> None:
    world.add_nodes(make_node("a", cpu="4"))
    [blocker] = world.add(make_pod("blocker").requests(cpu="4").node("a"))
    world.add_group("low", 4)
    world.add(*(pod.priority(1) for pod in make_members("low", 4)))
    await world.run(20)
    world.add_group("high", 4)
    world.add(*(pod.priority(100) for pod in make_members("high", 4)))
    await world.run(20)

    world.delete(blocker)
    await world.run(10)
    assert (len(world.bound("high")), world.bound("low")) == (4, [])
    events = len(world.events)
    await world.run(250)
    assert len(world.events) == events  # no livelock: nothing happens, so nothing is tried

    world.delete(*world.bound("high"))
    await world.run(10)
    assert len(world.bound("low")) == 4


@PLACEMENTS
async def test_a_low_gang_does_not_take_back_what_its_own_timeout_freed(make_world: MakeWorld, placement: str) -> None:
    """Pod by pod, the low gang holds a part and times out; the high one must get the capacity then."""
    world = make_world({"placement": placement, "podGroupRejectPercentage": 100})
    world.add_nodes(make_node("a", cpu="4"))
    world.add_group("low", 5, timeout=10)
    world.add(*(pod.priority(1) for pod in make_members("low", 5)))
    await world.settle()
    world.add_group("high", 3, timeout=10)
    world.add(*(pod.priority(100) for pod in make_members("high", 3)))
    await world.run(40)

    assert (len(world.bound("high")), world.bound("low")) == (3, [])


@PLACEMENTS
@pytest.mark.parametrize("yields", [0, 1, 2, 3, 5, 8])
async def test_with_one_node_free_neither_of_two_is_ever_bound(
    make_world: MakeWorld, placement: str, yields: int
) -> None:
    """A thousand tries in all: members come and go while the gang is being decided on."""
    world = make_world({"placement": placement})
    world.slices = lambda: yields
    world.add_nodes(make_node("a", cpu="1"))
    world.add_group("g", 2, timeout=1)
    for number in range(84):
        names = [f"g-{number}-{member}" for member in range(2)]
        keys = world.add(*(make_member(name, "g") for name in names))
        for _ in range(number % 7):
            world.engine.scheduler.step()
        if number % 3 == 0:
            world.delete(keys[number % 2])
            keys += world.add(make_member(f"g-{number}-again", "g"))
        await world.run((number % 5) * 0.4)
        world.delete(*keys)
        await world.settle()

    assert world.api.bindings == []
    world.check()
