"""Sizes: how many pods of a workload exist at a time and can start together. Pure.

A size of 0 means that the workload creates some of its pods only after others run, so that none of them may wait for
the rest. Pods of a Job that are done are not missing: as they end, the size of what is left shrinks.
"""

from __future__ import annotations

from typing import NamedTuple

from muster.framework.groups import names_group
from muster.framework.model.workloads import PodTemplate, StatefulSet

from .api import (
    JOB_SET_EXCLUSIVE,
    JOB_SET_NODE_SELECTOR,
    LEADER_WORKER_SET_EXCLUSIVE,
    Job,
    JobSet,
    JobSpec,
    JobTemplateMeta,
    LeaderWorkerSet,
    WorkloadMeta,
)

IN_ORDER = "InOrder"
LEADER_READY = "LeaderReady"
PARALLEL = "Parallel"
_MOST_DIGITS = 9


class WorkloadSize(NamedTuple):
    """The number of pods that start together, and their priority class."""

    pods: int
    priority_class_name: str = ""


def job_size(job: Job) -> WorkloadSize:
    """The pods that the Job still runs at a time."""
    return WorkloadSize(_left(job), job.spec.template.spec.priority_class_name)


def stateful_set_size(workload: StatefulSet) -> WorkloadSize:
    """All replicas, if they are created at once."""
    spec = workload.spec
    pods = spec.replicas if spec.pod_management_policy == PARALLEL else 0
    return WorkloadSize(pods, spec.template.spec.priority_class_name)


def job_set_size(job_set: JobSet, done: int) -> WorkloadSize:
    """The pods of all Jobs that name no group, less those that are `done`, if all Jobs are created at once."""
    spec = job_set.spec
    replicated = [each for each in spec.replicated_jobs if not _names_group(each.template.spec.template)]
    one_after_another = spec.startup_policy.startup_policy_order == IN_ORDER or any(
        each.depends_on or _is_exclusive(each.template.metadata) for each in replicated
    )
    if one_after_another or _is_exclusive(job_set.metadata):
        return WorkloadSize(0)
    pods = sum(each.replicas * _at_a_time(each.template.spec) for each in replicated)
    classes = (each.template.spec.template.spec.priority_class_name for each in replicated)
    return WorkloadSize(max(0, pods - done), next(classes, ""))


def done_in_set(job: Job) -> int:
    """The pods of a JobSet's Job that do not come back; none if the Job itself does, because it is being deleted."""
    if job.metadata.deletion_timestamp is not None or _names_group(job.spec.template):
        return 0
    return _at_a_time(job.spec) - _left(job)


def replica_size(workload: LeaderWorkerSet, said: str) -> WorkloadSize:
    """The leader and the workers of one replica; `said` is the size that its pods are annotated with, "" for none."""
    template = workload.spec.leader_worker_template
    if workload.spec.startup_policy == LEADER_READY or LEADER_WORKER_SET_EXCLUSIVE in workload.metadata.annotations:
        return WorkloadSize(0)
    pods = int(said) if said.isdecimal() and len(said) <= _MOST_DIGITS else template.size
    of_leader = template.leader_template or template.worker_template
    return WorkloadSize(pods, of_leader.spec.priority_class_name)


def _at_a_time(spec: JobSpec) -> int:
    return spec.parallelism if spec.completions is None else min(spec.parallelism, spec.completions)


def _left(job: Job) -> int:
    """The pods that run at a time until the Job is complete: none for what has succeeded, or failed for good."""
    completions = job.spec.completions
    if completions is None:
        return job.spec.parallelism
    done = job.status.succeeded + _count(job.status.failed_indexes)
    return max(0, min(job.spec.parallelism, completions - done))


def _count(indexes: str) -> int:
    """How many indexes these are; `1,3-5` are four."""
    ranges = (part.partition("-") for part in indexes.split(",") if part)
    return sum(int(last or first) - int(first) + 1 for first, _, last in ranges)


def _names_group(template: PodTemplate) -> bool:
    return names_group(template.metadata.labels, template.spec.scheduling_group)


def _is_exclusive(meta: WorkloadMeta | JobTemplateMeta) -> bool:
    """Whether each Job creates its other pods only after the first has a node."""
    return JOB_SET_EXCLUSIVE in meta.annotations and JOB_SET_NODE_SELECTOR not in meta.annotations
