"""Pods and gangs on nodes with zones: placed, kept until a report includes them, and waiting for what helps."""

from muster.testing import VirtualScheduler, configuration_of
from tests.builders import make_node, make_pod
from tests.noderesourcetopology.objects import RESTRICTED
from tests.noderesourcetopology.world import PLUGIN, NumaWorld, pod


async def test_a_pod_waits_while_no_zone_has_room_although_the_node_has() -> None:
    world = NumaWorld()
    world.report("n0", "3", "3")
    [key] = world.come("p")
    await world.settle()
    assert world.message(key).startswith("0/1 nodes are available: 1 cannot align container.")


async def test_the_message_names_the_pod_where_the_pod_is_aligned_as_a_whole() -> None:
    world = NumaWorld()
    world.report("n0", "3", "3", scope="pod")
    [key] = world.come("p")
    await world.settle()
    assert world.message(key).startswith("0/1 nodes are available: 1 cannot align pod.")


async def test_a_report_with_room_wakes_a_pod_that_waits() -> None:
    world = NumaWorld()
    world.report("n0", "3", "3")
    [key] = world.come("p")
    await world.settle()
    world.report("n0", "3", "4")
    await world.run(2.0)
    assert world.node_of(key) == "n0"


async def test_a_report_that_brings_no_room_wakes_no_pod() -> None:
    world = NumaWorld()
    world.report("n0", "3", "3")
    [key] = world.come("p")
    await world.settle()
    world.report("n0", "3", "2")
    await world.run(20.0)
    [line] = world.engine.queue.contents.dump()
    assert (line.pod, line.attempts) == (key, 1)


async def test_a_placed_pod_counts_until_a_report_includes_it() -> None:
    world = NumaWorld()
    world.report("n0", "4", "2")
    [first] = world.come("first")
    await world.settle()
    [second] = world.come("second")
    await world.settle()
    assert world.nodes_of(first, second) == ["n0", ""]
    world.report("n0", "4", "2", taken=("0", "4"))  # it got its cpus elsewhere
    await world.run(2.0)
    assert world.node_of(second) == "n0"


async def test_a_report_from_before_a_placement_does_not_include_it() -> None:
    world = NumaWorld()
    world.report("n0", "4", "2", pods=[])
    world.come("first")
    await world.settle()
    world.report("n0", "4", "2", pods=[])
    [second] = world.come("second")
    await world.run(20.0)
    assert world.node_of(second) == ""


async def test_placed_pods_are_known_after_a_restart() -> None:
    world = NumaWorld()
    world.report("n0", "4", "2", pods=[])
    world.come("first")
    await world.settle()
    await world.kill()
    world.start()
    [second] = world.come("second")
    await world.settle()
    assert world.node_of(second) == ""


async def test_a_pod_that_leaves_before_a_report_included_it_gives_all_back() -> None:
    world = NumaWorld()
    world.report("n0", "4", "2")
    [first] = world.come("first")
    await world.settle()
    [second] = world.come("second")
    await world.settle()
    world.delete(first)
    await world.run(2.0)
    assert world.node_of(second) == "n0"


async def test_a_gang_fills_all_zones_of_a_node_at_once() -> None:
    world = NumaWorld()
    world.report("n0", "4", "4")
    keys = world.gang("g", 4, cpu="2")
    await world.settle()
    assert world.nodes_of(*keys) == ["n0"] * 4


async def test_a_gang_waits_as_a_whole_if_its_last_member_might_find_no_zone() -> None:
    world = NumaWorld()
    world.report("n0", "5", "5")  # six members would fit the sum, two each zone
    keys = world.gang("g", 5, cpu="2")
    await world.settle()
    assert world.nodes_of(*keys) == [""] * 5


async def test_a_gang_fills_the_zones_of_a_restricted_node_where_one_zone_can_hold_a_member() -> None:
    world = NumaWorld()
    world.report("n0", "4", "4", policy=RESTRICTED)
    keys = world.gang("g", 4, cpu="2")
    await world.settle()
    assert world.nodes_of(*keys) == ["n0"] * 4


