"""The workloads that get PodGroups: the fields that are read, and the kinds that are watched.

Jobs and StatefulSets are Kubernetes' own. JobSets and LeaderWorkerSets are watched if the cluster serves them.
"""

from __future__ import annotations

import msgspec

from muster.framework.contract import EventResource, ObjectMeta, WatchedKind, Wire
from muster.framework.model.integers import Int32
from muster.framework.model.workloads import Namespace, PodTemplate, StatefulSet

NAME = "AutoPodGroups"
"""The plugin's name."""

JOB_SET_UID = "jobset.sigs.k8s.io/jobset-uid"
"""The label of pods with the UID of their JobSet, which older versions of JobSet do not set."""
JOB_SET_EXCLUSIVE = "alpha.jobset.sigs.k8s.io/exclusive-topology"
"""The annotation with which the pods of a Job are created only after its first pod has a node."""
JOB_SET_NODE_SELECTOR = "alpha.jobset.sigs.k8s.io/node-selector"
"""The annotation with which they are created at once all the same."""
LEADER_WORKER_SET_EXCLUSIVE = "leaderworkerset.sigs.k8s.io/exclusive-topology"
"""The annotation with which workers are created only after their leader has a node."""
LEADER_WORKER_SET_SIZE = "leaderworkerset.sigs.k8s.io/size"
"""The annotation of a pod with the size of its replica, which may differ between replicas during an update."""

_READ = (JOB_SET_EXCLUSIVE, JOB_SET_NODE_SELECTOR, LEADER_WORKER_SET_EXCLUSIVE)


def _drop_what_is_not_read(meta: WorkloadMeta | JobTemplateMeta) -> None:
    if meta.annotations:
        read = {name: text for name, text in meta.annotations.items() if name in _READ}
        msgspec.structs.force_setattr(meta, "annotations", read)


class WorkloadMeta(ObjectMeta):
    """`metadata` with the annotations that are read."""

    annotations: dict[str, str] = msgspec.field(default_factory=dict)

    def __post_init__(self) -> None:
        _drop_what_is_not_read(self)


class JobSpec(Wire):
    """`spec` of a Job."""

    parallelism: Int32 = 1
    completions: Int32 | None = None
    template: PodTemplate = PodTemplate()


class JobStatus(Wire):
    """`status` of a Job. `failed_indexes` are indexes that are not tried again, as in `1,3-5`."""

    succeeded: Int32 = 0
    failed_indexes: str = ""


class Job(Wire):
    """A Job."""

    metadata: ObjectMeta
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()


class JobTemplateMeta(Wire):
    """`metadata` of a Job's template."""

    annotations: dict[str, str] = msgspec.field(default_factory=dict)

    def __post_init__(self) -> None:
        _drop_what_is_not_read(self)


class JobTemplate(Wire):
    """The template of the Jobs of a ReplicatedJob."""

    metadata: JobTemplateMeta = JobTemplateMeta()
    spec: JobSpec = JobSpec()


class JobDependency(Wire):
    """The name of a ReplicatedJob that has to be ready, or complete, before another one is created."""

    name: str = ""


class ReplicatedJob(Wire):
    """Jobs of a JobSet that are alike, named `<JobSet>-<name>-<index>`."""

    name: str = ""
    replicas: Int32 = 1
    template: JobTemplate = JobTemplate()
    depends_on: tuple[JobDependency, ...] = ()


class StartupPolicy(Wire):
    """`spec.startupPolicy` of a JobSet: `InOrder` creates a ReplicatedJob when those before it are ready."""

    startup_policy_order: str = ""


class JobSetSpec(Wire):
    """`spec` of a JobSet."""

    replicated_jobs: tuple[ReplicatedJob, ...] = ()
    startup_policy: StartupPolicy = StartupPolicy()


class JobSet(Wire):
    """A JobSet."""

    metadata: WorkloadMeta
    spec: JobSetSpec = JobSetSpec()


class LeaderWorkerTemplate(Wire):
    """The templates of a replica; without one of its own, the leader has the workers'."""

    size: Int32 = 1
    leader_template: PodTemplate | None = None
    worker_template: PodTemplate = PodTemplate()


class LeaderWorkerSetSpec(Wire):
    """`spec` of a LeaderWorkerSet. With the policy `LeaderReady`, workers are created only when their leader runs."""

    leader_worker_template: LeaderWorkerTemplate = LeaderWorkerTemplate()
    startup_policy: str = ""


class LeaderWorkerSet(Wire):
    """A LeaderWorkerSet."""

    metadata: WorkloadMeta
    spec: LeaderWorkerSetSpec = LeaderWorkerSetSpec()


NAMESPACES = WatchedKind(EventResource.NAMESPACE, "/api/v1/namespaces", Namespace)
JOBS = WatchedKind("jobs.v1.batch", "/apis/batch/v1/jobs", Job, kind="Job")
STATEFUL_SETS = WatchedKind(EventResource.STATEFUL_SET, "/apis/apps/v1/statefulsets", StatefulSet)
JOB_SETS = WatchedKind(
    "jobsets.v1alpha2.jobset.x-k8s.io", "/apis/jobset.x-k8s.io/v1alpha2/jobsets", JobSet, optional=True, kind="JobSet"
)
LEADER_WORKER_SETS = WatchedKind(
    "leaderworkersets.v1.leaderworkerset.x-k8s.io",
    "/apis/leaderworkerset.x-k8s.io/v1/leaderworkersets",
    LeaderWorkerSet,
    optional=True,
    kind="LeaderWorkerSet",
)
