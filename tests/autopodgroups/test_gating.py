"""Pods of a workload wait for its group, whatever is seen first, and none of them starts alone."""

import itertools
from collections.abc import Callable

import pytest

from tests.autopodgroups.objects import (
    GROUP_LABEL,
    JOB_SET_NAME,
    SET_NAME,
    job,
    job_set,
    leader_worker_set,
    owned,
    stateful_set,
)
from tests.autopodgroups.world import JOB_SETS, JOBS, LEADER_WORKER_SETS, STATEFUL_SETS, World
from tests.builders import PodDict, make_node

NOON = "2030-01-01T12:00:00Z"
MISSING = 'waiting for pods\'s pod group "job-train" to appear in scheduling queue'


def add_pods(world: World, count: int, *, first: int = 0) -> list[str]:
    return world.add(*(owned(f"train-{number}", "Job", "train") for number in range(first, first + count)))


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
    world = World(2)
    world.put(JOBS, job("train", 3))
    add_pods(world, 3)
    await world.settle()
    world.create_group("job-train")
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


@pytest.mark.parametrize(
    ("kind", "workload", "pods", "group"),
    [
        (JOB_SETS, job_set("train", ("a", 1, 1), ("b", 1, 1)), ("train-a-0", "train-b-0"), "jobset-train"),
        (STATEFUL_SETS, stateful_set("train", 2), ("train", "train"), "statefulset-train"),
        (LEADER_WORKER_SETS, leader_worker_set("train", 1, 2), ("train", "train-0"), "leaderworkerset-train-0"),
    ],
    ids=["JobSet", "StatefulSet", "LeaderWorkerSet"],
)
async def test_each_kind_of_workload_has_its_group(
    kind: str, workload: dict[str, object], pods: tuple[str, str], group: str
) -> None:
    world = World(2)
    world.put(kind, workload)
    labels = {JOB_SETS: {JOB_SET_NAME: "train"}, LEADER_WORKER_SETS: {SET_NAME: "train"}}.get(kind, {})
    controller = "Job" if kind == JOB_SETS else "StatefulSet"
    names = ("train-0", "train-0-1")
    world.add(*(owned(name, controller, owner, labels=labels) for name, owner in zip(names, pods, strict=True)))
    await world.run(5)
    assert world.bound() == []

    world.create_group(group)
    await world.settle()
    assert world.bound() == [*names]


@pytest.mark.parametrize("node", ["", "node-0"], ids=["that waits", "that runs"])
async def test_the_group_of_a_replica_waits_for_the_leader_that_owns_it(node: str) -> None:
    world = World(2)
    world.put(LEADER_WORKER_SETS, leader_worker_set("vllm", 1, 2))
    marked: list[str] = []
    world.wanted.subscribe(marked.append)
    world.add(owned("vllm-0-1", "StatefulSet", "vllm-0", labels={SET_NAME: "vllm"}))
    await world.settle()
    assert world.wanted.to_create("default/leaderworkerset-vllm-0") is None

    marked.clear()
    leader = owned("vllm-0", "StatefulSet", "vllm", labels={SET_NAME: "vllm"})
    leader["spec"]["nodeName"] = node
    world.add(leader)
    await world.settle()
    assert "default/leaderworkerset-vllm-0" in marked
    wanted = world.wanted.to_create("default/leaderworkerset-vllm-0")
    assert wanted is not None
    assert (wanted.owner.kind, wanted.owner.uid) == ("Pod", world.api.pods["default/vllm-0"]["metadata"]["uid"])


@pytest.mark.parametrize(
    ("namespaces", "mark", "grouped"),
    [
        ("Labelled", "true", True),
        ("Labelled", "false", False),
        ("Labelled", "", False),
        ("All", "true", True),
        ("All", "false", False),
        ("All", "", True),
    ],
)
async def test_namespaces_ask_for_groups(namespaces: str, mark: str, grouped: bool) -> None:
    world = World(2, args={"namespaces": namespaces}, mark=mark)
    world.put(JOBS, job("train", 3))
    add_pods(world, 3)
    await world.run(5)
    assert world.bound() == ([] if grouped else ["train-0", "train-1"])


