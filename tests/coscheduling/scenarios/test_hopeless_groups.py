"""Groups that cannot fit cost next to nothing: capacity is counted before members are tried or a group is woken."""

from unittest.mock import patch

import pytest

from muster.framework.scheduler.schedule_one import SchedulingCycle
from tests.builders import make_node, make_pod
from tests.coscheduling.objects import make_member, make_members
from tests.coscheduling.world import World
from tests.dynamicresources.objects import device, make_class, make_slice

GPU = "example.com/gpu"


class Searches:
    """Counts searches for a node."""

    def __init__(self) -> None:
        self.count = 0
        self._search = SchedulingCycle.schedule_pod

    def __enter__(self) -> "Searches":
        def counting(cycle: SchedulingCycle, attempt: object) -> None:
            self.count += 1
            self._search(cycle, attempt)  # type: ignore[arg-type]  # passed on as it came

        self._patch = patch.object(SchedulingCycle, "schedule_pod", counting)
        self._patch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._patch.stop()


async def test_a_group_of_hundreds_that_does_not_fit_takes_two_searches_and_names_the_reason(world: World) -> None:
    world.add_nodes(*(make_node(f"n{number}", cpu="10") for number in range(20)))
    world.add_group("g", 300)
    with Searches() as searches:
        world.add(*make_members("g", 300))
        await world.settle()
    await world.run(2)

    assert searches.count <= 4
    assert world.conditions["default/g-0"][:2] == (
        "Unschedulable",
        "pod group default/g is unschedulable, 200 of the 300 members that it needs fit; with those 200 placed: "
        "0/20 nodes are available: 20 Insufficient cpu.",
    )
    assert world.bound() == []
    world.check()


async def test_equal_members_behind_another_one_are_not_all_searched_for(world: World) -> None:
    world.add_nodes(*(make_node(f"n{number}", cpu="10") for number in range(20)))
    world.add_group("g", 350)
    with Searches() as searches:
        world.add(make_member("g-launcher", "g", cpu="2"), *(make_member(f"g-worker-{n}", "g") for n in range(349)))
        await world.settle()
    await world.run(2)

    assert searches.count <= 5
    assert world.conditions["default/g-launcher"][1].startswith(
        "pod group default/g is unschedulable, 199 of the 350 members that it needs fit; with those 199 placed: "
    )


async def test_a_group_is_woken_by_the_event_after_which_the_whole_group_fits_and_by_no_earlier_one(
    world: World,
) -> None:
    """All events come between two rounds of `Review`, which tries the group when one member would fit by itself."""
    world.add_nodes(make_node("a", cpu="4"))
    running = [make_member(f"running-{number}", "") for number in range(4)]
    world.add(*running)
    await world.settle()
    world.add_group("g", 3)
    world.add(*make_members("g", 3))
    await world.run(60)

    for number in range(4):
        with Searches() as searches:
            world.set_phase(f"default/running-{number}", "Succeeded")
            await world.run(2)
        assert (searches.count > 0) == (number == 2)
        assert len(world.bound("g")) == (3 if number >= 2 else 0)


async def test_capacity_for_some_members_does_not_count_for_the_others(world: World) -> None:
    world.add_nodes(make_node("a", cpu="4"))
    world.add_group("g", 3)
    world.add(make_member("large", "g", cpu="8"), *(make_member(f"small-{number}", "g") for number in range(2)))
    await world.run(2)
    assert world.bound() == []

    world.add_nodes(make_node("b", cpu="8"))
    await world.run(20)
    assert len(world.bound("g")) == 3


@pytest.mark.parametrize("pods", [1, 2, 3])
async def test_the_limit_of_pods_per_node_counts_as_capacity_too(pods: int, world: World) -> None:
    world.add_nodes(make_node("a", cpu="64", pods=str(pods)))
    world.add_group("g", 3)
    world.add(*make_members("g", 3))
    await world.run(2)

    assert len(world.bound("g")) == (3 if pods == 3 else 0)


async def test_a_group_is_tried_again_when_a_device_class_provides_the_resource_that_no_node_offers(
    world: World,
) -> None:
    """A pod that leaves makes the queue ask about the waiting group's capacity before the class comes."""
    world.add_nodes(make_node("a"), make_node("b"))
    world.api.put("resourceslices", make_slice("gpus", device("a"), node="a"))
    [running] = world.add(make_pod("running").requests(cpu="1").priority(-1).node("b"))
    world.add_group("g", 2)
    [first, _] = world.add(*(make_member(f"g-{number}", "g").requests({GPU: "1"}) for number in range(2)))
    await world.run(20)
    assert "2 Insufficient example.com/gpu" in world.conditions[first][1]

    world.delete(running)
    await world.run(20)
    world.api.put("deviceclasses", make_class("gpu", "true", resource=GPU))
    await world.run(60)

    assert "1 of the 2 members that it needs fit" in world.conditions[first][1]
