"""The groups that workloads need, and the pods that wait for them. See `WorkloadGroups`.

One object serves the plugins of all profiles, and the controller of the process. A group is created only when pods wait
for it, so nothing is created for workloads of other schedulers, for suspended Jobs, or where pods name a group of their
own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from muster.framework.contract import PodInfo
from muster.framework.groups import (
    GroupOwner,
    OwnedGroup,
    OwnedPods,
    OwnerKind,
    WorkloadGroup,
    WorkloadGroups,
    owner_of_group,
    pod_owner,
)

from .args import ALL, AutoPodGroupsArgs
from .sizes import WorkloadSize
from .workloads import Workloads

GROUP_ANNOTATION = "scheduling.k8s.io/group-name"
"""The annotation by which pods name a group of Volcano's."""

_SMALLEST = 2
_NEVER_EXCEEDED = (OwnerKind.JOB, OwnerKind.STATEFUL_SET)
"""Kinds whose controllers keep no more pods than the size says. Pods of the others may outlive what created them."""


class AutoGroups(WorkloadGroups):
    """The groups of workloads in namespaces that ask for them.

    Attributes:
        profiles: the schedulerNames of the profiles that the plugin is in.
        workloads: the workloads.
    """

    def __init__(self, args: AutoPodGroupsArgs, owned: OwnedPods, workloads: Workloads) -> None:
        self.profiles: set[str] = set()
        self.workloads = workloads
        self._api_group = args.api_group
        self._by_default = args.namespaces == ALL
        self._owned = owned
        self._readers: list[Callable[[str], None]] = []

    def preference(self, api_group: str) -> int:
        """The API group of the arguments comes first."""
        return int(api_group != self._api_group)

    def subscribe(self, reader: Callable[[str], None]) -> None:
        """See `WorkloadGroups`."""
        self._readers.append(reader)

    def changed(self, owner: GroupOwner) -> None:
        """Pods wait for the owner's group, or its size may have changed."""
        for reader in self._readers:
            reader(owner.group)

    def size(self, group: str) -> int | None:
        """The size of the workload; None if it is not known, has no pods left, or no longer starts them together."""
        owner = owner_of_group(group)
        size = None if owner is None else self.workloads.size(owner)
        return None if size is None or not size.pods else size.pods

    def to_create(self, group: str) -> WorkloadGroup | None:
        """See `WorkloadGroups`."""
        owner = owner_of_group(group)
        if owner is None or not any(self.awaited(pod) for pod in self._owned.pods(owner)):
            return None
        size, reference = self.workloads.size(owner), self.workloads.reference(owner)
        if size is None or reference is None or (size.pods < _SMALLEST and self._owned.group(owner) is None):
            return None
        return WorkloadGroup(size.pods, reference, size.priority_class_name)

    def __contains__(self, group: object) -> bool:
        """Whether the group exists."""
        owner = owner_of_group(group) if isinstance(group, str) else None
        return owner is not None and self._owned.group(owner) is not None

    def awaited(self, pod: PodInfo) -> GroupOwner | None:
        """The owner whose group the pod has to wait for, because the group does not exist or needs too few pods.

        A pod waits as well while its workload or its namespace is not known, while the workload has more pods than its
        size says, because it has grown and its new size is not known yet, and while the group is still that of a
        deleted workload of the same name, with which it is about to be deleted.
        """
        owner = None if pod.node_name or pod.terminating else pod_owner(pod.pod)
        if owner is None or pod.pod.spec.scheduler_name not in self.profiles:
            return None
        size, group = self.workloads.size(owner), self._owned.group(owner)
        exceeded = size is not None and self._is_exceeded(size, owner, pod)
        if group is not None:
            is_small = exceeded or (size is not None and group.needed < size.pods)
            return owner if is_small or self._is_of_another(group, owner, pod) else None
        is_single = size is not None and size.pods < _SMALLEST and not exceeded
        if is_single or GROUP_ANNOTATION in pod.pod.metadata.annotations:
            return None
        return owner if self._is_asked_for(owner.namespace) else None

    def relieved(self, left: PodInfo) -> Collection[PodInfo]:
        """Pods that may wait because their workload had more pods than its size said, now that this one has left."""
        owner = pod_owner(left.pod)
        if owner is None or owner.kind not in _NEVER_EXCEEDED:
            return ()
        size, pods = self.workloads.size(owner), self._owned.pods(owner)
        if size is None or len(pods) < size.pods:
            return ()
        return [pod for pod in pods if not pod.node_name]

    def _is_exceeded(self, size: WorkloadSize, owner: GroupOwner, pod: PodInfo) -> bool:
        """Whether the pod's workload has more pods than start together by what is known of it."""
        pods = self._owned.pods(owner)
        if not size.pods or len(pods) <= size.pods or owner.kind not in _NEVER_EXCEEDED:
            return False
        controller = pod.pod.metadata.controller
        return sum(each.pod.metadata.controller == controller and not each.terminating for each in pods) > size.pods

    def _is_of_another(self, group: OwnedGroup, owner: GroupOwner, pod: PodInfo) -> bool:
        """Whether the group is known to be another workload's than the pod's."""
        uid = self.workloads.uid(owner, pod)
        return uid is not None and uid != group.controller_uid

    def _is_asked_for(self, namespace: str) -> bool:
        """Whether workloads of the namespace get groups, or may get them for all that is known."""
        mark = self.workloads.mark(namespace)
        return mark is None or mark == "true" or (self._by_default and mark != "false")
