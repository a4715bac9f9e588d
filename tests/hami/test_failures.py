"""What remains of HAMi's assignments when a gang is not bound, or only in part."""

from collections.abc import AsyncIterator

import pytest

from tests.coscheduling.announced import word
from tests.hami.names import ALLOCATED, NODE, Card, annotations
from tests.hami.world import HamiWorld, gang, gpu_node, sharing


@pytest.fixture
async def world() -> AsyncIterator[HamiWorld]:
    """Two nodes with a card each."""
    made = HamiWorld()
    made.add_nodes(gpu_node("a"), gpu_node("b"))
    yield made
    made.check()
    await made.kill()


async def test_a_member_that_hami_fails_to_bind_keeps_its_node_and_is_bound_first_when_that_works(
    world: HamiWorld,
) -> None:
    world.extender.fails["trio-1"] = "the server could not bind"
    world.add_group("trio", 3)
    world.add(*gang("trio", 3, 7000))
    await world.run(5)
    assert len(world.bound("trio")) == 2
    reason, message = word(world, "trio")
    assert (reason, "1 was refused: default/trio-1: the server could not bind" in message) == ("BindingFailed", True)

    world.extender.fails.clear()
    await world.run(30)
    assert len(world.bound("trio")) == 3
    assert sorted(world.shares().values()) == [7000, 14000]


async def test_members_that_find_the_node_locked_are_bound_in_the_end_also_by_a_hami_that_does_not_wait(
    world: HamiWorld,
) -> None:
    world.extender.retries = False
    world.add_group("four", 4)
    world.add(*gang("four", 4, 7000))
    await world.run(1)
    assert len(world.bound("four")) == 2
    assert "has been locked within 5m0s" in word(world, "four")[1]
    await world.run(60)
    assert len(world.bound("four")) == 4
    assert world.shares() == {"GPU-a": 14000, "GPU-b": 14000}


async def test_the_assignments_of_a_gang_that_waits_are_made_anew_at_its_next_attempt(world: HamiWorld) -> None:
    [held] = world.add(sharing("held", 16000).node_selector({"kubernetes.io/hostname": "b"}))
    await world.run(1)
    world.add_group("pair", 2)
    world.add(*gang("pair", 2, 9000))
    await world.run(5)
    stale = [annotations(world.api.pods[f"default/pair-{number}"]).get(NODE) for number in range(2)]
    assert (world.bound("pair"), sorted(map(str, stale))) == ([], ["None", "a"])

    world.api.delete("nodes", "a")
    world.add_nodes(gpu_node("c"))
    world.delete(held)
    await world.run(60)
    assert len(world.bound("pair")) == 2
    assert world.shares() == {"GPU-b": 9000, "GPU-c": 9000}


async def test_a_gang_that_waits_keeps_what_hami_assigned_until_its_pods_are_deleted(world: HamiWorld) -> None:
    """A limit of HAMi that the page names: an assignment counts although the pod has no node."""
    world.add_group("five", 5)
    world.add(*gang("five", 5, 7000))
    await world.run(5)
    world.add(sharing("single", 7000))
    await world.run(60)
    assert world.bound() == []
    assert len([pod for pod in world.api.pods.values() if ALLOCATED in annotations(pod)]) == 4

    world.delete(*(f"default/five-{number}" for number in range(5)))
    await world.run(400)
    assert world.bound() == ["default/single"]
    assert len(world.hami.taken) == 1


async def test_a_gang_that_does_not_fit_on_the_nodes_is_not_decided_by_what_hami_chose_first(world: HamiWorld) -> None:
    """HAMi would serve all; the CPU of both nodes suffices for two members. The reason names the CPU."""
    world.add_group("trio", 3)
    world.add(*gang("trio", 3, 1000, cpu="5"))
    await world.run(30)
    assert world.bound() == []
    assert word(world, "trio")[0] == "Unschedulable"
    assert "Insufficient cpu" in word(world, "trio")[1]


async def test_a_share_is_free_again_when_its_pod_has_ended(world: HamiWorld) -> None:
    world.add_nodes(gpu_node("d", Card("GPU-d", splits=1)))
    keys = world.add(*(sharing(f"whole-{number}", 16000) for number in range(3)))
    await world.run(1)
    [late] = world.add(sharing("late", 16000))
    await world.run(30)
    assert world.node_of(late) == ""
    world.set_phase(keys[0], "Succeeded")
    await world.run(60)
    assert world.node_of(late) == world.node_of(keys[0])
