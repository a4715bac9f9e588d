"""Membership: which group a pod is in, whichever of the two kinds of PodGroups that is.

A pod that names a group of scheduling.k8s.io in its spec is a member of that alone, whatever its labels say.
"""

from __future__ import annotations

from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import PodInfo
from muster.plugins.coscheduling import api as labelled
from muster.plugins.gangscheduling import api as native


def group_key(pod: PodInfo) -> str | None:
    """`namespace/name` of the pod's group; None for a pod of no group."""
    return native.group_key(pod) or labelled.group_key(pod)


def is_native(pod: Pod) -> bool:
    """Whether the pod is a member of a group of scheduling.k8s.io."""
    return pod.spec.scheduling_group is not None


def group_of(pod: Pod) -> str | None:
    """The same of a pod as it was read."""
    meta = pod.metadata
    if is_native(pod):
        return native.group_named(meta.namespace, pod.spec.scheduling_group)
    return labelled.group_named(meta.namespace, meta.labels)
