"""Members of a gang that keep apart from each other, stay together or spread: each sees where the others were tried."""

from collections.abc import Callable

import pytest

from tests.builders import NodeDict, PodDict, make_node
from tests.coscheduling.objects import GROUP_LABEL, make_members
from tests.coscheduling.world import World

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
GANG = {GROUP_LABEL: "g"}


def apart(member: PodDict) -> PodDict:
    return member.apart(HOST, GANG)


def together(member: PodDict) -> PodDict:
    return member.near(ZONE, GANG)


def spread(member: PodDict) -> PodDict:
    return member.spread(ZONE, GANG)


def nodes(zones: str) -> list[NodeDict]:
    return [make_node(f"n{number}", cpu="2").zone(zone) for number, zone in enumerate(zones)]


@pytest.mark.parametrize(
    ("wish", "zones", "size", "fits"),
    [
        (apart, "aab", 3, True),
        (apart, "aa", 3, False),
        (together, "ab", 2, True),
        (together, "ab", 3, False),
        (spread, "aabb", 4, True),
        (spread, "aab", 6, False),
        (spread, "aab", 5, True),
    ],
)
async def test_a_gang_starts_where_all_its_members_agree_or_not_at_all(
    world: World, wish: Callable[[PodDict], PodDict], zones: str, size: int, fits: bool
) -> None:
    world.add_nodes(*nodes(zones))
    world.add_group("g", size)
    world.add(*(wish(member) for member in make_members("g", size)))
    await world.settle()

    used = [world.node_of(key) for key in world.bound()]
    assert len(used) == (size if fits else 0)
    if wish is apart:
        assert len(set(used)) == len(used)
    in_zones = [zones[int(node[1:])] for node in used]
    if wish is together:
        assert len(set(in_zones)) <= 1
    if wish is spread and used:
        assert abs(in_zones.count("a") - in_zones.count("b")) <= 1
    world.check()


async def test_nodes_of_a_failed_trial_are_free_for_others(world: World) -> None:
    world.add_nodes(*nodes("ab"))
    world.add_group("g", 3)
    world.add(*(apart(member) for member in make_members("g", 3)))
    await world.settle()
    world.add_group("h", 2)
    world.add(*(member.apart(HOST, GANG).apart(HOST, {GROUP_LABEL: "h"}) for member in make_members("h", 2)))
    await world.settle()

    assert world.bound() == ["default/h-0", "default/h-1"]
    world.check()
