"""The contents of fields and annotations of workloads, for copies of recordings. See `RecordedContents`."""

from __future__ import annotations

from muster.framework.contract.recorded import RecordedContents, TextKind

from .api import (
    JobDependency,
    JobStatus,
    JobTemplateMeta,
    LeaderWorkerSetSpec,
    ReplicatedJob,
    StartupPolicy,
    WorkloadMeta,
)
from .args import AutoPodGroupsArgs

RECORDED = RecordedContents(
    fields={
        WorkloadMeta: {"annotations": TextKind.ANNOTATIONS},
        JobStatus: {"failedIndexes": TextKind.KEPT},
        JobTemplateMeta: {"annotations": TextKind.ANNOTATIONS},
        JobDependency: {"name": TextKind.NAME},
        ReplicatedJob: {"name": TextKind.NAME},
        StartupPolicy: {"startupPolicyOrder": TextKind.KEPT},
        LeaderWorkerSetSpec: {"startupPolicy": TextKind.KEPT},
        AutoPodGroupsArgs: {"namespaces": TextKind.KEPT, "apiGroup": TextKind.KEPT},
    }
)
