"""PostFilter of pod-by-pod placement: a member that finds no node gives its group up, unless little is missing."""

import pytest

from tests.builders import make_node, make_pod
from tests.coscheduling.announced import word
from tests.coscheduling.conftest import MakeWorld
from tests.coscheduling.objects import make_member, make_members
from tests.coscheduling.world import World

FULL = (
    "0/1 nodes are available: 1 Insufficient cpu. "
    "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
)
NO_VICTIMS = (
    "0/1 nodes are available: 1 Insufficient cpu. "
    "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
)


async def world_with_cores(make_world: MakeWorld, cores: int, percentage: int, members: int = 10) -> World:
    """A world with capacity for some members of a group that needs all of them."""
    world = make_world({"placement": "PodByPod", "podGroupRejectPercentage": percentage})
    world.add_nodes(make_node("a", cpu=str(cores)))
    world.add_group("g", members)
    world.add(*make_members("g", members))
    await world.settle()
    return world


async def test_an_ordinary_pod_that_finds_no_node_hears_nothing_of_groups(make_world: MakeWorld) -> None:
    world = make_world({"placement": "PodByPod"})
    world.add_nodes(make_node("a", cpu="1"))
    [key] = world.add(make_pod("p").requests(cpu="2"))
    await world.settle()

    assert world.notes(key) == [FULL]


async def test_a_member_that_finds_no_node_gives_its_group_up(make_world: MakeWorld) -> None:
    world = await world_with_cores(make_world, cores=5, percentage=10)

    assert len(world.engine.waiting_pods) == 0
    assert world.engine.cache.assumed_count == 0
    said = [note for key in world.api.pods for note in world.notes(key)]
    [refused] = [note for note in said if "Insufficient cpu" in note and "even after PostFilter" in note]
    assert refused.startswith(f"{NO_VICTIMS}, PodGroup default/g gets rejected due to Pod")
    assert "0/1 nodes are available: 1 optimistic rejection in PostFilter." in said
    reason, message = word(world, "g")
    assert reason == "Unschedulable"
    assert message.endswith("is unschedulable even after PostFilter")


@pytest.mark.parametrize(
    ("cores", "percentage", "waiting"),
    [(9, 0, 0), (9, 9, 0), (9, 10, 9), (8, 10, 0), (8, 20, 8), (1, 90, 1), (1, 89, 0), (1, 100, 1)],
)
async def test_the_group_is_given_up_when_more_than_the_percentage_is_missing(
    make_world: MakeWorld, cores: int, percentage: int, waiting: int
) -> None:
    world = await world_with_cores(make_world, cores, percentage)

    assert len(world.engine.waiting_pods) == waiting


async def test_a_group_that_has_its_quorum_is_not_given_up_for_one_member_more(make_world: MakeWorld) -> None:
    world = make_world({"placement": "PodByPod", "podGroupRejectPercentage": 0})
    world.add_nodes(make_node("a", cpu="2"))
    world.add_group("g", 2)
    world.add(*make_members("g", 2))
    await world.settle()
    [key] = world.add(make_member("more", "g"))
    await world.settle()

    assert len(world.bound("g")) == 2
    assert world.notes(key) == [NO_VICTIMS]


async def test_a_group_that_was_given_up_goes_behind_others_as_old_in_the_queue(make_world: MakeWorld) -> None:
    world = await world_with_cores(make_world, cores=5, percentage=10)

    created, failed = world.groups.order("default/g")
    assert failed == world.clock.now()
    world.clock.move_to(world.clock.now() + 1)
    assert world.groups.order("default/g") == (created, failed)


async def test_a_denied_group_starts_whole_once_there_is_capacity(make_world: MakeWorld) -> None:
    world = await world_with_cores(make_world, cores=5, percentage=10)
    await world.run(30)
    world.add_nodes(make_node("b", cpu="5"))
    await world.run(60)

    assert len(world.bound("g")) == 10
    world.check()


async def test_a_group_that_does_not_fit_does_not_spin(make_world: MakeWorld) -> None:
    """Members give back what they held; that must not wake them again and again."""
    world = await world_with_cores(make_world, cores=5, percentage=0)
    await world.run(60)
    attempts = len(world.events)
    await world.run(600)

    rounds = (len(world.events) - attempts) / 10 / 10  # of ten members, a minute
    assert rounds < 10


async def test_a_group_that_does_not_fit_does_not_spin_without_denials_either(make_world: MakeWorld) -> None:
    world = make_world({"placement": "PodByPod", "podGroupRejectPercentage": 0, "deniedPGExpirationTimeSeconds": 0})
    world.add_nodes(make_node("a", cpu="5"))
    world.add_group("g", 10)
    world.add(*make_members("g", 10))
    await world.run(60)
    attempts = len(world.events)
    await world.run(600)

    rounds = (len(world.events) - attempts) / 10 / 10
    assert rounds < 20


async def test_a_failure_just_before_the_retry_of_a_group_delays_the_retry(make_world: MakeWorld) -> None:
    """The denial is over, the look that was to follow it is not yet due, and the member fails again in between."""
    world = await world_with_cores(make_world, cores=5, percentage=10)
    await world.run(3.005)
    world.engine.queue.activate([*world.groups.record("default/g").unplaced_pods()])
    await world.settle()
    assert world.groups.is_denied("default/g")
    await world.run(0.5)
    world.add_nodes(make_node("b", cpu="5"))
    await world.run(5)

    assert len(world.bound("g")) == 10


async def test_others_get_what_a_group_gave_back(make_world: MakeWorld) -> None:
    world = await world_with_cores(make_world, cores=5, percentage=10)
    keys = world.add(*(make_pod(f"p-{number}").requests(cpu="1") for number in range(5)))
    await world.run(1)

    assert set(world.bound()) == set(keys)


async def test_in_a_transaction_members_are_not_given_up_one_by_one(make_world: MakeWorld) -> None:
    world = make_world()
    world.add_nodes(make_node("a", cpu="1"))
    world.add_group("g", 2)
    keys = world.add(*make_members("g", 2))
    await world.settle()

    for key in keys:
        assert world.notes(key) == [
            "pod group default/g is unschedulable, 1 of the 2 members that it needs fits; with that one placed: "
            "0/1 nodes are available: 1 Insufficient cpu."
        ]
