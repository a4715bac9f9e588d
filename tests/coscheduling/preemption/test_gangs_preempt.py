"""A gang of higher priority evicts for all members that it lacks, or not at all."""

from collections.abc import Sequence
from random import Random

import pytest

from muster.framework.contract import Status
from muster.plugins.defaultpreemption.group_search import GroupPreemption, GroupSearch
from muster.plugins.defaultpreemption.victims import Victim
from tests.builders import make_node
from tests.coscheduling.objects import make_member

from .evicting import EvictingWorld, plain


async def test_a_gang_evicts_as_many_as_it_needs_and_starts_when_they_are_gone(world: EvictingWorld) -> None:
    world.add_nodes(make_node("a"), make_node("b"))
    low = [*world.fill("a", 4), *world.fill("b", 4)]
    await world.settle()
    gang = world.gang("high", 3, priority=10)
    await world.settle()

    assert len(world.evicted) == 3
    assert world.bound("high") == []
    _, text, nominated = world.conditions[gang[0]]
    assert text == (
        "pod group default/high is unschedulable, 0 of the 3 members that it needs fit: "
        "0/2 nodes are available: 2 Insufficient cpu. "
        "pod group preemption: found a placement for podgroup, preempting 3 victims"
    )
    assert nominated in ("a", "b")
    await world.run(30)
    assert sorted(world.bound("high")) == sorted(gang)
    assert len(world.left(*low)) == 5
    world.check()


async def test_no_pod_is_evicted_if_the_whole_gang_would_not_fit_afterwards(world: EvictingWorld) -> None:
    world.add_nodes(make_node("a"), make_node("b"))
    world.fill("a", 4), world.fill("b", 3), world.fill("b", 1, priority=10)
    await world.settle()
    gang = world.gang("high", 8, priority=10)
    await world.run(30)

    assert world.evicted == []
    assert world.conditions[gang[0]][1].endswith("pod group preemption: 0/2 nodes are available: 2 Insufficient cpu.")
    assert len(world.engine.nominator) == 0


async def test_free_capacity_is_used_before_a_pod_is_evicted(world: EvictingWorld) -> None:
    world.add_nodes(make_node("a"), make_node("b"))
    world.fill("a", 4), world.fill("b", 1)
    world.gang("high", 5, priority=10)
    await world.run(30)

    assert len(world.evicted) == 2
    assert len(world.bound("high")) == 5


@pytest.mark.parametrize("grace", [0.0, 0.005, 1.0])
async def test_gangs_that_wait_for_their_victims_look_for_no_others_while_news_of_these_are_late(
    world: EvictingWorld, grace: float
) -> None:
    world.grace, random = grace, Random(1)
    world.add_nodes(*(make_node(f"n{n}", cpu="2") for n in range(40)))
    for n in range(40):
        world.fill(f"n{n}", 2)
    await world.settle()
    world.latency = world.takes = lambda: random.random() * 0.05
    for name in "abcdef":
        world.gang(name, 10, priority=10)
    await world.run(60)

    assert len({*world.evicted}) == 60
    assert [len(world.bound(name)) for name in "abcdef"] == [10] * 6


async def test_a_gang_waits_for_the_victims_of_another_on_the_node_that_both_are_promised(world: EvictingWorld) -> None:
    world.grace = 0.0
    world.add_nodes(make_node("a", cpu="2"))
    low = world.fill("a", 2)
    await world.settle()
    world.answers.clear()
    [first] = world.gang("first", 1, priority=10)
    await world.run(1)
    world.gang("second", 1, priority=10)
    await world.run(1)
    [of_first, of_second] = world.deletions
    assert sorted([of_first, of_second]) == sorted(low)

    world.delete(of_first)
    await world.run(2)
    assert world.conditions[first][1].endswith("pod group preemption: ongoing preemption on nominated nodes")
    assert world.deletions == {of_first: 1, of_second: 1}

    world.answers.set()
    await world.run(10)
    assert len(world.bound()) == 2


async def test_other_pods_do_not_use_the_capacity_while_the_victims_terminate(world: EvictingWorld) -> None:
    world.grace = 20.0
    world.add_nodes(make_node("a"))
    world.fill("a", 4)
    world.gang("high", 4, priority=10)
    await world.run(5)
    world.add(*(make_member(f"late-{n}", "", cpu="1") for n in range(4)))
    await world.run(60)

    assert len(world.bound("high")) == 4
    assert len(world.bound()) == 4


@pytest.mark.parametrize("restarted", [False, True], ids=["", "seen anew by another process"])
async def test_members_of_low_priority_keep_the_capacity_that_the_highest_priority_evicted(
    world: EvictingWorld, restarted: bool
) -> None:
    world.grace = 20.0
    world.add_nodes(make_node("a"), make_node("b"))
    world.fill("a", 4, priority=5), world.fill("b", 4, priority=5)
    world.add_group("gang", 8)
    world.add(make_member("gang-0", "gang", cpu="1").priority(10))
    world.add(*(make_member(f"gang-{n}", "gang", cpu="1") for n in range(1, 8)))
    await world.run(5)
    assert len({*world.evicted}) == 8
    if restarted:
        for key, (_, _, node) in world.conditions.items():
            world.api.put("pods", {**world.api.pods[key], "status": {"nominatedNodeName": node}})
        await world.kill()
        world.start()
    world.add(*(plain(f"between-{n}").priority(7) for n in range(8)))
    await world.run(60)

    assert len(world.bound("gang")) == 8
    assert len({*world.evicted}) == 8
    world.check()


async def test_a_gang_evicts_with_the_priority_of_its_highest_member_even_if_that_runs(world: EvictingWorld) -> None:
    world.add_nodes(make_node("a"), make_node("b", cpu="1"))
    world.add_group("gang", 3)
    world.add(make_member("gang-0", "gang", cpu="1").priority(10).node("b"))
    low = world.fill("a", 4, priority=5)
    await world.settle()
    world.add(*(make_member(f"gang-{n}", "gang", cpu="1") for n in (1, 2)))
    await world.run(30)

    assert len(world.bound("gang")) == 3
    assert len(world.left(*low)) == 2


async def test_nodes_with_terminating_victims_are_not_tried_first_even_if_they_need_no_further_victim(
    world: EvictingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenarios: list[int] = []
    try_ = GroupSearch._try

    def count(search: GroupSearch, victims: Sequence[Victim]) -> GroupPreemption | Status:
        scenarios.append(len(victims))
        return try_(search, victims)

    monkeypatch.setattr(GroupSearch, "_try", count)
    world.grace = 20.0
    world.add_nodes(*(make_node(f"n{n}", cpu="1") for n in range(600)))
    for n in range(600):
        world.fill(f"n{n}", 1)
    for name in "abc":
        world.gang(name, 5, priority=10)
        await world.run(1)

    assert scenarios == [5, 5, 5]


async def test_a_deleted_gang_leaves_the_evicted_capacity_to_others(world: EvictingWorld) -> None:
    world.grace = 20.0
    world.add_nodes(make_node("a"))
    world.fill("a", 4)
    gang = world.gang("high", 4, priority=10)
    await world.run(5)
    assert len(world.engine.nominator) == 4
    world.add(*(make_member(f"late-{n}", "", cpu="1") for n in range(4)))
    await world.run(5)
    world.delete(*gang)
    await world.run(60)

    assert len(world.engine.nominator) == 0
    assert len(world.bound()) == 4
