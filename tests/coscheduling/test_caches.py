"""The caches of the plugin, which remember for a while that a group was denied, backed off or permitted."""

from muster.framework.contract import CycleState, NodeView, PodDecision, Status
from tests.builders import make_node, make_pod
from tests.coscheduling.announced import word
from tests.coscheduling.conftest import MakeWorld
from tests.coscheduling.objects import make_member, make_members
from tests.coscheduling.world import World

DENIED = "0/2 nodes are available: pod with pgName: default/g last failed in 3s, deny.."
GAP = "0/1 nodes are available: resource gap: map[cpu:2]."


def said(world: World, key: str) -> str:
    """What PreFilter says to a pod; empty when it passes."""
    info = world.engine.known.get(key)
    assert info is not None
    snapshot = world.engine.cache.snapshot
    status = world.plugin().pre_filter(CycleState(), info, NodeView(snapshot, snapshot.live_rows()))
    return "" if status is None else status.message


def let_through(world: World, key: str) -> None:
    """PreFilter lets the pod's group through, and the pod finds no node."""
    info = world.engine.known.get(key)
    assert info is not None
    snapshot, state = world.engine.cache.snapshot, CycleState()
    assert world.plugin().pre_filter(state, info, NodeView(snapshot, snapshot.live_rows())) is None
    world.plugin().on_pod_decision(PodDecision(info, state, "", Status.unschedulable("no node")))


async def test_a_group_that_lacks_resources_is_denied_for_three_seconds_and_not_retried_without_capacity(
    make_world: MakeWorld,
) -> None:
    world = make_world()
    world.add_nodes(make_node("a", cpu="2"))
    world.add_group("g", 2, min_resources={"cpu": "4"})
    keys = world.add(*make_members("g", 2))
    await world.settle()
    assert said(world, keys[0]).startswith("pod with pgName: default/g last failed in 3s, deny.")

    await world.run(2.9)
    assert said(world, keys[0]) != ""
    await world.run(250)
    assert world.metrics.podgroup_schedule_attempts.values() == {("unschedulable", "muster"): 1}
    assert [world.notes(key) for key in keys] == [[GAP], [GAP]]
    world.add_nodes(make_node("b", cpu="2"))
    await world.settle()
    assert len(world.bound()) == 2


async def test_insufficient_capacity_that_is_added_during_a_denial_is_checked_once(make_world: MakeWorld) -> None:
    world = make_world()
    world.add_nodes(make_node("a", cpu="2"))
    world.add_group("g", 2, min_resources={"cpu": "40"})
    world.add(*make_members("g", 2))
    await world.run(1)
    world.add_nodes(make_node("b", cpu="2"))
    await world.run(250)

    assert world.metrics.podgroup_schedule_attempts.values() == {("unschedulable", "muster"): 2}


async def test_added_capacity_wakes_a_group_with_another_reported_reason_too(make_world: MakeWorld) -> None:
    world = make_world({"deniedPGExpirationTimeSeconds": 0})
    world.add_nodes(make_node("a", cpu="2"))
    world.add_group("app", 1, min_resources={"cpu": "2"})
    world.binder.latency = lambda: 70.0
    world.add(make_member("driver", "app"))
    await world.run(61)
    world.add(make_pod("other").requests(cpu="1").node("a"))
    [executor] = world.add(make_member("executor", "app"))
    await world.run(10)
    assert word(world, "app") == ("NotEnoughResources", "resource gap: map[cpu:1]")
    await world.run(100)
    assert word(world, "app") == ("Scheduled", "the pod that it needs is scheduled")

    world.binder.latency = lambda: 0.0
    world.delete("default/other")
    await world.settle()
    assert world.node_of(executor) == "a"


