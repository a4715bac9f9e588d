"""The scheduler is killed in the middle of binding a gang: the next one completes it, by the API alone."""

import pytest

from tests.builders import make_node, make_pod
from tests.coscheduling.conftest import MakeWorld
from tests.coscheduling.objects import make_member, make_members
from tests.coscheduling.world import World

SIZE = 6


async def killed_after(make_world: MakeWorld, bindings: int, placement: str = "Transaction") -> World:
    """A world whose scheduler was killed when so many members of a gang of six were bound."""
    world = make_world({"placement": placement})
    world.add_nodes(make_node("a", cpu=str(SIZE)))
    world.add_group("g", SIZE, timeout=30)
    seconds = iter(range(100))
    world.binder.latency = lambda: 1.0 + next(seconds) * 0.01  # one after another
    world.add(*make_members("g", SIZE))
    await world.settle()
    while len(world.api.bindings) < bindings:
        await world.run(0.005)
    await world.kill()
    world.binder.latency = lambda: 0.0
    assert len(world.bound("g")) == bindings
    return world


@pytest.mark.parametrize("placement", ["Transaction", "PodByPod"])
@pytest.mark.parametrize("bindings", range(SIZE + 1))
async def test_wherever_it_is_killed_the_gang_is_completed(
    make_world: MakeWorld, bindings: int, placement: str
) -> None:
    world = await killed_after(make_world, bindings, placement)
    world.start()
    seconds = await world.until(lambda: len(world.bound("g")) == SIZE, within=30)

    assert seconds <= 1
    world.check()


async def test_missing_members_are_placed_together_if_the_capacity_has_shrunk_meanwhile(make_world: MakeWorld) -> None:
    world = await killed_after(make_world, 3)
    world.add(make_pod("rival").requests(cpu="1").scheduler("rival").node("a"))
    world.start()
    await world.run(60)
    assert len(world.bound("g")) == 3
    assert world.engine.cache.assumed_count == 0
    assert world.notes("default/g-5")[-1].startswith(
        "pod group default/g is unschedulable, 2 of the 3 members that it needs fit; with those 2 placed: "
    )

    world.delete("default/rival")
    await world.run(12)
    assert len(world.bound("g")) == SIZE


async def test_members_that_held_nodes_at_permit_hold_them_no_more(make_world: MakeWorld) -> None:
    world = make_world({"placement": "PodByPod", "podGroupRejectPercentage": 100})
    world.add_nodes(make_node("a", cpu="2"))
    world.add_group("g", 3)
    world.add(*make_members("g", 3))
    await world.settle()
    assert len(world.engine.waiting_pods) == 2
    await world.kill()
    assert world.bound() == []

    world.add(make_pod("other").requests(cpu="2").priority(1))
    world.start()
    await world.settle()
    assert world.bound() == ["default/other"]


async def test_a_gang_that_ran_before_the_restart_is_whole_after_it(make_world: MakeWorld) -> None:
    world = await killed_after(make_world, SIZE)
    world.start()
    await world.run(5)
    assert world.groups.missing("default/g") == 0

    world.add_nodes(make_node("b"))
    [more] = world.add(make_member("more", "g"))
    await world.settle()
    assert world.node_of(more) == "b"


async def test_a_podgroup_that_is_heard_of_after_its_pods_does_not_split_the_gang(make_world: MakeWorld) -> None:
    """Streams are not in step: at a start, pods may be known long before PodGroups."""
    world = await killed_after(make_world, 2)
    world.api.delete("podgroups", "default/g")
    world.start()
    await world.run(10)
    assert len(world.bound("g")) == 2
    world.add_group("g", SIZE)
    await world.settle()

    assert len(world.bound("g")) == SIZE
    world.check()


async def test_capacity_that_was_kept_for_members_to_come_is_kept_after_a_restart(make_world: MakeWorld) -> None:
    world = make_world()
    world.add_nodes(make_node("a", cpu="10"))
    for app in ("one", "two"):
        world.add_group(app, 1, min_resources={"cpu": "6"})
    world.add(make_member("one-driver", "one"))
    await world.settle()
    await world.kill()
    world.start()
    world.add(make_member("two-driver", "two"))
    await world.run(5)
    assert world.bound("two") == []

    world.add(*(make_member(f"one-exec-{number}", "one", cpu="5") for number in range(1)))
    await world.settle()
    assert len(world.bound("one")) == 2


async def test_an_old_job_of_which_most_has_ended_keeps_nothing_after_a_restart(make_world: MakeWorld) -> None:
    world = make_world()
    world.add_nodes(make_node("a", cpu="10"))
    world.add_group("one", 1, min_resources={"cpu": "10"}, timeout=900)
    keys = world.add(*make_members("one", 10))
    await world.run(5)
    for key in keys[:9]:
        world.set_phase(key, "Succeeded")
    await world.run(3600)
    await world.kill()
    world.start()
    world.add_group("two", 1, min_resources={"cpu": "4"})
    [waits] = world.add(make_member("two-0", "two"))
    await world.settle()

    assert world.bound("two") == [waits]
    world.delete(waits, keys[9])
    world.add(make_member("successor", "one"))
    await world.settle()
    world.add(make_member("two-1", "two"))
    await world.settle()
    assert world.bound("one") == [*keys[:9], "default/successor"]
    assert world.bound("two") == ["default/two-1"]


async def test_members_of_a_podgroup_that_exists_get_no_event_that_it_is_missing_after_a_restart(
    make_world: MakeWorld,
) -> None:
    world = make_world()
    world.add_group("g", 9)
    world.add(*make_members("g", 8))
    await world.run(5)
    await world.kill()
    world.events.clear()
    world.start()
    await world.run(5)

    assert not [note for _, _, note in world.events if "to appear in scheduling queue" in note]
