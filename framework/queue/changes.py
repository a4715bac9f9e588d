"""Which events the update of a pod amounts to. The kinds and their order are kube-scheduler's.

The queue asks when a pod that waits changes, the intake when one that has a node does.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..contract.events import Action, ClusterEvent, EventResource
from ..model.pod_info import PodInfo


def _event(action: Action, kind: str) -> ClusterEvent:
    return ClusterEvent(EventResource.TARGET_POD, action, f"TargetPod{kind}")


LABEL = _event(Action.UPDATE_POD_LABEL, "UpdatePodLabel")
SCALE_DOWN = _event(Action.UPDATE_POD_SCALE_DOWN, "UpdatePodScaleDown")
SCALE_UP = _event(Action.UPDATE_POD_SCALE_UP, "UpdatePodScaleUp")
GATES_ELIMINATED = _event(Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED, "UpdatePodSchedulingGatesEliminated")
TOLERATION = _event(Action.UPDATE_POD_TOLERATION, "UpdatePodToleration")
OTHER = _event(Action.UPDATE_OTHER, "Update")

_OF_ASSIGNED = {
    event: ClusterEvent(EventResource.ASSIGNED_POD, event.action, event.label.replace("Target", "Assigned"))
    for event in (LABEL, SCALE_DOWN, SCALE_UP, GATES_ELIMINATED, TOLERATION, OTHER)
}


def pod_update_events(old: PodInfo, new: PodInfo) -> tuple[ClusterEvent, ...]:
    """The kinds of change between two versions of a pod that waits; `OTHER` when it is none of the named ones."""
    found: list[ClusterEvent] = []
    if old.labels != new.labels:
        found.append(LABEL)
    if old.signature is not new.signature:
        before, after = old.signature.requests, new.signature.requests
        if _any_less(after, before):
            found.append(SCALE_DOWN)
        if _any_less(before, after):
            found.append(SCALE_UP)
        if old.pod.spec.scheduling_gates and not new.pod.spec.scheduling_gates:
            found.append(GATES_ELIMINATED)
        # A toleration of a pod can be added, never taken away or changed.
        if len(old.pod.spec.tolerations) != len(new.pod.spec.tolerations):
            found.append(TOLERATION)
    return tuple(found) or (OTHER,)


def assigned_pod_update_events(old: PodInfo, new: PodInfo) -> tuple[ClusterEvent, ...]:
    """The same for a pod that has a node."""
    return tuple(_OF_ASSIGNED[event] for event in pod_update_events(old, new))


def _any_less(requests: Mapping[str, int], than: Mapping[str, int]) -> bool:
    return any(requests.get(resource, -1) < amount for resource, amount in than.items())
