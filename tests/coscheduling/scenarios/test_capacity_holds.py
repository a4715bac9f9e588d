"""Gangs that exist through minResources only, as Spark's: a driver first, executors when it runs."""

import pytest

from tests.builders import PodDict, make_node, make_pod
from tests.coscheduling.conftest import MakeWorld
from tests.coscheduling.objects import make_member, make_members
from tests.coscheduling.world import World


def executors(app: str, count: int, cpu: str = "1") -> list[dict[str, object]]:
    """Executors of an application."""
    return [make_member(f"{app}-exec-{number}", app, cpu=cpu) for number in range(count)]


def two_apps(world: World) -> None:
    """Two applications of which each asks for 6 of 10 cores."""
    world.add_nodes(make_node("a", cpu="5"), make_node("b", cpu="5"))
    for app in ("one", "two"):
        world.add_group(app, 1, min_resources={"cpu": "6", "memory": "1Gi"})


async def test_the_second_driver_waits_while_the_executors_of_the_first_are_coming(world: World) -> None:
    two_apps(world)
    world.add(make_member("one-driver", "one"))
    [second] = world.add(make_member("two-driver", "two"))
    await world.run(10)
    assert world.bound() == ["default/one-driver"]
    assert world.notes(second)[-1] == "0/2 nodes are available: resource gap: map[cpu:2]."

    world.add(*executors("one", 5))
    await world.run(5)
    assert len(world.bound("one")) == 6
    assert world.bound("two") == []


async def test_the_second_app_starts_when_the_first_has_ended(world: World) -> None:
    two_apps(world)
    world.add(make_member("one-driver", "one"), make_member("two-driver", "two"))
    await world.settle()
    world.add(*executors("one", 5))
    await world.run(100)
    for key in world.bound("one"):
        world.set_phase(key, "Succeeded")
    await world.run(5)

    assert world.bound("two") == ["default/two-driver"]
    world.add(*executors("two", 5))
    await world.settle()
    assert len(world.bound("two")) == 6


async def test_min_resources_are_kept_for_executors_for_as_long_as_permit_would_wait(make_world: MakeWorld) -> None:
    world = make_world({"permitWaitingTimeSeconds": 30})
    two_apps(world)
    world.add(make_member("one-driver", "one"), make_member("two-driver", "two"))
    await world.run(29)
    assert world.bound("two") == []

    await world.run(10)
    assert len(world.bound("two")) == 1


async def test_each_executor_that_comes_makes_the_time_begin_anew(make_world: MakeWorld) -> None:
    world = make_world({"permitWaitingTimeSeconds": 30})
    two_apps(world)
    world.add(make_member("one-driver", "one"), make_member("two-driver", "two"))
    for pod in executors("one", 4):
        await world.run(25)
        world.add(pod)
    await world.run(5)

    assert world.bound("two") == []
    assert len(world.bound("one")) == 5


async def test_pods_without_minresources_may_use_what_is_kept(world: World) -> None:
    two_apps(world)
    world.add(make_member("one-driver", "one"))
    await world.settle()
    keys = world.add(make_pod("p").requests(cpu="4"), make_pod("q").requests(cpu="4"))
    await world.settle()

    assert set(keys) <= set(world.bound())


async def test_an_app_that_has_all_its_resources_keeps_nothing_from_others(world: World) -> None:
    world.add_nodes(make_node("a", cpu="12"))
    for app in ("one", "two"):
        world.add_group(app, 1, min_resources={"cpu": "6"})
    world.add(make_member("one-driver", "one"), *executors("one", 5))
    await world.settle()
    world.add(make_member("two-driver", "two"))
    await world.settle()

    assert world.bound("two") == ["default/two-driver"]


async def test_executors_that_have_ended_are_not_expected_again(world: World) -> None:
    world.add_nodes(make_node("a", cpu="12"))
    for app in ("one", "two", "three"):
        world.add_group(app, 1, min_resources={"cpu": "6"})
    keys = world.add(make_member("one-driver", "one"), *executors("one", 5))
    await world.settle()
    world.add(make_member("two-driver", "two"), *executors("two", 5))
    await world.settle()
    assert len(world.bound("two")) == 6
    for key in keys[1:]:
        world.set_phase(key, "Succeeded")
    world.change_group("default/three", minResources={"cpu": "5"})
    world.add(make_member("three-driver", "three"))
    await world.settle()

    assert world.bound("three") == ["default/three-driver"]


async def test_three_apps_start_as_far_as_their_resources_go(world: World) -> None:
    world.add_nodes(make_node("a", cpu="12"))
    for app in ("one", "two", "three"):
        world.add_group(app, 1, min_resources={"cpu": "5"})
    world.add(*(make_member(f"{app}-driver", app) for app in ("one", "two", "three")))
    await world.run(10)

    assert len(world.bound()) == 2


async def test_members_that_have_ended_are_not_held_for_although_nobody_looked_while_they_ran(world: World) -> None:
    world.add_nodes(make_node("a", cpu="4"))
    world.add_group("one", 2, min_resources={"cpu": "4"}, timeout=900)
    [first, _] = world.add(make_member("one-0", "one", cpu="2"), make_member("one-1", "one", cpu="2"))
    await world.run(10)
    world.set_phase(first, "Succeeded")
    world.add_group("two", 1, min_resources={"cpu": "2"})
    [waits] = world.add(make_member("two-0", "two", cpu="2"))
    await world.settle()

    assert world.bound("two") == [waits]


