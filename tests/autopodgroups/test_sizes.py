"""How many pods of a workload start together."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from muster.framework.model.workloads import StatefulSet
from muster.plugins.autopodgroups.api import Job, JobSet, LeaderWorkerSet
from muster.plugins.autopodgroups.sizes import done_in_set, job_set_size, job_size, replica_size, stateful_set_size
from tests.autopodgroups.objects import GROUP_LABEL, job, job_set, leader_worker_set, stateful_set

EXCLUSIVE = {"alpha.jobset.sigs.k8s.io/exclusive-topology": "rack"}
BY_SELECTOR = {**EXCLUSIVE, "alpha.jobset.sigs.k8s.io/node-selector": "true"}


def a_job(status: dict[str, Any], **spec: Any) -> Job:
    plain = {"spec": {key: value for key, value in spec.items() if value is not None}, "status": status}
    return msgspec.convert({"metadata": {"name": "train"}, **plain}, Job)


@pytest.mark.parametrize(
    ("parallelism", "completions", "status", "size"),
    [
        (None, None, {}, 1),
        (4, None, {}, 4),
        (4, 10, {}, 4),
        (4, 3, {}, 3),
        (0, 3, {}, 0),
        (4, 10, {"succeeded": 5}, 4),
        (4, 10, {"succeeded": 7}, 3),
        (4, 4, {"succeeded": 4}, 0),
        (4, 4, {"succeeded": 1, "failedIndexes": "1"}, 2),
        (8, 8, {"failedIndexes": "1,3-5"}, 4),
        (4, 4, {"succeeded": 9}, 0),
        (4, None, {"succeeded": 3}, 4),
    ],
    ids=str,
)
def test_a_job_has_as_many_pods_as_it_still_runs_at_a_time(
    parallelism: int | None, completions: int | None, status: dict[str, Any], size: int
) -> None:
    assert job_size(a_job(status, parallelism=parallelism, completions=completions)).pods == size


@pytest.mark.parametrize(("policy", "size"), [("Parallel", 3), ("OrderedReady", 0), ("", 0)])
def test_a_stateful_set_has_its_replicas_if_they_are_created_at_once(policy: str, size: int) -> None:
    workload = msgspec.convert(stateful_set("web", 3, policy=policy), StatefulSet)
    assert stateful_set_size(workload).pods == size


def a_set(
    *,
    annotations: Mapping[str, str] = {},
    of_job: Mapping[str, str] = {},
    first: Mapping[str, Any] = {},
    **spec: Any,
) -> JobSet:
    """A leader and two Jobs of three workers; `of_job` are annotations of the leader, `first` further fields of it."""
    plain = job_set("train", ("leader", 1, 1), ("workers", 2, 3), **spec)
    plain["metadata"]["annotations"] = {**annotations}
    leader = plain["spec"]["replicatedJobs"][0]
    leader["template"]["metadata"] = {"annotations": {**of_job}}
    leader.update(first)
    return msgspec.convert(plain, JobSet)


@pytest.mark.parametrize(
    ("workload", "size"),
    [
        (a_set(), 7),
        (a_set(startupPolicy={"startupPolicyOrder": "AnyOrder"}), 7),
        (a_set(startupPolicy={"startupPolicyOrder": "InOrder"}), 0),
        (a_set(first={"dependsOn": [{"name": "workers", "status": "Ready"}]}), 0),
        (a_set(annotations=EXCLUSIVE), 0),
        (a_set(of_job=EXCLUSIVE), 0),
        (a_set(annotations=BY_SELECTOR), 7),
        (a_set(first={"replicas": 0}), 6),
        (a_set(first={"template": {"spec": job("", 1, labels={GROUP_LABEL: "own"})["spec"]}}), 6),
    ],
    ids=[
        "all Jobs at once",
        "in any order",
        "in order",
        "one after another",
        "exclusive",
        "one Job exclusive",
        "exclusive by node selector",
        "no leader",
        "a leader in another group",
    ],
)
def test_a_job_set_has_the_pods_of_all_its_jobs_if_these_are_created_at_once(workload: JobSet, size: int) -> None:
    assert job_set_size(workload, 0).pods == size


def test_pods_of_a_job_set_that_are_done_are_not_missing() -> None:
    ended = a_job({"succeeded": 2}, parallelism=3, completions=3)
    assert done_in_set(ended) == 2
    assert job_set_size(a_set(), done_in_set(ended)).pods == 5
    assert done_in_set(a_job({"succeeded": 2}, parallelism=3, completions=10)) == 0


def test_a_job_that_is_deleted_to_start_again_counts_whole() -> None:
    deleted = {"metadata": {"name": "train", "deletionTimestamp": "2026-01-01T00:00:00Z"}, "status": {"succeeded": 1}}
    assert done_in_set(msgspec.convert(deleted, Job)) == 0


def test_a_job_that_names_a_group_of_its_own_takes_nothing_from_its_set() -> None:
    plain = job("train", 3, labels={GROUP_LABEL: "own"}) | {"status": {"succeeded": 2}}
    assert done_in_set(msgspec.convert(plain, Job)) == 0


@pytest.mark.parametrize(
    ("spec", "annotations", "said", "size"),
    [
        ({}, {}, "", 4),
        ({}, {}, "8", 8),
        ({}, {}, "many", 4),
        ({}, {}, "9" * 5000, 4),
        ({"startupPolicy": "LeaderCreated"}, {}, "4", 4),
        ({"startupPolicy": "LeaderReady"}, {}, "4", 0),
        ({}, {"leaderworkerset.sigs.k8s.io/exclusive-topology": "rack"}, "4", 0),
    ],
    ids=["of its set", "of its pods", "a word", "an endless number", "at once", "after its leader", "exclusive"],
)
def test_a_replica_has_the_size_that_its_pods_say_if_workers_are_created_at_once(
    spec: dict[str, Any], annotations: dict[str, str], said: str, size: int
) -> None:
    plain = leader_worker_set("vllm", 2, 4, **spec)
    plain["metadata"]["annotations"] = {**annotations}
    assert replica_size(msgspec.convert(plain, LeaderWorkerSet), said).pods == size


def test_the_priority_class_is_that_of_the_first_pods() -> None:
    urgent = job("train", 2)
    urgent["spec"]["template"]["spec"]["priorityClassName"] = "urgent"
    assert job_size(msgspec.convert(urgent, Job)).priority_class_name == "urgent"
    parts = a_set(first={"template": {"spec": urgent["spec"]}})
    assert job_set_size(parts, 0).priority_class_name == "urgent"
    replicated = leader_worker_set("vllm", 1, 2)
    replicated["spec"]["leaderWorkerTemplate"]["leaderTemplate"] = urgent["spec"]["template"]
    assert replica_size(msgspec.convert(replicated, LeaderWorkerSet), "").priority_class_name == "urgent"


def test_annotations_that_are_not_read_are_not_kept() -> None:
    assert a_set(annotations={**EXCLUSIVE, "kubectl.kubernetes.io/last": "{}"}).metadata.annotations == EXCLUSIVE
