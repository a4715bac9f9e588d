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


@pytest.mark.parametrize("constrained", ["the part", "a composite above it"])
@pytest.mark.parametrize(
    ("racks", "cause"),
    [
        (("a", "b"), "more than 1 domain found for pod group: a, b"),
        (("a", None), "no topology domain found for pod default/left-1"),
    ],
)
async def test_a_tree_is_an_error_as_long_as_the_pods_of_a_complete_part_run_in_no_one_domain(
    racks: tuple[str | None, ...], cause: str, constrained: str
) -> None:
    world = World()
    world.add_nodes(make_node("free", cpu="2").labels(rack="a"))
    world.add_composite("job", 2)
    of_part, of_inner = (_ONE_RACK, {}) if constrained == "the part" else ({}, _ONE_RACK)
    world.add_composite("inner", 1, parentCompositePodGroupName="job", **of_inner)
    world.add_group("left", 2, parentCompositePodGroupName="inner", **of_part)
    right = world.add_group("right", 1, parentCompositePodGroupName="job")
    members = make_members("left", 2)
    for number, rack in enumerate(racks):
        world.add_nodes(make_node(f"node-{number}", cpu="8").labels({"rack": rack} if rack else {}))
        members[number].node(f"node-{number}")
    world.add(*members, *make_members("right", 1))
    await world.settle()
    inner = "composite pod group evaluation failed due to child error: "
    text = (inner * (2 if constrained == "the part" else 1)) + _UNDETERMINED + cause
    assert world.reported(right) == (NativePodGroupReason.SCHEDULER_ERROR, text)
    assert (world.conditions["default/right-0"][:2], world.bound("right")) == (("SchedulerError", text), [])

    world.api.change("nodes", "node-1", lambda node: node["metadata"]["labels"].update(rack="a"))
    await world.until(lambda: world.bound("right") == ["right-0"], within=15)
    world.check()
