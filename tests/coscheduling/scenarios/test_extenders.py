"""A gang of whose members extenders have something to say is placed by it, whole or not at all."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from muster.framework.contract import PodInfo
from muster.framework.contract.extender import ExtenderFilterResult
from muster.framework.scheduler.consultations import ROUNDS_IN_VAIN
from muster.framework.scheduler.engine import Engine
from muster.framework.scheduler.ports import Ports
from tests.builders import make_node, make_pod
from tests.coscheduling.objects import make_members
from tests.coscheduling.world import World
from tests.gangscheduling.world import COMPOSITE_KIND, KIND, make_composite
from tests.gangscheduling.world import make_group as make_native
from tests.gangscheduling.world import make_members as make_native_members
from tests.scheduler.played_extender import PlayedExtender, only


class Extended(World):
    """A world with an extender."""

    def __init__(self, extender: PlayedExtender) -> None:
        self._extender = extender
        super().__init__()

    def build(self, ports: Ports) -> Engine:
        return super().build(replace(ports, extenders=[self._extender]))


async def test_members_go_where_the_extender_lets_them_and_others_need_not_wait() -> None:
    extender = PlayedExtender(filters=only("b", "c"), pods="gang", held=asyncio.Event())
    world = Extended(extender)
    world.add_nodes(*(make_node(name, cpu="2") for name in "abc"))
    world.add_group("gang", 4)
    world.add(*make_members("gang", 4))
    await world.settle()
    world.add(make_pod("other").requests(cpu="1").node_selector({"kubernetes.io/hostname": "a"}))
    await world.settle()
    assert world.bound() == ["default/other"]

    assert extender.held is not None
    extender.held.set()
    await world.run(1)
    assert sorted(extender.asked) == [f"filter gang-{number}: a b c" for number in range(4)]
    assert sorted(world.api.pods[key]["spec"]["nodeName"] for key in world.bound("gang")) == ["b", "b", "c", "c"]
    await world.kill()


async def test_a_gang_that_the_extender_leaves_too_few_nodes_waits_whole() -> None:
    extender = PlayedExtender(filters=only("b"), pods="gang")
    world = Extended(extender)
    world.add_nodes(*(make_node(name, cpu="2") for name in "abc"))
    world.add_group("gang", 4)
    world.add(*make_members("gang", 4))
    await world.run(1)
    assert world.bound() == []

    extender.filters = only("b", "c")
    world.add_nodes(make_node("d", cpu="1"))
    await world.run(60)
    assert len(world.bound("gang")) == 4
    await world.kill()


async def test_a_gang_whose_extender_fails_waits_whole_and_is_tried_again() -> None:
    extender = PlayedExtender(filters=only("a"), pods="gang", fails="down")
    world = Extended(extender)
    world.add_nodes(make_node("a"))
    world.add_group("gang", 2)
    world.add(*make_members("gang", 2))
    await world.run(1)
    assert world.bound() == []
    extender.fails = ""
    await world.run(60)
    assert len(world.bound("gang")) == 2
    await world.kill()


class Choosing(PlayedExtender):
    """Allows one node of those that it is asked about, the first in the order of their names, and says no more."""

    def __init__(self) -> None:
        super().__init__(filters=only(), pods="gang")
        self.chose: Callable[[str, str], None] = lambda pod, node: None

    async def filter(self, pod: PodInfo, node_names: Sequence[str]) -> ExtenderFilterResult:
        await super().filter(pod, node_names)
        self.chose(pod.name, min(node_names))
        return ExtenderFilterResult([min(node_names)])


async def test_members_are_asked_about_again_where_an_extender_chose_one_node_for_too_many() -> None:
    extender = Choosing()
    world = Extended(extender)
    world.add_nodes(*(make_node(name, cpu="1") for name in "abc"))
    world.add_group("gang", 3)
    world.add(*make_members("gang", 3))
    await world.run(1)
    assert sorted(world.api.pods[key]["spec"]["nodeName"] for key in world.bound("gang")) == ["a", "b", "c"]
    assert extender.asked[3:] == ["filter gang-1: b c", "filter gang-2: b c", "filter gang-2: c"]
    await world.kill()


async def test_a_gang_is_decided_though_every_answer_of_an_extender_is_taken_by_another_pod() -> None:
    extender = Choosing()
    world = Extended(extender)
    world.add_nodes(*(make_node(name, cpu="1") for name in "abc"))
    world.add_group("gang", 2)
    in_first_attempt: list[str] = []

    def take(pod: str, node: str) -> None:
        if world.notes("default/gang-1"):
            return
        in_first_attempt.append(node)
        if pod == "gang-1" and node != "a":
            world.delete("default/rival")
            world.add(make_pod("rival").requests(cpu="1").node(node))

    extender.chose = take
    world.add(*make_members("gang", 2))
    await world.run(60)
    assert in_first_attempt == ["a", "a", *(["b", "c"] * ROUNDS_IN_VAIN)[:ROUNDS_IN_VAIN]]
    assert ["Insufficient cpu" in note for note in world.notes("default/gang-1")] == [True]
    assert len(world.bound("gang")) == 2
    await world.kill()


async def test_a_tree_of_groups_is_asked_about_again_as_well() -> None:
    extender = Choosing()
    world = Extended(extender)
    world.add_nodes(*(make_node(name, cpu="1") for name in "ab"))
    world.api.put(COMPOSITE_KIND, make_composite("tree", 2))
    for part in ("gang-x", "gang-y"):
        world.api.put(KIND, make_native(part, 1, parentCompositePodGroupName="tree"))
        world.add(*make_native_members(part, 1))
    await world.run(1)
    assert sorted(world.node_of(f"default/{part}-0") for part in ("gang-x", "gang-y")) == ["a", "b"]
    await world.kill()
