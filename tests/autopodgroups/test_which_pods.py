"""Which pods get a group: those of workloads of several pods, in namespaces that ask for groups, that have none."""

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
from tests.autopodgroups.test_gating import add_pods
from tests.autopodgroups.world import JOB_SETS, JOBS, LEADER_WORKER_SETS, STATEFUL_SETS, World


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
