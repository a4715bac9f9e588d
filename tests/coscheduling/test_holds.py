"""A held group: none of its pods is started, each says why, and a resume starts it at once."""

from muster.framework.groups.holds import HOLD
from muster.plugins.reservation.plugin import reserved_in
from muster.testing import VirtualScheduler, configuration_of
from tests.builders import make_node, make_pod
from tests.coscheduling.conftest import MakeWorld
from tests.coscheduling.objects import make_group, make_members
from tests.coscheduling.world import World
from tests.reservation.leaders import Leaders

HELD = "pod group default/g is held: rack 4 moves"
GATED = ("SchedulingGated", HELD, None)
POD_BY_POD = {"placement": "PodByPod"}


def hold(world: VirtualScheduler, group: str = "default/g", reason: str = "rack 4 moves") -> None:
    world.api.change(
        "podgroups", group, lambda found: found["metadata"].setdefault("annotations", {}).update({HOLD: reason})
    )


def resume(world: VirtualScheduler, group: str = "default/g") -> None:
    world.api.change("podgroups", group, lambda found: found["metadata"]["annotations"].pop(HOLD))


def held_world(world: World, count: int = 3) -> list[str]:
    """A held group of three with so many pods, for which there is capacity."""
    world.add_nodes(make_node("a"))
    world.add_group("g", 3, annotations={HOLD: "rack 4 moves"})
    return world.add(*make_members("g", count))


async def test_the_pods_of_a_held_group_are_gated_and_say_so_in_event_and_condition(world: World) -> None:
    keys = held_world(world)
    await world.run(600)

    assert world.bound() == []
    assert world.places() == {"gated": 3}
    assert world.engine.queue.contents.counts()["gated"] == 3
    assert [world.notes(key) for key in keys] == [[HELD]] * 3
    assert [world.conditions[key] for key in keys] == [GATED] * 3


async def test_a_resumed_group_is_started_at_once(world: World) -> None:
    keys = held_world(world)
    await world.run(600)
    resume(world)
    await world.settle()

    assert world.bound() == keys
    world.check()


async def test_other_pods_are_placed_while_a_group_is_held(world: World) -> None:
    held_world(world)
    [other] = world.add(make_pod("other").requests(cpu="1"))
    await world.settle()

    assert world.bound() == [other]


async def test_a_group_that_waits_for_capacity_is_gated_when_it_is_held(world: World) -> None:
    world.add_nodes(make_node("a", cpu="2"))
    world.add_group("g", 3)
    keys = world.add(*make_members("g", 3))
    await world.settle()
    assert world.conditions[keys[0]][0] == "Unschedulable"

    hold(world)
    await world.run(5)
    assert world.places() == {"gated": 3}
    assert [world.conditions[key] for key in keys] == [GATED] * 3

    world.add_nodes(make_node("b"))
    await world.run(60)
    assert world.bound() == []


async def test_a_resumed_group_without_capacity_gets_its_former_reason_back(world: World) -> None:
    world.add_nodes(make_node("a", cpu="2"))
    world.add_group("g", 3)
    [key, *_] = world.add(*make_members("g", 3))
    await world.settle()
    before = world.conditions[key]
    hold(world)
    await world.run(60)
    resume(world)
    await world.settle()

    assert world.conditions[key] == before


async def test_a_group_that_is_about_to_be_tried_when_it_is_held_is_not_started(world: World) -> None:
    world.add_nodes(make_node("a"))
    world.add_group("g", 3)
    keys = world.add(*make_members("g", 3))
    assert world.places() == {"active": 3}
    hold(world)
    await world.run(5)

    assert world.bound() == []
    assert world.places() == {"gated": 3}
    assert [world.conditions[key] for key in keys] == [GATED] * 3


async def test_a_group_in_backoff_is_gated_when_it_is_held(world: World) -> None:
    world.add_nodes(make_node("a", cpu="2"))
    world.add_group("g", 3)
    keys = world.add(*make_members("g", 3))
    await world.settle()
    world.add_nodes(make_node("b", cpu="1"))
    assert world.places() == {"backoff": 3}
    hold(world)
    await world.settle()

    assert world.places() == {"gated": 3}
    assert world.conditions[keys[0]] == GATED
    assert world.bound() == []


async def test_running_pods_of_a_held_group_stay_and_further_ones_wait(world: World) -> None:
    world.add_nodes(make_node("a"))
    world.add_group("g", 2)
    running = world.add(*make_members("g", 2))
    await world.settle()
    hold(world)
    [late] = world.add(*make_members("g", 3)[2:])
    await world.run(600)

    assert world.bound() == running
    assert world.conditions[late] == GATED

    resume(world)
    await world.settle()
    assert world.bound() == [*running, late]
    world.check()


async def test_a_further_pod_that_is_about_to_be_tried_when_its_group_is_held_is_not_started(world: World) -> None:
    world.add_nodes(make_node("a"))
    world.add_group("g", 2)
    world.add(*make_members("g", 2))
    await world.settle()
    [late] = world.add(*make_members("g", 3)[2:])
    hold(world)
    await world.run(5)

    assert world.node_of(late) == ""
    assert world.places() == {"gated": 1}
    assert world.conditions[late] == GATED


async def test_pods_that_wait_at_permit_give_their_nodes_back_when_their_group_is_held(make_world: MakeWorld) -> None:
    world = make_world({**POD_BY_POD, "podGroupRejectPercentage": 100})
    world.add_nodes(make_node("a", cpu="1"))
    world.add_group("g", 2)
    keys = world.add(*make_members("g", 2))
    await world.settle()
    assert len(world.engine.waiting_pods) == 1

    hold(world)
    await world.settle()
    assert len(world.engine.waiting_pods) == 0
    assert world.engine.cache.assumed_count == 0
    assert world.places() == {"gated": 2}
    assert [world.conditions[key] for key in keys] == [GATED] * 2

    world.add_nodes(make_node("b", cpu="1"))
    await world.run(60)
    assert world.bound() == []
    resume(world)
    await world.run(5)
    assert world.bound() == keys
    world.check()


