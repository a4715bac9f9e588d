"""Invalid or odd PodGroups and labels harm no group but their own."""

import pytest

from muster.framework.contract.events import ASSIGNED_POD_ADD, UNSCHEDULED_POD_ADD
from tests.builders import make_node, make_pod
from tests.coscheduling.conftest import MakeWorld
from tests.coscheduling.objects import make_group, make_member, make_members, typed_group
from tests.coscheduling.world import World


@pytest.fixture
def large_world(world: World) -> World:
    """A world with capacity for a hundred pods."""
    world.add_nodes(make_node("a", cpu="100"))
    return world


@pytest.mark.parametrize("min_member", [None, 0, -3])
async def test_a_minmember_of_nothing_lets_every_member_go_by_itself(
    large_world: World, min_member: int | None
) -> None:
    large_world.add_group("g", min_member)
    large_world.add(*make_members("g", 2))
    await large_world.settle()

    assert len(large_world.bound("g")) == 2
    large_world.check()


@pytest.mark.parametrize("seconds", [0, -1, -(2**31)])
async def test_a_timeout_of_nothing_is_none(large_world: World, seconds: int) -> None:
    large_world.add_group("g", 2, timeout=seconds)

    assert large_world.groups.wait_seconds("default/g") == 60


async def test_a_timeout_of_nothing_is_the_one_of_the_configuration(make_world: MakeWorld) -> None:
    """Pod by pod, since no member of a gang that is placed whole waits for long."""
    world = make_world({"placement": "PodByPod", "permitWaitingTimeSeconds": 2, "podGroupRejectPercentage": 100})
    world.add_nodes(make_node("a", cpu="2"))
    world.add_group("g", 3, timeout=0)
    keys = world.add(*make_members("g", 3))
    await world.run(3)
    timed_out = "rejected due to timeout after waiting 2s at plugin Coscheduling"
    assert any(timed_out in note for key in keys for note in world.notes(key))
    assert world.bound() == []

    world.add_nodes(make_node("b", cpu="1"))
    await world.run(30)
    assert len(world.bound("g")) == 3


async def test_a_timeout_that_never_ends_ends_after_a_quarter_of_an_hour(large_world: World) -> None:
    large_world.add_group("g", 2, timeout=2**31 - 1)

    assert large_world.groups.wait_seconds("default/g") == 900


async def test_a_group_with_an_unreachable_min_member_waits_and_delays_no_other_pod(large_world: World) -> None:
    large_world.add_group("g", 2**31 - 1)
    large_world.add(*make_members("g", 3))
    [other] = large_world.add(make_pod("other"))
    await large_world.run(60)

    assert large_world.bound() == [other]


@pytest.mark.parametrize("amount", ["", "a lot", "1e", "--1", "1 Gi", "0x10"])
async def test_quantities_that_cannot_be_read_are_the_groups_own_trouble(large_world: World, amount: str) -> None:
    large_world.add_group("broken", 1, min_resources={"memory": amount})
    large_world.add_group("fine", 1, min_resources={"memory": "1Gi"})
    [broken] = large_world.add(make_member("b", "broken"))
    [fine] = large_world.add(make_member("f", "fine"))
    await large_world.run(60)

    assert large_world.bound() == [fine]
    assert "spec.minResources: " in large_world.notes(broken)[-1]
    large_world.change_group("default/broken", minResources={"memory": "1Gi"})
    await large_world.settle()
    assert large_world.node_of(broken) == "a"


async def test_amounts_below_nothing_ask_for_nothing(large_world: World) -> None:
    large_world.add_group("g", 1, min_resources={"cpu": "-5", "memory": 0})
    [key] = large_world.add(make_member("p", "g"))
    await large_world.settle()

    assert large_world.node_of(key) == "a"


async def test_resources_that_no_node_has_are_missing_in_full(large_world: World) -> None:
    large_world.add_group("g", 1, min_resources={"example.com/quantum": 2})
    [key] = large_world.add(make_member("p", "g"))
    await large_world.run(5)

    assert large_world.notes(key)[-1].startswith("0/1 nodes are available: resource gap: map[example.com/quantum:2].")


async def test_a_podgroup_without_a_spec_is_one_that_asks_for_nothing() -> None:
    group = make_group("g")
    del group["spec"]

    assert typed_group(group).spec.min_member == 0


