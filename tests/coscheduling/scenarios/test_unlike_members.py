"""Gangs whose members differ: in what they ask for, in where they may go, in whose rules hold for them."""

from itertools import permutations

import pytest

from tests.builders import make_node
from tests.coscheduling.conftest import MakeWorld
from tests.coscheduling.objects import make_member, make_members
from tests.coscheduling.world import World


@pytest.mark.parametrize("sizes", [*permutations("246")])
async def test_members_that_fit_in_one_order_only_start_in_whatever_order_they_come(
    world: World, sizes: tuple[str, ...]
) -> None:
    world.add_nodes(*(make_node(f"n{size}", cpu=size) for size in "642"))
    world.add_group("g", 3)
    world.add(*(make_member(f"g-{size}", "g", cpu=size) for size in sizes))
    await world.settle()

    assert {key: world.node_of(key) for key in world.bound()} == {f"default/g-{size}": f"n{size}" for size in "246"}
    world.check()


async def test_a_member_that_may_go_anywhere_leaves_the_only_node_of_another_to_it(world: World) -> None:
    world.add_nodes(make_node("any", cpu="1"), make_node("fast", cpu="1").labels(disk="ssd"))
    world.add_group("g", 2)
    world.add(make_member("anywhere", "g"), make_member("picky", "g").node_selector({"disk": "ssd"}))
    await world.settle()

    assert (world.node_of("default/anywhere"), world.node_of("default/picky")) == ("any", "fast")


async def test_of_more_members_than_needed_small_ones_start_where_a_large_one_leaves_too_little(world: World) -> None:
    world.add_nodes(make_node("a", cpu="4"))
    world.add_group("g", 2)
    world.add(make_member("large", "g", cpu="4"), *make_members("g", 2))
    await world.settle()

    assert world.bound() == ["default/g-0", "default/g-1"]


async def test_a_gang_that_fits_in_no_order_gets_the_result_of_its_own_order(world: World) -> None:
    world.add_nodes(make_node("a", cpu="4"), make_node("b", cpu="2"))
    world.add_group("g", 3)
    world.add(*(make_member(f"g-{size}", "g", cpu=size) for size in "134"))
    await world.settle()

    assert world.bound() == []
    assert world.notes("default/g-1") == [
        "pod group default/g is unschedulable, 2 of the 3 members that it needs fit; with those 2 placed: "
        "0/2 nodes are available: 2 Insufficient cpu."
    ]
    assert world.engine.cache.assumed_count == 0


@pytest.mark.parametrize("names", [("muster", "lax"), ("lax", "muster")])
async def test_members_of_two_profiles_are_placed_together_each_by_the_rules_of_its_own(
    make_world: MakeWorld, names: tuple[str, str]
) -> None:
    world = make_world(names=names, without={"lax": ["TaintToleration"]})
    world.add_nodes(make_node("tainted", cpu="1").taint("dedicated"))
    world.add_group("g", 2)
    world.add(*(make_member(name, "g").scheduler(name) for name in names))
    await world.settle()
    assert world.bound() == []

    world.add_nodes(make_node("open", cpu="1"))
    await world.run(2)
    assert (world.node_of("default/lax"), world.node_of("default/muster")) == ("tainted", "open")
    world.check()
