"""Pods of a workload that grows: new ones wait until its group is as large, also where the new size is seen late."""

import pytest

from tests.autopodgroups.objects import job, owned, stateful_set
from tests.autopodgroups.test_gating import add_pods
from tests.autopodgroups.world import JOBS, STATEFUL_SETS, World
from tests.builders import make_node

NOON = "2030-01-01T12:00:00Z"


async def test_new_pods_of_a_larger_workload_wait_until_its_group_is_as_large() -> None:
    world = World(3)
    world.put(STATEFUL_SETS, stateful_set("web", 2))
    world.add(*(owned(f"web-{number}", "StatefulSet", "web") for number in range(2)))
    await world.settle()
    world.create_group("statefulset-web")
    await world.settle()
    assert len(world.bound()) == 2

    world.put(STATEFUL_SETS, stateful_set("web", 4))
    world.add(*(owned(f"web-{number}", "StatefulSet", "web") for number in (2, 3)))
    await world.run(5)
    assert len(world.bound()) == 2
    assert world.wanted.size("default/statefulset-web") == 4
    world.resize("statefulset-web", 4)
    await world.run(5)
    assert len(world.bound()) == 2
    world.add_nodes(make_node("last", cpu="1"))
    await world.run(15)
    assert len(world.bound()) == 4
    world.check()


async def test_a_pod_that_ran_alone_is_a_member_when_its_workload_grows() -> None:
    world = World(2)
    world.put(JOBS, job("train", 1))
    add_pods(world, 1)
    await world.settle()
    assert world.bound() == ["train-0"]

    world.put(JOBS, job("train", 2))
    add_pods(world, 1, first=1)
    await world.settle()
    assert world.bound() == ["train-0"]
    world.create_group("job-train")
    await world.settle()
    assert world.bound() == ["train-0", "train-1"]


@pytest.mark.parametrize("size", [1, 2])
async def test_pods_of_a_job_that_grows_wait_although_its_new_size_is_seen_after_them(size: int) -> None:
    world = World(3)
    world.put(JOBS, job("train", size))
    add_pods(world, size)
    await world.settle()
    if size > 1:
        world.create_group("job-train")
        await world.settle()
    before = world.bound()
    assert len(before) == size

    add_pods(world, 1, first=size)
    await world.run(5)
    assert world.bound() == before
    world.put(JOBS, job("train", 4))
    add_pods(world, 3 - size, first=size + 1)
    await world.settle()
    wanted = world.wanted.to_create("default/job-train")
    assert wanted is not None
    assert (wanted.size, world.wanted.size("default/job-train"), world.bound()) == (4, 4, before)


@pytest.mark.parametrize("phase", ["Failed", ""], ids=["ends", "is being deleted"])
async def test_a_pod_that_its_job_has_too_many_starts_when_another_one(phase: str) -> None:
    world = World(3)
    world.put(JOBS, job("train", 2))
    [first, _] = add_pods(world, 2)
    await world.settle()
    world.create_group("job-train")
    await world.settle()
    add_pods(world, 1, first=2)
    await world.run(5)
    assert world.bound() == ["train-0", "train-1"]

    if phase:
        world.set_phase(first, phase)
    else:
        world.api.change("pods", first, lambda pod: pod["metadata"].update(deletionTimestamp=NOON))
    await world.settle()
    assert "train-2" in world.bound()


async def test_pods_beyond_the_size_start_where_the_workload_creates_them_one_after_another() -> None:
    world = World(3)
    world.put(STATEFUL_SETS, stateful_set("web", 1, policy="OrderedReady"))
    world.add(*(owned(f"web-{number}", "StatefulSet", "web") for number in range(2)))
    await world.settle()
    assert len(world.bound()) == 2


async def test_the_successor_of_a_failed_pod_starts_after_others_have_succeeded() -> None:
    world = World(2)
    world.put(JOBS, job("train", 2))
    first, second = add_pods(world, 2)
    await world.settle()
    world.create_group("job-train")
    await world.settle()
    world.set_phase(first, "Succeeded")
    world.set_phase(second, "Failed")
    add_pods(world, 1, first=2)
    await world.run(5)
    assert "train-2" not in world.bound()

    world.put(JOBS, job("train", 2), succeeded=1)
    size = world.wanted.size("default/job-train")
    assert size == 1
    world.resize("job-train", size)
    await world.settle()
    assert "train-2" in world.bound()
