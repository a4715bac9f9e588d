"""Members and PodGroups that come late, in pieces, in any order: the gang starts with the one that completes it."""

import pytest

from tests.builders import make_node
from tests.coscheduling.announced import word
from tests.coscheduling.conftest import MakeWorld
from tests.coscheduling.objects import make_members
from tests.coscheduling.world import World


@pytest.mark.parametrize("placement", ["Transaction", "PodByPod"])
@pytest.mark.parametrize("members", [3, 30])
async def test_members_that_trickle_in_start_with_the_last_one(
    make_world: MakeWorld, placement: str, members: int
) -> None:
    world = make_world({"placement": placement})
    world.add_nodes(make_node("a", cpu="100"))
    world.add_group("g", members)
    for pod in make_members("g", members):
        await world.run(30 / members)
        assert world.bound() == []
        world.add(pod)
    await world.settle()

    assert len(world.bound("g")) == members


async def test_a_podgroup_that_comes_after_its_pods_starts_them_at_once(world: World) -> None:
    world.add_nodes(make_node("a", cpu="100"))
    for pod in make_members("g", 10):
        world.add(pod)
        await world.run(3)
    world.add_group("g", 10)
    await world.settle()

    assert len(world.bound("g")) == 10


async def test_a_podgroup_that_comes_between_its_pods_starts_them_with_the_last(world: World) -> None:
    world.add_nodes(make_node("a", cpu="100"))
    pods = make_members("g", 10)
    world.add(*pods[:5])
    await world.run(10)
    world.add_group("g", 10)
    await world.run(10)
    assert world.bound() == []
    [*_, last] = world.add(*pods[5:])
    await world.settle()

    assert len(world.bound("g")) == 10
    assert world.notes(last) == []


async def test_members_that_come_while_others_wait_get_the_latest_number_within_half_a_minute(
    world: World,
) -> None:
    world.add_nodes(make_node("a", cpu="100"))
    world.add_group("g", 5)
    keys = []
    for pod in make_members("g", 4):
        keys += world.add(pod)
        await world.run(2)
    await world.run(30)

    for key in keys:
        name = key.partition("/")[2]
        assert world.notes(key)[-1] == (
            f"0/1 nodes are available: pre-filter pod {name} cannot find enough sibling pods, "
            "current pods number: 4, minMember of group: 5."
        )
        assert world.conditions[key][:2] == ("WaitingForPods", world.notes(key)[-1])


async def test_members_that_come_fast_are_not_reported_for_each_of_them(world: World) -> None:
    world.add_nodes(make_node("a", cpu="100"))
    world.add_group("g", 10)
    for pod in make_members("g", 10):
        world.add(pod)
        await world.run(0.05)

    assert len(world.bound("g")) == 10
    assert [event for event in world.events if event[1] == "FailedScheduling"] == []


async def test_members_that_come_slowly_do_not_keep_each_other_from_being_reported(world: World) -> None:
    world.add_nodes(make_node("a", cpu="100"))
    world.add_group("g", 200)
    for pod in make_members("g", 10):
        world.add(pod)
        await world.run(0.3)

    assert "current pods number: 2, minMember of group: 200." in world.notes("default/g-0")[0]


async def test_a_large_incomplete_gang_is_checked_rarely_and_tried_at_once_when_it_is_complete() -> None:
    world = World()
    attempts = world.metrics.podgroup_schedule_attempts
    world.add_nodes(make_node("a", cpu="1000", pods="1000"))
    world.add_group("g", 320)
    world.add(*make_members("g", 300))
    await world.settle()
    before = attempts.total()
    for pod in make_members("g", 319)[300:]:
        world.add(pod)
        await world.run(0.3)
    assert attempts.total() - before <= 4

    world.add(make_members("g", 320)[319])
    await world.settle()
    assert len(world.bound("g")) == 320


async def test_a_postponed_report_is_dropped_with_a_pod_that_is_gone(world: World) -> None:
    world.add_nodes(make_node("a"))
    world.add_group("g", 2)
    [key] = world.add(make_members("g", 1)[0])
    await world.run(0.5)
    world.delete(key)
    await world.run(5)

    assert world.events == []
    assert world.conditions == {}


async def test_a_postponed_report_is_dropped_when_the_pod_is_being_bound(world: World) -> None:
    world.add_nodes(make_node("a"))
    world.add_group("g", 2)
    pods = make_members("g", 2)
    world.add(pods[0])
    await world.run(0.9)
    world.binder.latency = lambda: 5.0
    world.add(pods[1])
    await world.run(20)

    assert [reason for _, reason, _ in world.events] == ["Scheduled", "Scheduled"]
    assert world.conditions == {}


async def test_members_of_one_gang_may_name_several_schedulers_of_ours(make_world: MakeWorld) -> None:
    world = make_world(names=("muster", "scheduler-plugins-scheduler"))
    world.add_nodes(make_node("a", cpu="100"))
    world.add_group("g", 4)
    pods = make_members("g", 4)
    for pod in pods[2:]:
        pod.scheduler("scheduler-plugins-scheduler")
    world.add(*pods)
    await world.settle()

    assert len(world.bound("g")) == 4
    world.check()


async def test_members_that_come_one_by_one_to_a_gang_that_runs_are_bound_one_by_one(world: World) -> None:
    world.add_nodes(make_node("a", cpu="4"))
    world.add_group("g", 2)
    pods = make_members("g", 6)
    world.add(*pods[:2])
    await world.settle()
    for number, pod in enumerate(pods[2:], start=3):
        world.add(pod)
        await world.settle()
        assert len(world.bound("g")) == min(number, 4)


async def test_of_more_members_than_needed_as_many_start_as_fit(world: World) -> None:
    world.add_nodes(make_node("a", cpu="5"))
    world.add_group("g", 3)
    world.add(*make_members("g", 8))
    await world.settle()
    assert len(world.bound("g")) == 5

    world.add_nodes(make_node("b", cpu="3"))
    await world.run(15)
    assert len(world.bound("g")) == 8
    world.check()


async def test_370_pods_start_in_one_go_on_400_nodes(world: World) -> None:
    world.add_nodes(*(make_node(f"n-{number}", cpu="1") for number in range(400)))
    world.add_group("g", 370)
    *most, last = make_members("g", 370)
    world.add(*most)
    await world.run(60)
    assert word(world, "g") == ("WaitingForPods", "369 of 370 pods exist")
    assert world.bound() == []
    world.add(last)
    before = world.clock.now()
    await world.settle()

    assert world.clock.now() == before
    assert len({world.node_of(key) for key in world.bound("g")}) == len(world.bound("g")) == 370
    assert world.notes("default/g-369") == []
    world.check()
