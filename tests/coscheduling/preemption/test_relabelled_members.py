"""Members that change groups while a gang waits: what the gang may now do is done at once, and capacity is given up."""

from collections.abc import Callable

import pytest

from tests.builders import make_node
from tests.coscheduling.objects import make_member

from .evicting import EvictingWorld, plain

HOLD = "muster-scheduler.io/hold"


@pytest.mark.parametrize(
    ("before", "annotations"),
    [({}, {}), ({"other": 1}, {HOLD: "later"}), ({"other": 9}, {})],
    ids=["no such group", "a held group", "a group that lacks members"],
)
async def test_a_gang_is_tried_with_the_member_that_joins_it(
    world: EvictingWorld, before: dict[str, int], annotations: dict[str, str]
) -> None:
    world.add_nodes(make_node("a", cpu="2"))
    for name, min_member in before.items():
        world.add_group(name, min_member, annotations=annotations)
    world.add_group("g", 2)
    world.add(make_member("fits", "g"), make_member("too-large", "g", cpu="4"))
    [late] = world.add(make_member("late", "other"))
    await world.run(20)
    assert world.bound() == []

    world.relabel(late, "g")
    await world.run(20)
    assert sorted(world.bound("g")) == ["default/fits", "default/late"]


async def test_a_gang_evicts_pods_with_the_priority_of_the_member_that_joins_it(world: EvictingWorld) -> None:
    world.add_nodes(make_node("a", cpu="2"))
    world.fill("a", 2)
    await world.settle()
    world.gang("g", 2, priority=0)
    [high] = world.add(make_member("high", "other").priority(10))
    await world.run(20)
    assert world.evicted == []

    world.relabel(high, "g")
    await world.run(20)
    assert len(world.bound("g")) == 2


@pytest.mark.parametrize(
    "leaves", [EvictingWorld.delete, lambda world, pod: world.relabel(pod, "none")], ids=["deleted", "relabelled"]
)
async def test_a_gang_evicts_pods_once_the_member_that_never_preempts_has_left_it(
    world: EvictingWorld, leaves: Callable[[EvictingWorld, str], object]
) -> None:
    world.add_nodes(make_node("a", cpu="2"))
    world.fill("a", 2)
    await world.settle()
    world.gang("g", 2, priority=10)
    gentle = make_member("gentle", "g").priority(10)
    gentle["spec"]["preemptionPolicy"] = "Never"
    world.add(gentle)
    await world.run(20)
    assert world.evicted == []

    leaves(world, "default/gentle")
    await world.run(20)
    assert len(world.bound("g")) == 2


@pytest.mark.parametrize("held", [False, True], ids=["no such group", "a held group"])
async def test_a_nominated_member_that_moves_to_a_group_that_cannot_start_gives_up_its_node(
    world: EvictingWorld, held: bool
) -> None:
    world.grace = 30.0
    world.add_nodes(make_node("a", cpu="2"))
    world.fill("a", 2)
    await world.settle()
    if held:
        world.add_group("other", 1, annotations={HOLD: "later"})
    members = world.gang("g", 2, priority=10)
    await world.run(1)
    assert len([*world.engine.nominator.nominations()]) == 2

    for member in members:
        world.relabel(member, "other")
    await world.run(60)
    [other] = world.add(plain("other-pod", "2"))
    await world.run(20)
    assert world.node_of(other) == "a"