async def test_fields_that_muster_does_not_know_are_passed_over() -> None:
    group = make_group("g", 3)
    group["spec"]["preemptionPolicy"] = "Never"
    group["status"] = {"phase": "Running", "running": 3, "somethingElse": {}}

    assert typed_group(group).spec.min_member == 3


async def test_pods_of_another_scheduler_with_the_label_are_never_touched(large_world: World) -> None:
    large_world.add_group("g", 2)
    large_world.add(*(pod.scheduler("somebody-else") for pod in make_members("g", 5)))
    await large_world.run(60)

    assert large_world.bound() == []
    assert large_world.events == []
    assert len(large_world.groups.waits()) == 1


async def test_a_label_with_odd_characters_is_just_a_name(large_world: World) -> None:
    name = "a.b-c_D" * 9
    large_world.add_group(name, 1)
    [key] = large_world.add(make_member("p", name))
    await large_world.settle()

    assert large_world.node_of(key) == "a"


async def test_ten_thousand_podgroups_without_pods_leave_scheduling_as_it_is(make_world: MakeWorld) -> None:
    world = make_world()
    world.add_nodes(make_node("a", cpu="100"))
    for number in range(10_000):
        world.add_group(f"empty-{number}", 3, min_resources={"cpu": "1"})
    world.add_group("g", 3, min_resources={"cpu": "3"})
    world.add(*make_members("g", 3), make_pod("other"))
    await world.settle()

    assert len(world.bound()) == 4
    assert world.groups.waits() == []
    for number in range(10_000):
        world.api.delete("podgroups", f"default/empty-{number}")
    assert [*world.groups] == ["default/g"]


async def test_a_thousand_gangs_that_wait_for_members_are_not_tried_while_others_are_bound(
    make_world: MakeWorld,
) -> None:
    world = make_world()
    attempts = world.metrics.podgroup_schedule_attempts
    world.add_nodes(*(make_node(f"n-{number}", cpu="100") for number in range(10)))
    for number in range(1000):
        world.add_group(f"g-{number}", 2)
        world.add(make_member(f"g-{number}-0", f"g-{number}"))
    await world.run(2)
    before = attempts.total()
    keys = world.add(*(make_pod(f"p-{number}") for number in range(500)))
    await world.run(60)

    assert set(keys) <= set(world.bound())
    assert attempts.total() == before


async def test_a_thousand_pods_that_wait_for_a_podgroup_are_not_asked_about_each_other(make_world: MakeWorld) -> None:
    """The plugin is notified of a new pod, so gated pods need not be asked whether it helps them."""
    registered = make_world().plugin().events_to_register()

    assert not any(registration.event.matches(UNSCHEDULED_POD_ADD) for registration in registered)
    assert not any(registration.event.matches(ASSIGNED_POD_ADD) for registration in registered)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (900, "map[cpu:1 example.com/r0:1 example.com/r1:1 example.com/r10:1 example.com/r100:1 example.com/r101:1"),
        (2000, "spec.minResources: too many resources: 2001, at most 1000"),
    ],
)
async def test_unknown_resources_are_lacking_and_delay_no_other_pod(large_world: World, names: int, said: str) -> None:
    columns = [*large_world.engine.cache.snapshot.resources.names]
    made_up = {f"example.com/r{number}": "1" for number in range(names)}
    large_world.add_group("g", 1, min_resources={"cpu": "1000", **made_up})
    [key, other] = large_world.add(make_member("g-0", "g"), make_pod("other"))
    await large_world.settle()

    assert large_world.node_of(other)
    [note] = large_world.notes(key)
    assert said.removeprefix("map[cpu:1") in note
    assert len(note) < 1024
    assert large_world.engine.cache.snapshot.resources.names == columns


async def test_members_with_different_requests_are_still_checked_in_sum(large_world: World) -> None:
    large_world.add_group("g", 60, min_resources={"cpu": "1000"})
    members = make_members("g", 60)
    for number, member in enumerate(members):
        member.node_selector({f"key-{number}": "value"})
    [first, *_] = large_world.add(*members)
    await large_world.settle()

    assert "resource gap: map[cpu:" in large_world.notes(first)[0]
