"""The PodGroup API as the scheduler reads it: `podgroups.scheduling.x-k8s.io/v1alpha1`, and how pods join a group.

The structs hold the same fields as scheduler-plugins' CRD. `model` has the same API as pydantic, with its rules.
"""

from __future__ import annotations

import msgspec

from muster.framework.contract import EventResource, WatchedKind
from muster.framework.model.meta import ObjectMeta, Wire
from muster.framework.model.pod_info import PodInfo

NAME = "Coscheduling"
"""Of the plugin."""

GROUP_LABELS = (
    "scheduling.x-k8s.io/pod-group",
    "pod-group.scheduling.sigs.k8s.io",
    "pod-group.scheduling.ming.io",
)
"""Labels by which a pod names its group, the current one first."""


class PodGroupSpec(Wire):
    """What a group asks for. Absent or 0 `schedule_timeout_seconds` leaves the time to the plugin's arguments."""

    min_member: int = 0
    min_resources: dict[str, str | int] = msgspec.field(default_factory=dict)
    schedule_timeout_seconds: int | None = None


class PodGroup(Wire):
    """A PodGroup. Its status is the controller's business and is not kept here."""

    metadata: ObjectMeta
    spec: PodGroupSpec = PodGroupSpec()


POD_GROUPS = WatchedKind(
    EventResource.POD_GROUP, "/apis/scheduling.x-k8s.io/v1alpha1/podgroups", PodGroup, optional=True
)


def group_key(pod: PodInfo) -> str | None:
    """`namespace/name` of the group that the pod's labels name; None for a pod of no group."""
    for label in GROUP_LABELS:
        name = pod.labels.get(label)
        if name:
            return f"{pod.namespace}/{name}"
    return None
