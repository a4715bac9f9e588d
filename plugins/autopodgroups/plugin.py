"""AutoPodGroups: keeps the pods of a workload from starting alone before the workload has a PodGroup.

The hard part is the race between the scheduler and the creator of the group. Kubernetes' pods belong to a PodGroup of
scheduling.x-k8s.io by a label, and to one of scheduling.k8s.io by a field that cannot be changed. Labels could be
written from outside, but each pod would cost a request, the scheduler would need the right to change any pod, and a pod
could be decided before its label arrives. So no pod is marked:

- Members are found by owner: a pod that names no group belongs to the PodGroup whose controller is the pod's workload
  (`framework/groups/owners.py`). The books of groups do this for both kinds of PodGroups, so that a group of this
  plugin is decided, reported and healed like any other.
- PreEnqueue gates a pod from the moment it is seen until the group exists and needs as many pods as the workload has.
  It gates the pod as well while the workload, or the label of its namespace, is not known yet, because the watches of
  different kinds are not in step. So no pod of such a workload is decided alone, whichever of pod, workload, namespace
  and group is seen first. The same holds for new pods of a Job or StatefulSet that grows, even from a single pod: more
  pods than its known size mean that the size is out of date.
- The plugin writes nothing. It says which groups pods wait for (`WorkloadGroups`), and the leader's controller creates
  them with the workload as their controller: the garbage collector deletes a group with its workload.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from muster.framework.contract import (
    DecisionFollower,
    EnqueueExtensions,
    EventRegistration,
    Handle,
    ObjectFollower,
    PodFollower,
    PodInfo,
    PreEnqueuePlugin,
    Status,
)
from muster.framework.groups import (
    OWNED_PODS,
    GroupOwner,
    MissingGroups,
    OwnedPods,
    OwnerKind,
    WorkloadGroupPlugin,
    group_missing,
    pod_owner,
)

from .api import JOB_SETS, JOBS, LEADER_WORKER_SETS, NAME, NAMESPACES, STATEFUL_SETS
from .args import AutoPodGroupsArgs
from .groups import AutoGroups
from .recording_fields import RECORDED
from .workloads import Workloads


class AutoPodGroups(
    PreEnqueuePlugin[AutoPodGroupsArgs],
    EnqueueExtensions[AutoPodGroupsArgs],
    PodFollower[AutoPodGroupsArgs],
    ObjectFollower[AutoPodGroupsArgs],
    DecisionFollower[AutoPodGroupsArgs],
    WorkloadGroupPlugin[AutoPodGroupsArgs],
):
    """Gates pods until their workload has a group, and says which groups are missing."""

    name = NAME
    args_model = AutoPodGroupsArgs
    recorded = RECORDED
    watches = (NAMESPACES, JOBS, STATEFUL_SETS, JOB_SETS, LEADER_WORKER_SETS)

    def __init__(self, args: AutoPodGroupsArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._owned = handle.shared(OWNED_PODS, OwnedPods)
        self._owned.begin()
        self._groups = handle.shared(NAME, lambda: AutoGroups(args, self._owned, Workloads(self._owned, handle)))
        self._groups.profiles.add(handle.profile_name)
        self._missing = MissingGroups(self._groups, handle)

    @property
    def workload_groups(self) -> AutoGroups:
        """The groups that workloads need."""
        return self._groups

    def events_to_register(self) -> Sequence[EventRegistration]:
        """No events: the plugin itself, and the plugin of the group, activate the pods in question."""
        return ()

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        """Gates a pod whose workload is to have a group until the group can be trusted."""
        owner = self._groups.awaited(pod)
        return None if owner is None else Status.unresolvable(group_missing(owner.group))

    def on_pre_enqueue(self, pod: PodInfo, status: Status | None) -> None:
        """Reports a pod whose group does not come."""
        owner = self._groups.awaited(pod)
        if owner is None:
            self._missing.waits_no_more(pod.uid)
        else:
            self._missing.waits_for(pod, owner.group)

    def on_pod(self, old: PodInfo | None, new: PodInfo | None) -> None:
        """Follows pods by owner. A pod may be the first that waits for a group, or the leader that is to own it."""
        self._owned.follow_pod(old, new)
        if old is not None and not old.terminating and (new is None or new.terminating):
            self.handle.activate({pod.key: pod for pod in self._groups.relieved(old)})
        if new is None:
            if old is not None:
                self._missing.waits_no_more(old.uid)
            return
        if old is not None and not new.node_name and pod_owner(old.pod) != pod_owner(new.pod):
            # Its workload left it behind, or it names a group now. The queue has the new version only after this call.
            self.handle.clock.call_later(0, partial(self.handle.activate, {new.key: new}))
        owner = self._groups.awaited(new) or _led(new)
        if owner is not None:
            self._groups.changed(owner)

    def on_object(self, resource: str, old: object | None, new: object | None) -> None:
        """Asks again about pods that wait, or begin to wait, because a workload or a namespace changed."""
        for owner in self._groups.workloads.follow(old, new):
            self.handle.activate({pod.key: pod for pod in self._owned.pods(owner) if not pod.node_name})
            self._groups.changed(owner)


def _led(pod: PodInfo) -> GroupOwner | None:
    """The replica that the pod leads; None for any other pod."""
    owner = pod_owner(pod.pod)
    return owner if owner is not None and owner.kind is OwnerKind.LEADER and owner.name == pod.name else None