async def test_a_denied_group_whose_pods_are_tried_is_rejected_without_a_check_of_resources(
    make_world: MakeWorld,
) -> None:
    world = make_world()
    world.add_nodes(make_node("a", cpu="2"))
    world.add_group("g", 2, min_resources={"cpu": "4"})
    keys = world.add(*make_members("g", 2))
    await world.settle()
    world.add(make_member("one-more", "g"))
    world.clock.move_to(world.clock.now() + 0.6)  # the newcomer has made them all ready
    assert world.places() == {"active": 3}
    world.add_nodes(make_node("b", cpu="8"))
    await world.settle()

    assert world.metrics.podgroups_denied.total() == 1
    assert world.bound() == []
    await world.run(2)
    assert world.notes(keys[0])[-1] == DENIED
    await world.run(2)
    assert len(world.bound()) == 3


async def test_how_long_a_denial_lasts_can_be_said(make_world: MakeWorld) -> None:
    world = make_world({"deniedPGExpirationTimeSeconds": 20})
    world.add_nodes(make_node("a", cpu="2"))
    world.add_group("g", 2, min_resources={"cpu": "4"})
    keys = world.add(*make_members("g", 2))
    await world.run(19)
    assert "last failed in 20s, deny." in said(world, keys[0])

    world.add_nodes(make_node("b", cpu="8"))
    await world.settle()
    assert world.bound() == []
    await world.run(2)
    assert len(world.bound()) == 2


async def test_without_denials_added_capacity_wakes_a_group_at_once_and_there_is_no_earlier_attempt(
    make_world: MakeWorld,
) -> None:
    world = make_world({"deniedPGExpirationTimeSeconds": 0})
    world.add_nodes(make_node("a", cpu="2"))
    world.add_group("g", 2, min_resources={"cpu": "4"})
    world.add(*make_members("g", 2))
    await world.run(60)
    assert world.metrics.podgroup_schedule_attempts.values() == {("unschedulable", "muster"): 1}

    world.add_nodes(make_node("b", cpu="8"))
    await world.settle()
    assert len(world.bound()) == 2


async def test_denial_is_over_although_timers_fire_a_millisecond_early(make_world: MakeWorld) -> None:
    world = make_world()
    on_time = world.clock.call_later
    world.clock.call_later = lambda seconds, callback: on_time(seconds - 0.001, callback)  # type: ignore[method-assign]
    world.add_nodes(make_node("a", cpu="2"))
    world.add_group("g", 2, min_resources={"cpu": "4"})
    world.add(*make_members("g", 2))
    await world.run(1)
    world.add_nodes(make_node("b", cpu="8"))
    await world.run(3)

    assert len(world.bound()) == 2


async def test_members_beyond_the_quorum_that_were_denied_are_tried_when_that_is_over(make_world: MakeWorld) -> None:
    world = make_world()
    world.add_nodes(make_node("a", cpu="2"))
    world.add_group("app", 1, min_resources={"cpu": "2"})
    world.add(make_member("driver", "app"))
    await world.settle()
    world.add(make_pod("other").requests(cpu="1"))
    await world.settle()
    await world.run(60)
    [executor] = world.add(make_member("executor", "app"))
    await world.run(1)
    assert world.notes(executor) == ["0/1 nodes are available: resource gap: map[cpu:1]."]

    world.delete("default/other")
    await world.run(5)
    assert world.node_of(executor) == "a"


async def test_minresources_that_were_free_are_not_counted_again_for_siblings(world: World) -> None:
    world.add_nodes(make_node("a", cpu="4"))
    world.add_group("g", 1, min_resources={"cpu": "4"})
    keys = world.add(*make_members("g", 2, cpu="2"))
    let_through(world, keys[0])

    world.add(make_pod("other").requests(cpu="3").node("a"))

    assert said(world, keys[1]) == ""
    world.clock.move_to(world.clock.now() + 60)
    assert said(world, keys[1]) == "resource gap: map[cpu:3]"