async def test_a_hold_with_another_reason_is_reported_again_and_with_the_same_one_is_not(world: World) -> None:
    [key, *_] = held_world(world)
    await world.settle()
    hold(world)
    world.change_group("default/g", minMember=2)
    await world.settle()
    assert world.notes(key) == [HELD]

    hold(world, reason="rack 5 moves")
    await world.settle()
    assert world.notes(key) == [HELD, HELD.replace("4", "5")]


async def test_a_denied_group_that_is_held_and_resumed_is_tried_at_once(make_world: MakeWorld) -> None:
    world = make_world({"deniedPGExpirationTimeSeconds": 600})
    world.add_nodes(make_node("a", cpu="2"))
    world.add_group("g", 3, min_resources={"cpu": "3"})
    keys = world.add(*make_members("g", 3))
    await world.settle()
    hold(world)
    world.add_nodes(make_node("b"))
    await world.settle()
    resume(world)
    await world.settle()

    assert world.bound() == keys


async def test_a_process_that_does_not_lead_reports_held_pods_when_it_leads(world: World) -> None:
    reporting = False
    world.may_report = lambda: reporting
    keys = held_world(world)
    said = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "message": HELD}
    world.api.change("pods", keys[0], lambda pod: pod.update(status={"conditions": [said]}))
    world.delete(keys[1])
    await world.run(60)
    assert world.conditions == {}

    reporting = True
    await world.run(2)
    assert world.conditions == {keys[2]: GATED}


async def test_a_pod_that_another_scheduler_bound_meanwhile_is_not_reported(world: World) -> None:
    reporting = False
    world.may_report = lambda: reporting
    [key, *_] = held_world(world)
    await world.settle()
    world.api.change("pods", key, lambda pod: pod["spec"].update(nodeName="a"))
    reporting = True
    await world.run(5)

    assert key not in world.conditions


async def test_the_podgroup_of_held_pods_that_goes_is_named_in_their_conditions(world: World) -> None:
    [key, *_] = held_world(world)
    await world.settle()
    world.api.delete("podgroups", "default/g")
    await world.run(5)

    missing = 'waiting for pods\'s pod group "g" to appear in scheduling queue'
    assert world.conditions[key] == ("SchedulingGated", missing, None)


async def test_a_held_group_counts_as_none_that_waits(world: World) -> None:
    held_world(world)
    await world.run(60)
    assert world.groups.waits() == []

    resume(world)
    world.api.delete("nodes", "a")
    await world.settle()
    assert len(world.groups.waits()) == 1


async def test_a_reservation_ends_when_its_group_is_held() -> None:
    world = VirtualScheduler(
        configuration=configuration_of(["Coscheduling", "Reservation"], args={"Reservation": {"afterSeconds": 10}})
    )
    world.add_nodes(make_node("a", cpu="2"), make_node("b", cpu="2"))
    pods = [make_pod(f"p{number}").requests(cpu="1").node("a") for number in range(2)]
    world.add(*(pod.annotations({"muster-scheduler.io/run-seconds": "300"}) for pod in pods))
    world.api.put("podgroups", make_group("g", 4))
    world.add(*make_members("g", 4))
    await world.run(60)
    assert len(reserved_in(world.engine.shared)) == 1

    hold(world)
    await world.run(5)
    assert reserved_in(world.engine.shared) == ()
    [other] = world.add(make_pod("other").requests(cpu="2"))
    await world.settle()
    assert world.node_of(other) == "b"


async def test_the_wait_for_a_reservation_begins_when_the_group_is_resumed() -> None:
    world = Leaders(
        configuration=configuration_of(["Coscheduling", "Reservation"], args={"Reservation": {"afterSeconds": 100}})
    )
    world.add_nodes(make_node("a", cpu="2"), make_node("b", cpu="2"))
    pods = [make_pod(f"p{number}").requests(cpu="1").node("a") for number in range(2)]
    world.add(*(pod.annotations({"muster-scheduler.io/run-seconds": "9000"}) for pod in pods))
    world.api.put("podgroups", make_group("g", 4, annotations={HOLD: ""}))
    world.add(*make_members("g", 4))
    await world.run(600)
    resume(world)
    await world.run(60)
    assert reserved_in(world.engine.shared) == ()
    await world.run(60)
    assert len(reserved_in(world.engine.shared)) == 1


async def test_a_nomination_ends_when_its_group_is_held(world: World) -> None:
    world.add_nodes(make_node("a", cpu="2"))
    world.add_group("g", 3)
    [first, *_] = world.add(*make_members("g", 3))
    await world.settle()
    world.api.change("pods", first, lambda pod: pod.setdefault("status", {}).update(nominatedNodeName="a"))
    [uid] = [pod["metadata"]["uid"] for key, pod in world.api.pods.items() if key == first]
    assert world.engine.nominator.nominated_node(uid) == "a"
    hold(world)
    await world.run(5)

    assert world.engine.nominator.nominated_node(uid) == ""


async def test_a_large_group_is_gated_and_resumed_as_a_whole(world: World) -> None:
    count = 300
    world.add_nodes(*(make_node(f"n{number}", cpu="100") for number in range(4)))
    world.add_group("g", count)
    world.add(*make_members("g", count))
    hold(world)
    await world.run(5)
    assert world.places() == {"gated": count}
    assert {*world.conditions.values()} == {GATED}

    resume(world)
    await world.settle()
    assert len(world.bound()) == count
    world.check()
