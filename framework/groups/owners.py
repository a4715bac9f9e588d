"""Owners of groups: the workloads whose pods start together, and the PodGroups that are created for them.

No label names the members of such a group: they are the pods whose owner, read from their controller and from its
labels, is the controller of the group. So nothing is written to a pod, and a group and its pods find each other in
whichever order they are seen. A pod that names a group itself has no owner here.

Pure. The books of groups ask which owner a pod or a group has, and so does everything that shows groups, so that all
agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from ..contract.group_view import JoiningPod
from ..model.meta import ObjectMeta, OwnedMeta, OwnerReference
from ..model.pod import PodSchedulingGroup

GROUP_LABELS = (
    "scheduling.x-k8s.io/pod-group",
    "pod-group.scheduling.sigs.k8s.io",
    "pod-group.scheduling.ming.io",
)
"""Labels by which a pod names its group, the current one first."""

JOB_SET_NAME = "jobset.sigs.k8s.io/jobset-name"
"""The label of Jobs and pods that names their JobSet."""
LEADER_WORKER_SET_NAME = "leaderworkerset.sigs.k8s.io/name"
"""The label of pods that names their LeaderWorkerSet."""


class OwnerKind(StrEnum):
    """The kind of an owner."""

    JOB = "Job"
    STATEFUL_SET = "StatefulSet"
    JOB_SET = "JobSet"
    LEADER = "Pod"
    """The leader of one replica of a LeaderWorkerSet, which owns the workers of the replica."""


_API_GROUPS = {
    OwnerKind.JOB: "batch",
    OwnerKind.STATEFUL_SET: "apps",
    OwnerKind.JOB_SET: "jobset.x-k8s.io",
    OwnerKind.LEADER: "",
}
_KINDS = {(group, kind.value): kind for kind, group in _API_GROUPS.items()}
_WITH_PODS = (OwnerKind.JOB, OwnerKind.STATEFUL_SET)
"""The kinds that create pods themselves. A pod that another pod controls, as in Spark, has no owner here."""
_PREFIXES = {
    OwnerKind.JOB: "job-",
    OwnerKind.STATEFUL_SET: "statefulset-",
    OwnerKind.JOB_SET: "jobset-",
    OwnerKind.LEADER: "leaderworkerset-",
}


class GroupOwner(NamedTuple):
    """A workload whose pods start together, by name: a deleted workload and its successor are the same owner."""

    namespace: str
    kind: OwnerKind
    name: str

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"

    @property
    def group(self) -> str:
        """`namespace/name` of the PodGroup that is created for it."""
        return f"{self.namespace}/{_PREFIXES[self.kind]}{self.name}"


def pod_owner(pod: JoiningPod) -> GroupOwner | None:
    """The owner of the pods that start together with this one; None for a pod that names a group, or starts alone.

    Whether the owner has a group is another question. The leader of a replica of a LeaderWorkerSet is a pod of a
    StatefulSet that has the name of the LeaderWorkerSet; the StatefulSet of the workers has the name of the leader.
    """
    meta = pod.metadata
    controller = meta.controller if meta.owner_references else None
    kind = None if controller is None else _kind_of(controller)
    if controller is None or kind is None or kind not in _WITH_PODS:
        return None
    if names_group(meta.labels, pod.spec.scheduling_group):
        return None
    if kind is OwnerKind.JOB and (job_set := meta.labels.get(JOB_SET_NAME)):
        return GroupOwner(meta.namespace, OwnerKind.JOB_SET, job_set)
    if kind is OwnerKind.STATEFUL_SET and (replicated := meta.labels.get(LEADER_WORKER_SET_NAME)):
        leader = meta.name if controller.name == replicated else controller.name
        return GroupOwner(meta.namespace, OwnerKind.LEADER, leader)
    return GroupOwner(meta.namespace, kind, controller.name)


def group_owner(meta: ObjectMeta) -> GroupOwner | None:
    """The owner whose pods are the members of the group with this metadata; None for a group that its members name."""
    controller = controller_of(meta)
    kind = None if controller is None else _kind_of(controller)
    return None if controller is None or kind is None else GroupOwner(meta.namespace, kind, controller.name)


def controller_of(meta: ObjectMeta) -> OwnerReference | None:
    """The controller of the object with this metadata; None where the metadata has no owners."""
    return meta.controller if isinstance(meta, OwnedMeta) else None


def owner_of_group(key: str) -> GroupOwner | None:
    """The owner for which a group of this key, `namespace/name`, is created; None for any other name."""
    namespace, _, name = key.partition("/")
    for kind, prefix in _PREFIXES.items():
        if name.startswith(prefix):
            return GroupOwner(namespace, kind, name.removeprefix(prefix))
    return None


def names_group(labels: Mapping[str, str], group: PodSchedulingGroup | None) -> bool:
    """Whether a pod, or a pod template, with these labels and this `schedulingGroup` names a group itself."""
    return group is not None or any(labels.get(label) for label in GROUP_LABELS)


def _kind_of(reference: OwnerReference) -> OwnerKind | None:
    """The kind, unless it is another project's of the same name."""
    return _KINDS.get((reference.api_version.rpartition("/")[0], reference.kind))
