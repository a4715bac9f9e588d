"""Gangs that exist through minResources only, as Spark's: a driver first, executors when it runs."""

from tests.builders import make_node, make_pod
from tests.coscheduling.conftest import MakeWorld
from tests.coscheduling.objects import make_member
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


async def test_what_is_kept_for_executors_is_kept_for_as_long_as_permit_would_wait(make_world: MakeWorld) -> None:
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