@pytest.mark.parametrize("overlap", [True, False])
async def test_the_successor_of_the_last_member_of_a_job_that_is_nearly_done_holds_nothing_for_the_others(
    world: World, overlap: bool
) -> None:
    world.add_nodes(make_node("a", cpu="10"))
    world.add_group("one", 1, min_resources={"cpu": "10"}, timeout=600)
    keys = world.add(*(make_member(f"one-{number}", "one") for number in range(10)))
    await world.settle()
    for key in keys[1:]:
        world.set_phase(key, "Succeeded")
    if overlap:
        world.terminate(keys[0])
    else:
        world.delete(keys[0])
    world.add(make_member("successor", "one"))
    await world.settle()
    assert "default/successor" in world.bound("one")
    world.add_group("two", 1, min_resources={"cpu": "4"})
    world.add(make_member("two-0", "two", cpu="4"))
    await world.settle()

    assert world.bound("two") == ["default/two-0"]


async def test_min_resources_are_not_kept_again_for_an_executor_that_comes_too_late(
    make_world: MakeWorld,
) -> None:
    world = make_world({"permitWaitingTimeSeconds": 30})
    two_apps(world)
    world.add(make_member("one-driver", "one"))
    await world.run(31)
    world.add(*executors("one", 1))
    await world.settle()
    world.add(make_member("two-driver", "two"))
    await world.settle()

    assert world.bound("two") == ["default/two-driver"]


async def test_an_app_whose_driver_lost_its_node_holds_again_when_it_has_another(make_world: MakeWorld) -> None:
    world = make_world({"permitWaitingTimeSeconds": 30})
    two_apps(world)
    world.binder.latency = lambda: 100.0
    world.add(make_member("one-driver", "one"))
    world.api.fail_binding = lambda pod, node: "not now"
    await world.run(101)
    world.api.fail_binding = lambda pod, node: None
    world.binder.latency = lambda: 0.0
    await world.until(lambda: bool(world.bound("one")), within=120)
    [waits] = world.add(make_member("two-driver", "two"))
    await world.run(1)

    assert world.notes(waits) == ["0/2 nodes are available: resource gap: map[cpu:2]."]


def in_pool(pool: str, *pods: PodDict) -> list[PodDict]:
    """Pods that may use the nodes of one pool only."""
    return [pod.node_selector({"pool": pool}) for pod in pods]


async def test_min_resources_that_are_kept_in_one_pool_are_not_missed_in_another(world: World) -> None:
    world.add_nodes(make_node("x", cpu="8").labels(pool="x"), make_node("y", cpu="8").labels(pool="y"))
    world.add_group("one", 1, min_resources={"cpu": "8"})
    world.add_group("two", 2, min_resources={"cpu": "8"})
    world.add(*in_pool("x", make_member("one-driver", "one")))
    await world.settle()
    world.add(*in_pool("y", *make_members("two", 2, cpu="4")))
    await world.settle()

    assert len(world.bound("two")) == 2


async def test_more_is_never_kept_than_is_free(world: World) -> None:
    world.add_nodes(make_node("a", cpu="10"))
    for app in ("one", "two"):
        world.add_group(app, 1, min_resources={"cpu": "2"})
    world.add(make_member("one-driver", "one"), make_member("two-driver", "two"))
    await world.settle()
    world.add(make_pod("other").requests(cpu="7").node("a"))
    world.add_group("three", 1, min_resources={"cpu": "3"})
    [waits] = world.add(make_member("three-driver", "three"))
    await world.settle()

    assert world.notes(waits) == ["0/1 nodes are available: resource gap: map[cpu:3]."]


@pytest.mark.parametrize("expiration", [0, 3, 100])
async def test_a_gang_that_waits_for_kept_min_resources_is_tried_when_they_are_kept_no_more(
    make_world: MakeWorld, expiration: int
) -> None:
    world = make_world({"deniedPGExpirationTimeSeconds": expiration})
    two_apps(world)
    world.add(make_member("one-driver", "one"), make_member("two-driver", "two"))
    seconds = await world.until(lambda: bool(world.bound("two")), within=200)

    assert seconds == pytest.approx(max(60, expiration), abs=0.1)


async def test_a_gang_that_waits_for_kept_min_resources_is_tried_when_the_other_podgroup_goes(world: World) -> None:
    two_apps(world)
    world.add(make_member("one-driver", "one"), make_member("two-driver", "two"))
    await world.run(10)
    world.api.delete("podgroups", "default/one")
    await world.settle()

    assert world.bound("two") == ["default/two-driver"]


async def test_a_gang_that_waits_for_kept_min_resources_is_not_tried_when_a_podgroups_status_changes(
    world: World,
) -> None:
    two_apps(world)
    [_, waits] = world.add(make_member("one-driver", "one"), make_member("two-driver", "two"))
    await world.settle()
    for number in range(8):
        status = {"phase": "Scheduling", "running": number}
        world.api.put("podgroups", {**world.api.objects["podgroups"]["default/one"], "status": status})
        await world.run(5)

    assert len(world.notes(waits)) == 1
