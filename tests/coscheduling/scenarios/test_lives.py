"""Groups that change while they wait and while they run, and names that are used again."""

import pytest

from tests.builders import make_node, make_pod
from tests.coscheduling.announced import word
from tests.coscheduling.conftest import MakeWorld
from tests.coscheduling.objects import make_member, make_members
from tests.coscheduling.world import World


@pytest.fixture
def large_world(world: World) -> World:
    """A world with capacity for a hundred pods."""
    world.add_nodes(make_node("a", cpu="100"))
    return world


async def test_a_minmember_that_is_lowered_helps_a_gang_that_did_not_fit(world: World) -> None:
    world.add_nodes(make_node("a", cpu="3"))
    world.add_group("g", 5)
    world.add(*make_members("g", 5))
    await world.run(20)
    assert world.bound() == []

    world.change_group("default/g", minMember=3)
    await world.settle()
    assert len(world.bound("g")) == 3


async def test_a_minmember_that_is_raised_while_members_wait_is_what_counts(large_world: World) -> None:
    large_world.add_group("g", 5)
    large_world.add(*make_members("g", 3))
    await large_world.run(5)
    large_world.change_group("default/g", minMember=7)
    pods = make_members("g", 7)
    large_world.add(*pods[3:6])
    await large_world.run(20)
    assert large_world.bound() == []

    large_world.add(pods[6])
    await large_world.settle()
    assert len(large_world.bound("g")) == 7


async def test_members_that_wait_singly_are_placed_together_once_the_gang_needs_more_of_them(world: World) -> None:
    world.add_nodes(make_node("a", cpu="3"))
    world.add_group("g", 3)
    world.add(*make_members("g", 6))
    await world.run(5)
    assert len(world.bound("g")) == 3

    world.change_group("default/g", minMember=6)
    world.add_nodes(make_node("b", cpu="2"))
    await world.run(30)
    assert len(world.bound("g")) == 3
    assert world.engine.cache.assumed_count == 0
    world.add_nodes(make_node("c", cpu="1"))
    await world.run(30)
    assert len(world.bound("g")) == 6


async def test_a_name_in_two_namespaces_is_two_groups(large_world: World) -> None:
    large_world.add_group("g", 3, namespace="one")
    large_world.add_group("g", 2, namespace="two")
    large_world.add(*make_members("g", 2, namespace="one"), *make_members("g", 2, namespace="two"))
    await large_world.settle()

    assert (large_world.bound("g", "one"), len(large_world.bound("g", "two"))) == ([], 2)


async def test_a_group_may_be_tried_only_while_its_podgroup_exists(world: World) -> None:
    group = world.add_group("train", 1)
    world.add(make_member("train-0", "train"))
    await world.settle()
    assert world.groups.quorum_state(group).may_be_tried
    world.api.delete("podgroups", group)
    await world.settle()
    assert not world.groups.quorum_state(group).may_be_tried


async def test_a_name_that_is_used_again_after_its_gang_failed_starts_again(large_world: World) -> None:
    large_world.add_group("g", 3)
    for life in range(3):
        keys = large_world.add(*(make_member(f"life-{life}-{number}", "g") for number in range(3)))
        await large_world.settle()
        assert all(large_world.node_of(key) for key in keys)
        for key in keys:
            large_world.set_phase(key, "Failed")
        await large_world.run(60)


async def test_a_podgroup_that_is_made_again_at_once_is_another_group(large_world: World) -> None:
    large_world.add_group("g", 3)
    large_world.add(*make_members("g", 3))
    await large_world.settle()
    large_world.api.delete("podgroups", "default/g")
    large_world.add_group("g", 4)
    [key] = large_world.add(make_member("fourth", "g"))
    await large_world.settle()

    assert large_world.node_of(key) == "a"
    large_world.check()


async def test_the_age_of_a_gang_begins_anew_with_its_next_life(large_world: World) -> None:
    large_world.add_group("g", 3)
    keys = large_world.add(*make_members("g", 2))
    await large_world.run(100)
    assert large_world.groups.age("default/g") == 100
    large_world.delete(*keys)
    await large_world.run(100)
    large_world.add(*make_members("g", 2))
    await large_world.run(5)

    assert large_world.groups.age("default/g") == 5


async def test_the_successor_of_a_member_that_is_still_ending_need_not_wait_for_its_end(large_world: World) -> None:
    large_world.add_group("g", 3)
    keys = large_world.add(*make_members("g", 3))
    await large_world.settle()
    large_world.terminate(keys[0])
    [successor] = large_world.add(make_member("successor", "g"))
    await large_world.settle()

    assert large_world.node_of(successor) == "a"


async def test_two_members_that_are_lost_are_replaced_together_or_not_at_all(world: World) -> None:
    world.add_nodes(make_node("a", cpu="4"))
    world.add_group("g", 4)
    keys = world.add(*make_members("g", 4))
    await world.settle()
    world.delete(*keys[:2])
    world.add(make_pod("other").requests(cpu="1").node("a"))
    world.add(make_member("one", "g"), make_member("two", "g"))
    await world.run(30)
    assert len(world.bound("g")) == 2
    assert world.engine.cache.assumed_count == 0

    world.delete("default/other")
    await world.run(15)
    assert len(world.bound("g")) == 4


async def test_members_that_waited_singly_hold_nothing_when_the_quorum_needs_more_of_them(world: World) -> None:
    """What waited one by one beyond the quorum becomes part of it, and part of its transaction."""
    world.add_nodes(make_node("a", cpu="4"))
    world.add_group("g", 4)
    world.add(*make_members("g", 6))
    await world.run(30)
    world.add(make_pod("other").requests(cpu="1").priority(10))
    world.delete(*world.bound("g")[:2])
    await world.run(30)
    assert world.node_of("default/other") == "a"
    assert len(world.bound("g")) == 2
    assert world.engine.cache.assumed_count == 0

    world.delete("default/other")
    await world.run(15)
    assert len(world.bound("g")) == 4
    world.check()


