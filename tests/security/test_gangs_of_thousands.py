"""A gang of very many members: each costs about the same, and none of its steps grows faster than the gang."""

import pytest

from muster.plugins.coscheduling.prefilter import Finding, GroupPreFilter
from tests.builders import make_node
from tests.clocks import Ticks
from tests.coscheduling.objects import make_member
from tests.coscheduling.world import World
from tests.security.work import counted

MEMBERS = 600
CALLS_OF_A_MEMBER = 1_000
"""With what the test itself does to the API in memory."""
CALLS_IN_ONE_GO = 12
"""For each member, where something is noted of all of them in one step, and no plugin is asked about any."""


@pytest.mark.parametrize("cpu", ["64", "1"], ids=["that does not fit", "that fits"])
async def test_a_gang_costs_as_much_for_each_member_however_many_there_are(cpu: str) -> None:
    world = World(stopwatch=Ticks())
    world.add_nodes(*(make_node(f"n{number}", cpu="32") for number in range(40)))
    world.add_group("huge", MEMBERS)
    keys: list[str] = []
    coming, longest = 0, 0
    for number in range(MEMBERS):
        with counted() as one:
            keys += world.add(make_member(f"huge-{number}", "huge", cpu=cpu))
        coming, longest = coming + one.calls, max(longest, one.calls)
    with counted() as calls:
        world.add_nodes(make_node("late", cpu="1"))
    longest, going = max(longest, calls.calls), True
    while going:
        with counted() as step:
            going = world.step()
        longest = max(longest, step.calls)
    with counted() as leaving:
        world.delete(*keys)

    assert coming < MEMBERS * CALLS_OF_A_MEMBER
    assert longest < MEMBERS * CALLS_IN_ONE_GO
    assert leaving.calls < MEMBERS * CALLS_OF_A_MEMBER


async def test_pods_of_a_missing_group_cost_nothing_when_capacity_becomes_free() -> None:
    world = World()
    for number in range(MEMBERS):
        world.add(make_member(f"lost-{number}", "lost"))
    with counted() as coming:
        world.add_nodes(make_node("new", cpu="32"))

    assert coming.calls < 2 * MEMBERS


@pytest.mark.parametrize("members", [20, MEMBERS])
async def test_a_gang_short_of_its_min_resources_is_refused_after_one_look_at_them(
    members: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[str] = []
    look = GroupPreFilter._resources

    def counting(self: GroupPreFilter, group: str) -> Finding:
        looks.append(group)
        return look(self, group)

    monkeypatch.setattr(GroupPreFilter, "_resources", counting)
    world = World()
    world.add_nodes(make_node("node", cpu="32"))
    world.add_group("huge", 2, min_resources={"cpu": "1000"})
    keys = world.add(*(make_member(f"huge-{number}", "huge", cpu="1") for number in range(members)))
    await world.settle()

    assert looks == ["default/huge"]
    assert all("map[cpu:968]" in world.conditions[key][1] for key in keys)