async def test_a_namespace_that_no_longer_asks_lets_waiting_pods_go() -> None:
    world = World(2)
    world.put(JOBS, job("train", 3))
    add_pods(world, 3)
    await world.run(5)
    world.mark_namespace("")
    await world.settle()
    assert len(world.bound()) == 2


async def test_a_group_that_exists_stays_the_pods_group_when_its_namespace_no_longer_asks() -> None:
    world = World(2)
    world.put(JOBS, job("train", 3))
    add_pods(world, 2)
    await world.settle()
    world.create_group("job-train")
    world.mark_namespace("")
    add_pods(world, 1, first=2)
    await world.run(5)
    assert world.bound() == []


@pytest.mark.parametrize(
    ("kind", "workload"),
    [
        (JOBS, job("train", 1)),
        (JOBS, job("train", 5, completions=1)),
        (JOBS, job("train", 0)),
    ],
    ids=["one pod", "one pod to complete", "none"],
)
async def test_a_workload_of_a_single_pod_gets_no_group(kind: str, workload: dict[str, object]) -> None:
    world = World(1)
    world.put(kind, workload)
    add_pods(world, 1)
    await world.settle()
    assert world.bound() == ["train-0"]
    assert world.wanted.to_create("default/job-train") is None


async def test_pods_that_name_a_group_are_left_to_it() -> None:
    world = World(2)
    world.put(JOBS, job("train", 3, labels={GROUP_LABEL: "own"}))
    world.put_group("own", 2)
    world.add(*(owned(f"train-{number}", "Job", "train", labels={GROUP_LABEL: "own"}) for number in range(3)))
    await world.settle()
    assert len(world.bound()) == 2
    assert world.wanted.to_create("default/job-train") is None


async def test_pods_with_volcanos_annotation_get_no_group() -> None:
    world = World(1)
    world.put(JOBS, job("train", 2))
    world.add(owned("train-0", "Job", "train").annotations({"scheduling.k8s.io/group-name": "podgroup-1"}))
    await world.settle()
    assert world.bound() == ["train-0"]
    assert world.wanted.to_create("default/job-train") is None


async def test_nothing_is_created_for_pods_of_another_scheduler() -> None:
    world = World(1)
    world.put(JOBS, job("train", 2))
    pods = [owned(f"train-{number}", "Job", "train") for number in range(2)]
    for pod in pods:
        pod["spec"]["schedulerName"] = "other"
    world.add(*pods)
    await world.settle()
    assert world.wanted.to_create("default/job-train") is None


async def test_nothing_is_created_for_pods_that_run_already() -> None:
    world = World(2, mark="")
    world.put(JOBS, job("train", 2))
    add_pods(world, 2)
    await world.settle()
    world.mark_namespace("true")
    await world.settle()
    assert len(world.bound()) == 2
    assert world.wanted.to_create("default/job-train") is None


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


async def test_pods_of_a_group_that_is_deleted_wait_for_the_next_one() -> None:
    world = World(2)
    world.put(JOBS, job("train", 3))
    add_pods(world, 3)
    await world.settle()
    world.create_group("job-train")
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
    world = World(2)
    world.put(JOBS, job("train", 3))
    add_pods(world, 3)
    await world.settle()
    world.create_group("job-train")
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


async def test_pods_of_a_group_that_is_deleted_start_as_they_fit_where_no_other_one_is_asked_for() -> None:
    world = World(2)
    world.put(JOBS, job("train", 3))
    add_pods(world, 3)
    await world.settle()
    world.create_group("job-train")
    world.mark_namespace("false")
    await world.run(5)
    assert world.bound() == []
    world.api.delete("podgroups", "default/job-train")
    await world.run(5)
    assert len(world.bound()) == 2
    world.check()


async def test_a_group_that_gets_another_controller_has_the_pods_no_longer() -> None:
    world = World(2)
    world.put(JOBS, job("train", 3))
    add_pods(world, 3)
    await world.settle()
    world.create_group("job-train")
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
