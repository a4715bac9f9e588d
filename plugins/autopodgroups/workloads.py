"""The workloads that own groups: how many pods of each start together, and which pods a change of one concerns.

Workloads are not kept here: the listers of the watched kinds have them. `AutoGroups` asks.
"""

from __future__ import annotations

from collections import defaultdict

from muster.framework.contract import Handle, PodInfo, WatchedKind
from muster.framework.groups import JOB_SET_NAME, LEADER_WORKER_SET_NAME, GroupOwner, OwnedPods, OwnerKind
from muster.framework.model.meta import OwnerReference
from muster.framework.model.names import PREFIX
from muster.framework.model.workloads import Namespace, StatefulSet

from .api import (
    JOB_SET_UID,
    JOB_SETS,
    JOBS,
    LEADER_WORKER_SET_SIZE,
    LEADER_WORKER_SETS,
    NAMESPACES,
    STATEFUL_SETS,
    Job,
    JobSet,
    LeaderWorkerSet,
)
from .sizes import WorkloadSize, done_in_set, job_set_size, job_size, replica_size, stateful_set_size

LABEL = f"{PREFIX}auto-pod-groups"
"""The label of namespaces whose workloads get groups ("true"), or do not get them ("false")."""

_KINDS: dict[OwnerKind, WatchedKind] = {
    OwnerKind.JOB: JOBS,
    OwnerKind.STATEFUL_SET: STATEFUL_SETS,
    OwnerKind.JOB_SET: JOB_SETS,
}


class Workloads:
    """All workloads by owner. `handle` may be the handle of any profile: what is used of it is the same in all."""

    def __init__(self, owned: OwnedPods, handle: Handle) -> None:
        self._owned = owned
        self._lister = handle.lister
        self._done: defaultdict[GroupOwner, dict[str, int]] = defaultdict(dict)

    def mark(self, namespace: str) -> str | None:
        """The namespace's label, "" for none; None while the namespace is not known."""
        found = self._lister(NAMESPACES).get(namespace)
        return None if found is None else found.metadata.labels.get(LABEL, "")

    def size(self, owner: GroupOwner) -> WorkloadSize | None:
        """The size of a workload; None while the workload is not known."""
        if owner.kind is OwnerKind.LEADER:
            return self._replica_size(owner)
        found = self._lister(_KINDS[owner.kind]).get(owner.key)
        if isinstance(found, Job):
            return job_size(found)
        if isinstance(found, StatefulSet):
            return stateful_set_size(found)
        if isinstance(found, JobSet):
            return job_set_size(found, sum(self._done.get(owner, {}).values()))
        return None

    def reference(self, owner: GroupOwner) -> OwnerReference | None:
        """The reference to a workload as the controller of an object; None while it is not known, or being deleted."""
        if owner.kind is OwnerKind.LEADER:
            pods = (pod.pod for pod in self._owned.pods(owner) if pod.name == owner.name)
            version, found = "v1", next(pods, None)
        else:
            kind = _KINDS[owner.kind]
            version, found = kind.api_version, self._lister(kind).get(owner.key)
        if found is None or found.metadata.deletion_timestamp is not None:
            return None
        uid = found.metadata.uid
        return OwnerReference(api_version=version, kind=owner.kind, name=owner.name, uid=uid, controller=True)

    def uid(self, owner: GroupOwner, pod: PodInfo) -> str | None:
        """The UID of the workload that has this pod; None if it is not known, or being deleted.

        What the pod says comes first, because the workload that is known by this name may be one that is deleted.
        """
        controller = pod.pod.metadata.controller
        if controller is not None and owner.kind in (OwnerKind.JOB, OwnerKind.STATEFUL_SET):
            return controller.uid
        said = pod.labels.get(JOB_SET_UID) if owner.kind is OwnerKind.JOB_SET else None
        reference = None if said else self.reference(owner)
        return said or (None if reference is None else reference.uid)

    def follow(self, old: object | None, new: object | None) -> list[GroupOwner]:
        """A workload or a namespace was added, changed or deleted. The owners with pods that this may concern."""
        found = new or old
        if old is not None and new is not None and _essence(old) == _essence(new):
            return []
        if isinstance(found, Namespace):
            return [owner for owner in self._owned.owners() if owner.namespace == found.metadata.name]
        if isinstance(found, LeaderWorkerSet):
            meta = found.metadata
            return [owner for owner in self._owned.owners() if self._replicated(owner) == meta.key]
        if isinstance(found, Job):
            owner = self._follow_job(found, is_gone=new is None)
        elif isinstance(found, StatefulSet):
            owner = GroupOwner(found.metadata.namespace, OwnerKind.STATEFUL_SET, found.metadata.name)
        elif isinstance(found, JobSet):
            owner = GroupOwner(found.metadata.namespace, OwnerKind.JOB_SET, found.metadata.name)
        else:
            return []
        return [owner] if self._owned.pods(owner) else []

    def _follow_job(self, job: Job, *, is_gone: bool) -> GroupOwner:
        meta = job.metadata
        job_set = meta.labels.get(JOB_SET_NAME)
        if not job_set:
            return GroupOwner(meta.namespace, OwnerKind.JOB, meta.name)
        owner = GroupOwner(meta.namespace, OwnerKind.JOB_SET, job_set)
        done = 0 if is_gone else done_in_set(job)
        if done:
            self._done[owner][meta.name] = done
        elif owner in self._done:
            self._done[owner].pop(meta.name, None)
            if not self._done[owner]:
                del self._done[owner]
        return owner

    def _replica_size(self, owner: GroupOwner) -> WorkloadSize | None:
        pod = self._first_pod(owner)
        found = self._lister(LEADER_WORKER_SETS).get(self._replicated(owner))
        if pod is None or found is None:
            return None
        return replica_size(found, pod.pod.metadata.annotations.get(LEADER_WORKER_SET_SIZE, ""))

    def _replicated(self, owner: GroupOwner) -> str:
        """`namespace/name` of the LeaderWorkerSet that has this replica; "" for another owner."""
        pod = self._first_pod(owner) if owner.kind is OwnerKind.LEADER else None
        return "" if pod is None else f"{owner.namespace}/{pod.labels.get(LEADER_WORKER_SET_NAME, '')}"

    def _first_pod(self, owner: GroupOwner) -> PodInfo | None:
        return next(iter(self._owned.pods(owner)), None)


def _essence(found: object) -> object:
    """The parts that are read of a namespace or a workload; a status changes often, and mostly in other ways."""
    if isinstance(found, Namespace):
        return found.metadata.labels.get(LABEL)
    if isinstance(found, Job):
        return job_size(found), done_in_set(found)
    if isinstance(found, StatefulSet):
        return stateful_set_size(found)
    if isinstance(found, (JobSet, LeaderWorkerSet)):
        return found.spec, found.metadata.annotations
    return found
