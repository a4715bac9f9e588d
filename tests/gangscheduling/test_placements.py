"""The domain of a native group: which one its running pods leave, and which one is scored highest."""

from tests.builders import make_node, make_pod
from tests.gangscheduling.world import World, make_members

_ONE_RACK = {"schedulingConstraints": {"topology": [{"key": "rack"}]}}


async def test_pods_on_a_node_that_offers_none_of_a_resource_do_not_make_its_rack_fuller() -> None:
    world = World()
    world.add_nodes(*(make_node(name, cpu=cpu).labels(rack=name[0]) for name, cpu in (("a1", "0"), ("a2", "8"))))
    world.add_nodes(make_node("b1", cpu="8").labels(rack="b"))
    world.add(make_pod("old").requests(cpu="8").node("a1"), make_pod("other").requests(cpu="3").node("b1"))
    await world.settle()
    world.add_group("g", 4, **_ONE_RACK)
    world.add(*make_members("g", 4))
    await world.settle()
    assert {world.node_of(f"default/g-{number}") for number in range(4)} == {"b1"}
    world.check()
