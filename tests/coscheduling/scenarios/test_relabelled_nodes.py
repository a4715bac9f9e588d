"""Gangs with a topology that start because the label of a node changes, without waiting for a review or a sweep."""

from collections.abc import Mapping
from unittest.mock import patch

import pytest

from muster.framework.scheduler.review import Review
from tests.builders import make_node
from tests.coscheduling.objects import make_members
from tests.coscheduling.world import World
from tests.gangscheduling.world import World as NativeWorld
from tests.gangscheduling.world import make_members as make_native_members

RACK = "example.com/rack"
ZONE = "topology.kubernetes.io/zone"
REQUIRED = "muster-scheduler.io/required-topology"
IN_ZONES = {"topology": [{"key": ZONE}]}
SLICES = {
    REQUIRED: ZONE,
    "muster-scheduler.io/slice-topology": RACK,
    "muster-scheduler.io/slice-size": "2",
}


def relabel(world: World | NativeWorld, node: str, labels: Mapping[str, str]) -> None:
    world.api.change("nodes", node, lambda changed: changed["metadata"].setdefault("labels", {}).update(labels))


@pytest.mark.parametrize(
    ("annotations", "labels", "change"),
    [
        ({REQUIRED: ZONE}, {ZONE: "b"}, {ZONE: "a"}),
        ({REQUIRED: ZONE}, {}, {ZONE: "a"}),
        ({REQUIRED: f"{ZONE},{RACK}"}, {ZONE: "a", RACK: "b"}, {RACK: "a"}),
        (SLICES, {ZONE: "a"}, {RACK: "b"}),
    ],
    ids=["another domain", "a first domain", "another inner domain", "another part for slices"],
)
async def test_a_gang_starts_at_once_when_a_node_that_it_needs_gets_the_label_of_its_domain(
    world: World, annotations: Mapping[str, str], labels: Mapping[str, str], change: Mapping[str, str]
) -> None:
    world.add_nodes(
        make_node("one", cpu="2").labels({ZONE: "a", RACK: "a"}), make_node("two", cpu="2").labels({**labels})
    )
    world.add_group("g", 4, annotations=annotations)
    members = world.add(*make_members("g", 4))
    with patch.object(Review, "begin", lambda self: None):
        await world.run(20)
        assert world.bound("g") == []

        relabel(world, "two", change)
        await world.run(1)

    assert world.bound("g") == members
    world.check()


async def test_a_later_member_starts_at_once_when_a_node_moves_to_the_domain_of_its_gang(world: World) -> None:
    world.add_nodes(make_node("one", cpu="2").labels({ZONE: "a"}), make_node("two", cpu="2").labels({ZONE: "b"}))
    world.add_group("g", 2, annotations={REQUIRED: ZONE})
    world.add(*make_members("g", 3))
    with patch.object(Review, "begin", lambda self: None):
        await world.run(20)
        assert len(world.bound("g")) == 2

        relabel(world, *("two", {ZONE: "a"}) if world.node_of("default/g-0") == "one" else ("one", {ZONE: "b"}))
        await world.run(11)

    assert len(world.bound("g")) == 3


async def test_a_label_that_no_topology_names_wakes_no_gang(world: World) -> None:
    world.add_nodes(make_node("one", cpu="2").labels({ZONE: "a"}), make_node("two", cpu="2").labels({ZONE: "b"}))
    world.add_group("g", 4, annotations={REQUIRED: ZONE})
    world.add(*make_members("g", 4))
    with patch.object(Review, "begin", lambda self: None):
        await world.run(20)
        before = world.places()

        relabel(world, "two", {RACK: "a"})
        await world.breathe()

    assert world.places() == before == {"unschedulable": 4}


@pytest.mark.parametrize("of_tree", [False, True])
async def test_a_native_group_starts_at_once_when_a_node_moves_to_its_domain(of_tree: bool) -> None:
    world = NativeWorld()
    world.add_nodes(make_node("one", cpu="2").labels({ZONE: "a"}), make_node("two", cpu="2").labels({ZONE: "b"}))
    if of_tree:
        world.add_composite("tree", 2, schedulingConstraints=IN_ZONES)
        for part in "gh":
            world.add_group(part, 2, parentCompositePodGroupName="tree")
        members = world.add(*make_native_members("g", 2), *make_native_members("h", 2))
    else:
        world.add_group("g", 4, schedulingConstraints=IN_ZONES)
        members = world.add(*make_native_members("g", 4))
    with patch.object(Review, "begin", lambda self: None):
        await world.run(20)
        assert not any(map(world.node_of, members))

        relabel(world, "two", {ZONE: "a"})
        await world.run(1)

    assert all(map(world.node_of, members))
