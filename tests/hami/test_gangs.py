"""Gangs whose members share GPUs by HAMi start whole or not at all, on the nodes and cards that HAMi chose."""

from collections.abc import AsyncIterator

import pytest

from tests.builders import make_pod
from tests.coscheduling.announced import word
from tests.hami.names import GPU, LOCK, NODE, PHASE, Card, annotations
from tests.hami.world import HamiWorld, gang, gpu_node, on_the_page, sharing

RACK = "example.com/rack"
REQUIRED = "muster-scheduler.io/required-topology"


@pytest.fixture
async def world() -> AsyncIterator[HamiWorld]:
    """A cluster without nodes; at the end, what the scheduler believes is what the API has."""
    made = HamiWorld()
    yield made
    made.check()
    await made.kill()


async def test_a_pod_gets_its_share_and_is_bound_to_the_node_that_hami_chose(world: HamiWorld) -> None:
    world.add_nodes(gpu_node("a"), gpu_node("b"))
    [key] = world.add(*on_the_page("name: sharing"))
    await world.run(1)
    pod = world.api.pods[key]
    assert annotations(pod)[NODE] == pod["spec"]["nodeName"]
    assert annotations(pod)[PHASE] == "success"
    assert sorted(world.shares().values()) == [0, 4000]
    assert all(LOCK not in annotations(node) for node in world.api.objects["nodes"].values())


async def test_the_pages_gang_starts_whole_on_shares_of_two_nodes(world: HamiWorld) -> None:
    world.add_nodes(gpu_node("a"), gpu_node("b"))
    group, *pods = on_the_page("name: trio")
    world.api.put("podgroups", group | {"metadata": group["metadata"] | {"namespace": "default"}})
    world.add(*(pod | {"metadata": pod["metadata"] | {"namespace": "default"}} for pod in pods))
    await world.run(5)
    assert len(world.bound("trio")) == 3
    assert sorted(world.shares().values()) == [7000, 14000]


async def test_a_gang_for_which_hami_has_too_few_shares_waits_whole_and_starts_when_one_is_free(
    world: HamiWorld,
) -> None:
    world.add_nodes(gpu_node("a"), gpu_node("b"))
    [first] = world.add(sharing("first", 9000))
    await world.run(1)
    world.add_group("trio", 4)
    world.add(*gang("trio", 4, 7000))
    await world.run(60)
    assert (world.bound("trio"), len(world.extender.asked) < 40) == ([], True)
    assert "CardInsufficientMemory" in word(world, "trio")[1]

    world.delete(first)
    await world.run(60)
    assert len(world.bound("trio")) == 4
    assert world.shares() == {"GPU-a": 14000, "GPU-b": 14000}


async def test_members_for_which_hami_chose_a_node_that_the_others_fill_are_asked_about_again(
    world: HamiWorld,
) -> None:
    """HAMi counts cards alone and prefers the fuller node; of the CPU there, two members leave nothing."""
    world.add_nodes(gpu_node("a", cpu="2"), gpu_node("b", cpu="2"))
    world.add_group("trio", 3)
    world.add(*gang("trio", 3, 2000))
    await world.run(5)
    assert world.extender.asked[:3] == ["trio-0: a b", "trio-1: a b", "trio-2: a b"]
    assert world.extender.asked[3:] == ["trio-2: b"]
    assert sorted(world.node_of(key) for key in world.bound("trio")) == ["a", "a", "b"]
    assert world.shares() == {"GPU-a": 4000, "GPU-b": 2000}


async def test_a_gang_is_spread_over_as_many_nodes_as_it_takes(world: HamiWorld) -> None:
    world.add_nodes(*(gpu_node(f"n{number}", cpu="2") for number in range(10)))
    world.add_group("many", 20)
    world.add(*gang("many", 20, 1000))
    await world.run(5)
    assert len(world.bound("many")) == 20
    assert set(world.shares().values()) == {2000}


async def test_a_gang_that_needs_one_rack_gets_shares_in_one(world: HamiWorld) -> None:
    """HAMi, asked about all nodes, begins with the fullest one, in a rack that is too small."""
    racks = {"a": "small", "b": "large", "c": "large"}
    world.add_nodes(*(gpu_node(name, **{RACK: rack}) for name, rack in racks.items()))
    world.add(sharing("used", 8000, cpu="1").node_selector({"kubernetes.io/hostname": "a"}))
    await world.run(1)
    world.add_group("trio", 3, annotations={REQUIRED: RACK})
    world.add(*gang("trio", 3, 8000))
    await world.run(30)
    assert sorted(world.node_of(key) for key in world.bound("trio")) == ["b", "b", "c"]


async def test_a_gang_that_hami_serves_only_in_part_in_one_rack_gets_shares_in_another(world: HamiWorld) -> None:
    world.add_nodes(gpu_node("a", **{RACK: "small"}), gpu_node("b", **{RACK: "large"}))
    world.add(sharing("used", 4000).node_selector({"kubernetes.io/hostname": "a"}))
    await world.run(1)
    world.add_group("trio", 3, annotations={REQUIRED: RACK})
    world.add(*gang("trio", 3, 5000))
    await world.run(5)
    assert [world.node_of(key) for key in world.bound("trio")] == ["b", "b", "b"]
    assert world.shares() == {"GPU-a": 4000, "GPU-b": 15000}


async def test_two_gangs_at_once_do_not_each_get_a_part_of_what_is_enough_for_one(world: HamiWorld) -> None:
    world.add_nodes(gpu_node("a", Card("GPU-a", memory=8000)), gpu_node("b", Card("GPU-b", memory=8000)))
    for name in ("one", "two"):
        world.add_group(name, 3)
    one, two = gang("one", 3, 4000), gang("two", 3, 4000)
    in_turn = [pod for pair in zip(one, two, strict=True) for pod in pair]
    world.extender.delays = {pod.name: 0.1 * number for number, pod in enumerate(in_turn)}
    world.add(*in_turn)
    await world.run(30)
    assert sorted(map(len, (world.bound("one"), world.bound("two")))) == [0, 3]

    ended = world.bound("one") or world.bound("two")
    world.delete(*ended)
    await world.run(60)
    assert len(world.bound()) == 3


async def test_other_pods_do_not_wait_for_hami(world: HamiWorld) -> None:
    world.add_nodes(gpu_node("a", cpu="2"))
    world.add_group("trio", 3)
    world.add(*gang("trio", 3, 2000), make_pod("plain").requests(cpu="2"))
    await world.run(5)
    assert world.bound() == ["default/plain"]


async def test_a_node_whose_device_plugin_is_silent_gets_no_member(world: HamiWorld) -> None:
    world.add_nodes(gpu_node("a"), gpu_node("b"))
    world.plugins.silent.add("a")
    world.hami.register()
    world.plugins.step()
    await world.run(61)
    world.add_group("pair", 2)
    world.add(*gang("pair", 2, 7000))
    await world.run(5)
    assert [world.node_of(key) for key in world.bound("pair")] == ["b", "b"]


async def test_cards_that_only_hami_counts_need_not_be_in_the_capacity_of_a_node(world: HamiWorld) -> None:
    world.add_nodes(gpu_node("a"))
    assert GPU not in world.api.objects["nodes"]["a"]["status"]["allocatable"]
    [key] = world.add(sharing("one", 1000))
    await world.run(1)
    assert world.node_of(key) == "a"