async def test_a_group_that_found_no_place_counts_its_resources_again(world: World) -> None:
    world.add_nodes(make_node("a", cpu="3"), make_node("b", cpu="3"))
    world.add_group("g", 2, min_resources={"cpu": "6"})
    keys = world.add(*make_members("g", 2, cpu="3"))
    let_through(world, keys[0])
    world.add(make_pod("other").requests(cpu="1").node("a"))
    await world.run(1)

    assert world.notes(keys[0]) == [
        "pod group default/g is unschedulable, 1 of the 2 members that it needs fits; with that one placed: "
        "0/2 nodes are available: 2 Insufficient cpu."
    ]
    assert said(world, keys[0]) == "resource gap: map[cpu:1]"


async def test_with_a_backoff_a_group_that_found_no_place_is_left_alone_for_that_time(make_world: MakeWorld) -> None:
    world = make_world({"podGroupBackoffSeconds": 20})
    world.add_nodes(make_node("a", cpu="1"))
    world.add_group("g", 2)
    keys = world.add(*make_members("g", 2))
    await world.settle()
    assert said(world, keys[0]) == "podGroup default/g failed recently"

    world.add_nodes(make_node("b", cpu="1"))
    await world.run(19.9)
    assert world.bound() == []
    await world.run(0.2)
    assert len(world.bound()) == 2


async def test_without_a_group_backoff_added_capacity_helps_once_the_pods_backoff_has_ended(world: World) -> None:
    world.add_nodes(make_node("a", cpu="1"))
    world.add_group("g", 2)
    world.add(*make_members("g", 2))
    await world.settle()
    world.add_nodes(make_node("b", cpu="1"))
    await world.run(2)

    assert len(world.bound()) == 2


async def test_a_denial_does_not_hold_for_a_new_group_of_the_same_name(make_world: MakeWorld) -> None:
    world = make_world({"deniedPGExpirationTimeSeconds": 1000, "podGroupBackoffSeconds": 1000})
    world.add_nodes(make_node("a", cpu="2"))
    group = world.add_group("g", 2, min_resources={"cpu": "4"})
    world.add(*make_members("g", 2))
    await world.run(1)
    assert world.bound() == []

    world.api.delete("podgroups", group)
    await world.run(1)
    world.add_group("g", 2)
    await world.settle()
    assert len(world.bound()) == 2


async def test_a_denied_group_with_reduced_min_resources_is_checked_at_once(
    make_world: MakeWorld,
) -> None:
    world = make_world({"deniedPGExpirationTimeSeconds": 1000, "podGroupBackoffSeconds": 1000})
    world.add_nodes(make_node("a", cpu="4"))
    group = world.add_group("g", 3, min_resources={"cpu": "8"})
    keys = world.add(*make_members("g", 3, cpu="2"))
    await world.run(1)
    world.change_group(group, minResources={"cpu": "4"})
    await world.run(1)
    assert said(world, keys[0]) == "podGroup default/g failed recently"

    world.change_group(group, minMember=2)
    await world.settle()
    assert len(world.bound()) == 2


async def test_an_admitted_group_with_increased_min_resources_is_checked_again(world: World) -> None:
    world.add_nodes(make_node("a", cpu="4"))
    group = world.add_group("g", 1, min_resources={"cpu": "2"})
    [driver] = world.add(make_member("driver", "g"))
    await world.settle()
    world.change_group(group, minResources={"cpu": "400"})
    world.add(make_member("executor", "g"))
    await world.run(1)

    assert world.bound() == [driver]


async def test_members_of_a_recreated_podgroup_are_woken_by_added_capacity_too(make_world: MakeWorld) -> None:
    world = make_world({"deniedPGExpirationTimeSeconds": 0})
    world.add_nodes(make_node("a", cpu="2"))
    group = world.add_group("g", 2)
    world.add(*make_members("g", 2, cpu="2"))
    await world.settle()
    world.api.delete("podgroups", group)
    world.add_group("g", 2, min_resources={"cpu": "4"})
    await world.run(5)
    world.add_nodes(make_node("b", cpu="2"))
    await world.settle()

    assert len(world.bound()) == 2