async def test_members_that_have_ended_are_no_part_of_a_quorum(large_world: World) -> None:
    large_world.add_group("g", 6)
    large_world.add(make_member("ended", "g").node("a").phase("Succeeded"))
    keys = large_world.add(*make_members("g", 5))
    await large_world.run(30)

    assert large_world.bound("g") == ["default/ended"]
    assert large_world.notes(keys[0])[-1].endswith("current pods number: 5, minMember of group: 6.")


async def test_a_pod_that_is_labelled_later_joins_and_completes_its_gang(large_world: World) -> None:
    large_world.add_group("g", 3)
    large_world.add(*make_members("g", 2))
    [late] = large_world.add(make_pod("late").requests(cpu="1000"))
    await large_world.run(5)
    large_world.api.change(
        "pods", late, lambda pod: pod["spec"]["containers"][0]["resources"]["requests"].update(cpu="1")
    )
    large_world.relabel(late, "g")
    await large_world.run(5)

    assert len(large_world.bound("g")) == 3


async def test_a_running_pod_that_is_labelled_counts_in_its_gang(large_world: World) -> None:
    large_world.add_group("g", 3)
    large_world.add(*make_members("g", 2))
    [runs] = large_world.add(make_pod("runs").requests(cpu="1").node("a"))
    await large_world.run(5)
    assert large_world.bound("g") == []

    large_world.relabel(runs, "g")
    await large_world.run(5)
    assert len(large_world.bound("g")) == 3


async def test_a_member_that_changes_to_another_group_leaves_the_first_short(large_world: World) -> None:
    large_world.add_group("g", 3)
    large_world.add_group("h", 2)
    keys = large_world.add(make_member("g-0", "g"), make_member("g-1", "g"), make_member("h-0", "h"))
    await large_world.run(5)
    large_world.relabel(keys[1], "h")
    large_world.add(make_member("g-2", "g"))
    await large_world.run(5)

    assert len(large_world.bound("h")) == 2
    assert large_world.bound("g") == []
    large_world.check()


async def test_members_of_other_schedulers_that_change_groups_are_forgotten_in_the_first(large_world: World) -> None:
    large_world.add_group("g", 2)
    theirs = make_member("theirs", "g").scheduler("somebody-else")
    [foreign] = large_world.add(theirs)
    large_world.relabel(foreign, "h")
    large_world.add(make_member("ours", "g"))
    await large_world.run(5)

    assert len(large_world.groups.record("default/g").pods) == 1
    assert large_world.notes("default/ours")[-1].endswith("current pods number: 1, minMember of group: 2.")
    large_world.delete(foreign)
    assert len(large_world.groups.record("default/h").pods) == 0


async def test_when_the_node_of_a_member_is_lost_its_successor_finds_another(world: World) -> None:
    world.add_nodes(make_node("a", cpu="1"), make_node("b", cpu="1"))
    world.add_group("g", 2)
    world.add(*make_members("g", 2))
    await world.settle()
    [lost] = [key for key in world.bound() if world.node_of(key) == "b"]
    world.api.delete("nodes", "b")
    world.delete(lost)
    world.add(make_member("successor", "g"))
    await world.run(10)
    assert len(world.bound("g")) == 1

    world.add_nodes(make_node("c", cpu="1"))
    await world.run(5)
    assert len(world.bound("g")) == 2


@pytest.mark.parametrize("placement", ["Transaction", "PodByPod"])
async def test_a_gang_that_was_rejected_without_nodes_starts_when_nodes_are_added(
    make_world: MakeWorld, placement: str
) -> None:
    world = make_world({"placement": placement})
    world.add_group("g", 3)
    keys = world.add(*make_members("g", 3))
    await world.run(1)
    assert "no nodes available to schedule pods" in world.notes(keys[0])[-1]

    world.add_nodes(make_node("a"))
    await world.run(30)
    assert len(world.bound("g")) == 3


async def test_everything_of_a_group_is_forgotten_with_it(large_world: World) -> None:
    for name in ("one", "two"):
        large_world.add_group(name, 3, min_resources={"cpu": "1000"})
        large_world.add(*make_members(name, 3))
    await large_world.run(10)
    for key in [*large_world.api.pods]:
        large_world.delete(key)
    for key in [*large_world.api.objects["podgroups"]]:
        large_world.api.delete("podgroups", key)
    await large_world.run(10)

    groups = large_world.groups
    assert (groups.members._records, groups.members._counted_in, groups.min_resources._with_min_resources) == (
        {},
        {},
        {},
    )
    assert word(large_world, "one") == ("", "")


async def test_a_pod_that_is_seen_only_as_it_ends_begins_no_life(large_world: World) -> None:
    large_world.add_group("g", 2)
    pod = make_member("x", "g")
    pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    [key] = large_world.add(pod)
    await large_world.run(5)
    large_world.delete(key)
    await large_world.run(1000)
    large_world.add(*make_members("g", 2))
    await large_world.settle()

    assert len(large_world.bound("g")) == 2
    assert large_world.groups.age("default/g") == 0


async def test_a_pod_that_ends_before_it_was_tried_leaves_no_life(large_world: World) -> None:
    large_world.add_group("g", 2)
    [key] = large_world.add(make_member("x", "g"))
    large_world.terminate(key)
    await large_world.run(5)
    large_world.delete(key)
    await large_world.run(1000)
    large_world.add(*make_members("g", 2))
    await large_world.settle()

    assert large_world.groups.age("default/g") == 0
