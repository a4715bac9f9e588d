"""Groups and workloads that are deleted or created again: their pods wait for the next group, or start as they fit."""

import pytest

from tests.autopodgroups.objects import JOB_SET_NAME, SET_NAME, job, job_set, leader_worker_set, owned
from tests.autopodgroups.test_gating import add_pods, job_with_group, reference
from tests.autopodgroups.world import JOB_SETS, JOBS, LEADER_WORKER_SETS, World
from tests.builders import PodDict, make_node

NOON = "2030-01-01T12:00:00Z"


async def test_pods_of_a_group_that_is_deleted_wait_for_the_next_one() -> None:
    world = await job_with_group(2)
    await world.run(5)
    world.api.delete("podgroups", "default/job-train")
    await world.run(5)
    assert world.bound() == []

    world.add_nodes(make_node("last", cpu="1"))
    await world.run(5)
    assert world.bound() == []
    world.create_group("job-train")
    await world.settle()
    assert len(world.bound()) == 3
    world.check()


async def test_a_group_of_that_name_without_the_workload_as_its_controller_is_not_the_workloads() -> None:
    world = World(3)
    world.put(JOBS, job("train", 3))
    world.put_group("job-train", 1)
    add_pods(world, 3)
    await world.run(5)
    assert world.bound() == []


async def test_pods_of_a_group_that_is_deleted_start_as_they_fit_where_no_other_one_is_asked_for() -> None:
    world = await job_with_group(2)
    world.mark_namespace("false")
    await world.run(5)
    assert world.bound() == []
    world.api.delete("podgroups", "default/job-train")
    await world.run(5)
    assert len(world.bound()) == 2
    world.check()


async def test_a_group_that_gets_another_controller_has_the_pods_no_longer() -> None:
    world = await job_with_group(2)
    await world.run(5)
    record = world.engine.books()["Coscheduling"].record("default/job-train")
    assert len(record.pods) == 3
    world.put_group("job-train", 3, owner=reference("Job", "batch/v1", "other"))
    await world.settle()
    assert len(record.pods) == 0
    assert world.wanted.to_create("default/job-train") is not None


async def test_a_leader_that_is_being_deleted_gets_no_group() -> None:
    world = World(0)
    world.put(LEADER_WORKER_SETS, leader_worker_set("vllm", 1, 2))
    leader, _ = world.add(
        owned("vllm-0", "StatefulSet", "vllm", labels={SET_NAME: "vllm"}),
        owned("vllm-0-1", "StatefulSet", "vllm-0", labels={SET_NAME: "vllm"}),
    )
    await world.settle()
    assert world.wanted.to_create("default/leaderworkerset-vllm-0") is not None
    world.terminate(leader)
    await world.settle()
    assert world.wanted.to_create("default/leaderworkerset-vllm-0") is None


async def test_pods_of_a_job_that_is_created_again_wait_until_the_group_of_the_first_one_is_deleted() -> None:
    world = World(2)
    world.put(JOBS, job("train", 2))
    pods = add_pods(world, 2)
    await world.settle()
    world.create_group("job-train")
    await world.settle()
    world.delete(*pods)
    world.api.delete(JOBS, "default/train")

    world.add(*(successor(f"next-{number}") for number in range(2)))
    await world.run(5)
    world.put(JOBS, job("train", 2), uid="second")
    await world.run(15)
    assert world.bound() == []
    world.api.delete("podgroups", "default/job-train")
    await world.run(5)
    assert world.bound() == []
    world.create_group("job-train")
    await world.settle()
    assert world.bound() == ["next-0", "next-1"]
    world.check()


def successor(name: str) -> PodDict:
    """A pod of another Job of the same name."""
    pod = owned(name, "Job", "train")
    pod["metadata"]["ownerReferences"][0]["uid"] = "second"
    return pod


async def test_a_replica_that_is_created_again_waits_until_the_group_of_its_first_leader_is_deleted() -> None:
    world = World(2)
    world.put(LEADER_WORKER_SETS, leader_worker_set("vllm", 1, 2))
    labels = {SET_NAME: "vllm"}
    leader, worker = (owned("vllm-0", "StatefulSet", "vllm", labels=labels), owned("vllm-0-1", "StatefulSet", "vllm-0"))
    pods = world.add(leader, worker.labels(labels))
    await world.settle()
    world.create_group("leaderworkerset-vllm-0")
    await world.settle()
    assert len(world.bound()) == 2

    world.delete(*pods)
    world.add(leader, worker)
    await world.run(15)
    assert world.bound() == []
    world.api.delete("podgroups", "default/leaderworkerset-vllm-0")
    await world.run(5)
    world.create_group("leaderworkerset-vllm-0")
    await world.settle()
    assert len(world.bound()) == 2


@pytest.mark.parametrize("uid", ["uid-train", "second"])
async def test_pods_of_a_job_set_know_its_uid_before_the_job_set_is_known(uid: str) -> None:
    world = World(1)
    world.put(JOB_SETS, job_set("train", ("a", 1, 1), ("b", 1, 1)))
    world.put_group("jobset-train", 1, owner=reference("JobSet", "jobset.x-k8s.io/v1alpha2", "train"))
    world.resize("jobset-train", 2)
    world.add_nodes(make_node("last", cpu="1"))
    labels = {JOB_SET_NAME: "train", "jobset.sigs.k8s.io/jobset-uid": uid}
    world.add(*(owned(f"train-{part}-0-0", "Job", f"train-{part}-0", labels=labels) for part in "ab"))
    await world.run(15)
    assert len(world.bound()) == (2 if uid == "uid-train" else 0)


async def test_a_job_that_is_being_deleted_gets_no_group() -> None:
    world = World(0)
    world.put(JOBS, job("train", 2))
    add_pods(world, 2)
    await world.settle()
    assert world.wanted.to_create("default/job-train") is not None
    world.api.change(JOBS, "default/train", lambda found: found["metadata"].update(deletionTimestamp=NOON))
    await world.settle()
    assert world.wanted.to_create("default/job-train") is None


@pytest.mark.parametrize("has_group", [False, True])
async def test_pods_that_their_deleted_job_leaves_behind_start_as_they_fit(has_group: bool) -> None:
    world = World(1)
    world.put(JOBS, job("train", 2))
    keys = add_pods(world, 2)
    await world.settle()
    if has_group:
        world.create_group("job-train")
    await world.run(5)
    assert world.bound() == []
    for key in keys:
        world.api.change("pods", key, lambda found: found["metadata"].pop("ownerReferences"))
    world.api.delete(JOBS, "default/train")
    await world.run(15)
    assert len(world.bound()) == 1
