"""Pods as a history creates them: single pods and members of groups, with the labels that identify them."""

from __future__ import annotations

from muster.sandbox.objects import Object
from muster.testing.builders import PodDict, make_pod

APP = "app"
"""A label of pods: what they are called but for their numbers. PodDisruptionBudgets name it."""
GROUP_LABEL = "scheduling.x-k8s.io/pod-group"
URGENT = "urgent"
"""The priority class of pods that evict others."""


def one_of(app: str, number: int, cpu: int, urgent: bool) -> PodDict:
    """A pod by itself; `cpu` in thousandths."""
    pod = make_pod(f"{app}-{number}").requests(cpu=f"{cpu}m").labels({APP: app})
    return pod.priority_class(URGENT) if urgent else pod


def member_of(group: str, number: int, cpu: int, native: bool, *, urgent: bool) -> PodDict:
    """A member of a group, of Kubernetes' own or by label."""
    pod = one_of(group, number, cpu, urgent)
    if not native:
        return pod.labels({GROUP_LABEL: group})
    pod["spec"]["schedulingGroup"] = {"podGroupName": group}
    return pod


def group_of(pod: Object) -> str | None:
    """The name of the group that a pod belongs to, of either kind."""
    native: str | None = (pod["spec"].get("schedulingGroup") or {}).get("podGroupName")
    return native or (pod["metadata"].get("labels") or {}).get(GROUP_LABEL)