async def test_members_of_a_gang_that_span_zones_count_in_every_zone_of_a_restricted_node() -> None:
    world = NumaWorld()
    world.report("n0", "4", "4", "4", policy=RESTRICTED)
    keys = world.gang("g", 2, cpu="5", memory="17Gi")
    [alone] = world.gang("alone", 1, cpu="5", memory="17Gi")
    await world.settle()
    assert world.nodes_of(*keys, alone) == ["", "", "n0"]


async def test_a_pending_pod_that_spans_zones_leaves_no_zone_for_sure() -> None:
    world = NumaWorld()
    world.report("n0", "4", "4", policy=RESTRICTED)
    [first] = world.gang("first", 1, cpu="5", memory="17Gi")
    await world.settle()
    [second] = world.come("second", cpu="3")  # of four and four cpus, two and three may be taken
    await world.settle()
    assert world.nodes_of(first, second) == ["n0", ""]


async def test_evictions_give_a_zone_back_what_no_other_zone_can_have_given() -> None:
    world = NumaWorld()
    [low] = world.come("low")
    await world.settle()
    world.report("n0", "0", "3", taken=("4", "1"))
    [high] = world.come("high", priority=10)
    await world.run(1.0)
    assert world.evicted == [low]
    assert "cannot align container" in world.message(high)  # until it has gone


async def test_no_pod_is_evicted_if_its_zone_is_not_known() -> None:
    world = NumaWorld()
    [low] = world.come("low", cpu="2")
    world.come("other", cpu="2", priority=20)
    await world.settle()
    world.report("n0", "2", "2", taken=("2", "2"))  # it may be in either zone
    [high] = world.come("high", priority=10, cpu="3")
    await world.run(20.0)
    assert (world.evicted, world.nodes_of(low, high)) == ([], ["n0", ""])


async def test_evicting_all_pods_of_a_node_frees_all_its_zones() -> None:
    world = NumaWorld()
    low = world.come("a", "b", cpu="2")
    await world.settle()
    world.report("n0", "2", "2", taken=("2", "2"))
    world.come("high", priority=10, cpu="3")
    await world.run(1.0)
    assert sorted(world.evicted) == low


async def test_a_gang_evicts_what_frees_a_zone_for_sure() -> None:
    world = NumaWorld()
    low = world.come("a", "b")
    await world.settle()
    world.report("n0", "0", "0", taken=("4", "4"))
    keys = world.gang("g", 2, priority=10)
    await world.run(5.0)
    world.report("n0", "4", "4")
    await world.run(30.0)
    assert sorted(world.evicted) == low
    assert world.nodes_of(*keys) == ["n0", "n0"]


async def test_a_node_is_left_alone_while_a_pod_is_being_bound_to_it_if_arguments_say_so() -> None:
    world = NumaWorld(discardReservedNodes=True)
    world.report("n0", "4", "4")
    world.binder.latency = lambda: 5.0
    [first] = world.come("first", cpu="1")
    world.step()
    [second] = world.come("second", cpu="1")
    await world.settle()
    assert world.message(second).startswith("0/1 nodes are available: 1 invalid node topology data.")
    await world.run(30.0)
    assert world.nodes_of(first, second) == ["n0", "n0"]


async def test_a_pod_that_requests_nothing_is_placed_anywhere() -> None:
    world = NumaWorld()
    world.report("n0", "0", "0")
    [key] = world.add(make_pod("idle"))
    await world.settle()
    assert world.node_of(key) == "n0"


async def test_without_objects_decisions_are_those_of_a_profile_without_the_plugin() -> None:
    placed = []
    for plugins in (("Coscheduling", PLUGIN), ("Coscheduling",)):
        world = VirtualScheduler(configuration=configuration_of(plugins), seed=3)
        world.add_nodes(*(make_node(f"n{number}", cpu=str(2 + number % 3)) for number in range(6)))
        keys = world.add(*(pod(f"p{number}", cpu=str(1 + number % 2)) for number in range(14)))
        await world.settle()
        placed.append([world.node_of(key) for key in keys])
    assert placed[0] == placed[1]
