"""A gang of whose members extenders have something to say is placed by it, whole or not at all."""

import asyncio
from dataclasses import replace

from muster.framework.scheduler.engine import Engine
from muster.framework.scheduler.ports import Ports
from tests.builders import make_node, make_pod
from tests.coscheduling.objects import make_members
from tests.coscheduling.world import World
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
