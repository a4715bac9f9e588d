"""The API refuses to bind one member of a gang: the others are bound, and the group says what is."""

import pytest

from muster.plugins.coscheduling.args import PLACEMENTS
from tests.builders import make_node, make_pod
from tests.coscheduling.announced import word
from tests.coscheduling.conftest import MakeWorld
from tests.coscheduling.objects import make_members
from tests.coscheduling.world import World

DENIED = 'pods "{}" is forbidden: the policy denies it'


def refusing(make_world: MakeWorld, *keys: str) -> tuple[World, set[str]]:
    """A world with capacity for three, a gang of three, and the pods of it that the API does not bind."""
    world, refused = make_world(), set(keys)
    world.api.fail_binding = lambda pod, node: DENIED.format(pod.name) if pod.key in refused else None
    world.add_nodes(make_node("a", cpu="3"))
    world.add_group("g", 3)
    return world, refused


async def test_the_group_says_who_is_bound_and_who_was_refused_and_why(make_world: MakeWorld) -> None:
    world, _ = refusing(make_world, "default/g-1")
    world.add(*make_members("g", 3))
    await world.run(5)

    assert len(world.bound("g")) == 2
    reason, message = word(world, "g")
    assert reason == "BindingFailed"
    assert message.startswith("2 of 3 pods are bound, 1 was refused: default/g-1: ")
    assert DENIED.format("g-1") in message
    assert message.endswith("tried again before others, with its node kept, after a backoff")
    assert DENIED.format("g-1") in world.notes("default/g-1")[-1]


async def test_several_that_are_refused_are_counted_and_the_first_is_named(make_world: MakeWorld) -> None:
    world, refused = refusing(make_world, "default/g-0", "default/g-2")
    world.add(*make_members("g", 3))
    await world.run(5)
    assert word(world, "g")[1].startswith("1 of 3 pods is bound, 2 were refused, the first: default/g-0: ")

    refused.discard("default/g-0")
    await world.run(15)
    assert word(world, "g")[1].startswith("2 of 3 pods are bound, 1 was refused: default/g-2: ")


async def test_the_capacity_of_a_refused_member_is_kept_and_it_is_bound_once_the_api_accepts_it(
    make_world: MakeWorld,
) -> None:
    world, refused = refusing(make_world, "default/g-1")
    world.add(*make_members("g", 3))
    await world.settle()
    [node] = world.engine.nominator.nominated_pods("a")
    assert node.key == "default/g-1"
    world.add_group("rival", 1)
    [other, rival] = world.add(make_pod("other").requests(cpu="1"), *make_members("rival", 1))
    await world.run(8)
    assert (world.node_of(other), world.node_of(rival)) == ("", "")

    refused.clear()
    await world.run(15)
    assert len(world.bound("g")) == 3
    assert word(world, "g") == ("Scheduled", "the 3 pods that it needs are scheduled")
    assert not world.engine.nominator.nominated_pods("a")
    world.check()


@pytest.mark.parametrize("placement", PLACEMENTS)
async def test_a_refused_member_gives_its_node_up_when_its_group_lacks_members(
    make_world: MakeWorld, placement: str
) -> None:
    world = make_world({"placement": placement})
    world.api.fail_binding = lambda pod, node: DENIED.format(pod.name) if pod.key == "default/g-1" else None
    world.add_nodes(make_node("a", cpu="2"))
    world.add_group("g", 2)
    kept, refused = world.add(*make_members("g", 2))
    await world.run(1.5)
    assert [pod.key for pod in world.engine.nominator.nominated_pods("a")] == [refused]

    world.delete(kept)
    [other] = world.add(make_pod("other").requests(cpu="2"))
    await world.run(15)
    assert world.bound() == [other]
    assert not world.engine.nominator.nominated_pods("a")


async def test_a_partly_bound_group_is_ahead_of_others_of_its_priority(make_world: MakeWorld) -> None:
    world, _ = refusing(make_world)
    world.add_group("h", 2)
    world.add(*make_members("h", 2))
    assert world.groups.order("default/g") == world.groups.order("default/h")
    world.api.bind("default/h-1", "a")

    assert world.groups.order("default/h") < world.groups.order("default/g")


async def test_a_refused_member_that_goes_is_spoken_of_no_more(make_world: MakeWorld) -> None:
    world, _ = refusing(make_world, "default/g-1")
    world.add(*make_members("g", 3))
    await world.run(2)
    world.delete("default/g-1")
    await world.run(2)
    assert not world.engine.nominator.nominated_pods("a")
    world.add(*make_members("g", 4)[3:])
    await world.run(2)

    assert word(world, "g") == ("Scheduled", "the 3 pods that it needs are scheduled")
