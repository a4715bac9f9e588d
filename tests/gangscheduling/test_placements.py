"""The domain of a native group: which one its running pods leave, and which one is scored highest."""

import pytest

from muster.plugins.gangscheduling.record import NativePodGroupReason
from tests.builders import make_node, make_pod
from tests.gangscheduling.world import World, make_members

_ONE_RACK = {"schedulingConstraints": {"topology": [{"key": "rack"}]}}
_UNDETERMINED = "cannot determine domain for already scheduled pods: "


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


@pytest.mark.parametrize("needed", [2, 1], ids=["below its quorum", "beyond its quorum"])
async def test_a_group_with_a_pod_on_a_deleted_node_is_placed_once_that_pod_is_deleted(needed: int) -> None:
    world = World()
    world.add_nodes(*(make_node(name, cpu="2").labels(rack=name) for name in ("a", "lost")))
    train = world.add_group("train", needed, **_ONE_RACK)
    first, second = make_members("train", 2)
    world.add(first.node("lost"))
    await world.settle()
    world.api.delete("nodes", "lost")
    world.add(second)
    await world.settle()
    text = f'{_UNDETERMINED}getting node for pod default/train-0: nodeinfo not found for node name "lost"'
    assert world.conditions["default/train-1"][:2] == ("SchedulerError", text)
    if needed > 1:
        assert world.reported(train) == (NativePodGroupReason.SCHEDULER_ERROR, text)

    world.delete("default/train-0")
    world.add(*make_members("train", 1, first=2))
    await world.until(lambda: world.bound("train") == ["train-1", "train-2"], within=15)
    assert {world.node_of(f"default/train-{number}") for number in (1, 2)} == {"a"}
    world.check()
