"""Pods of a workload wait for its group, whatever is seen first, and none of them starts alone."""

import itertools
from collections.abc import Callable

import pytest

from tests.autopodgroups.objects import job, owned
from tests.autopodgroups.world import JOBS, World
from tests.builders import make_node

MISSING = 'waiting for pods\'s pod group "job-train" to appear in scheduling queue'


def add_pods(world: World, count: int, *, first: int = 0) -> list[str]:
    return world.add(*(owned(f"train-{number}", "Job", "train") for number in range(first, first + count)))


async def job_with_group(nodes: int) -> World:
    """A cluster of so many nodes for one pod each, with a job of three pods whose group has just been created."""
    world = World(nodes)
    world.put(JOBS, job("train", 3))
    add_pods(world, 3)
    await world.settle()
    world.create_group("job-train")
    return world


async def test_pods_start_together_once_their_group_exists() -> None:
    world = World(3)
    world.put(JOBS, job("train", 3))
    add_pods(world, 3)
    await world.run(5)
    assert world.bound() == []

    world.create_group("job-train")
    await world.settle()
    assert world.bound() == ["train-0", "train-1", "train-2"]
    world.check()


async def test_no_pod_starts_where_one_too_few_fits() -> None:
    world = await job_with_group(2)
    await world.run(60)
    assert world.bound() == []

    world.add_nodes(make_node("last", cpu="1"))
    await world.run(15)
    assert len(world.bound()) == 3


@pytest.mark.parametrize("order", [*itertools.permutations(("pods", "job", "namespace", "group"))], ids="-".join)
async def test_in_whichever_order_things_are_seen_no_pod_starts_before_all_fit(order: tuple[str, ...]) -> None:
    world = World(2, mark="false")
    world.api.delete("namespaces", "default")
    steps: dict[str, Callable[[], object]] = {
        "pods": lambda: add_pods(world, 3),
        "job": lambda: world.put(JOBS, job("train", 3)),
        "namespace": lambda: world.mark_namespace("true"),
        "group": lambda: world.put_group("job-train", 3, owner=reference("Job", "batch/v1", "train")),
    }
    for step in order:
        steps[step]()
        await world.run(5)
        assert world.bound() == []
    world.add_nodes(make_node("last", cpu="1"))
    await world.run(15)
    assert len(world.bound()) == 3
    world.check()


def reference(kind: str, api_version: str, name: str) -> dict[str, object]:
    return {"apiVersion": api_version, "kind": kind, "name": name, "uid": f"uid-{name}", "controller": True}


async def test_a_pod_says_after_a_second_what_it_waits_for() -> None:
    world = World(3)
    world.put(JOBS, job("train", 3))
    [key, *_] = add_pods(world, 3)
    await world.run(0.5)
    assert world.notes(key) == []
    await world.run(1)
    assert world.notes(key) == [MISSING]


async def test_a_native_group_has_its_members_by_their_owner_too() -> None:
    world = World(1)
    world.put(JOBS, job("train", 2))
    add_pods(world, 2)
    await world.settle()
    world.put_group("job-train", 2, owner=reference("Job", "batch/v1", "train"), native=True)
    await world.run(5)
    assert world.bound() == []
    world.add_nodes(make_node("last", cpu="1"))
    await world.run(15)
    assert len(world.bound()) == 2


async def test_profiles_share_their_groups() -> None:
    world = World(2, names=("muster", "other"))
    world.put(JOBS, job("train", 2))
    pods = [owned(f"train-{number}", "Job", "train") for number in range(2)]
    pods[1]["spec"]["schedulerName"] = "other"
    world.add(*pods)
    await world.run(5)
    assert world.bound() == []
    world.create_group("job-train")
    await world.settle()
    assert len(world.bound()) == 2


async def test_a_scheduler_that_starts_on_such_a_cluster_knows_the_members() -> None:
    world = await job_with_group(2)
    await world.run(5)
    await world.kill()
    world.start()
    await world.run(5)
    assert world.bound() == []
    world.add_nodes(make_node("last", cpu="1"))
    await world.run(15)
    assert len(world.bound()) == 3


async def test_without_the_plugin_the_controller_of_a_group_has_no_meaning() -> None:
    world = World(2, plugins=("Coscheduling",))
    world.put_group("job-train", 3, owner=reference("Job", "batch/v1", "train"))
    add_pods(world, 3)
    await world.settle()
    assert len(world.bound()) == 2


async def test_a_change_of_a_workload_that_leaves_its_size_as_it_is_retries_no_pod() -> None:
    world = World(2)
    world.put(JOBS, job("train", 3))
    add_pods(world, 3)
    await world.settle()
    marked: list[str] = []
    world.wanted.subscribe(marked.append)
    world.put(JOBS, job("train", 3), active=3)
    assert marked == []
    world.put(JOBS, job("train", 3), active=3, succeeded=1)
    assert marked == ["default/job-train"]
