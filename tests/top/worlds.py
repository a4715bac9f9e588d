"""Clusters for `muster top`: groups and pods in every state, as the API shows them."""

from collections.abc import Sequence
from typing import Any

import msgspec

from muster.framework.model.pod import Pod
from muster.operator.podgroups.membership import GroupKinds
from muster.operator.web.cluster import ClusterState
from muster.plugins.catalog import group_kinds
from muster.plugins.coscheduling.api import POD_GROUPS, PodGroup
from tests.builders import PodDict, make_pod
from tests.web.served import member

KINDS = GroupKinds(group_kinds())


def group(name: str, needs: int, *, created: str = "2026-01-01T00:00:00Z") -> dict[str, Any]:
    """A PodGroup that needs so many pods."""
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default", "creationTimestamp": created},
        "spec": {"minMember": needs},
    }


def said(pod: PodDict, reason: str, message: str = "no room") -> PodDict:
    """The pod with a condition that says why it waits."""
    condition = {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}
    return PodDict({**pod, "status": {"phase": "Pending", "conditions": [condition]}})


def gated(name: str) -> PodDict:
    """A pod with a scheduling gate."""
    pod = make_pod(name)
    pod["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]
    return pod


def cluster(groups: Sequence[dict[str, Any]], pods: Sequence[PodDict]) -> ClusterState:
    """A cluster of these, without nodes."""
    read = [msgspec.convert(each, PodGroup) for each in groups]
    return ClusterState([], [msgspec.convert(dict(each), Pod) for each in pods], KINDS, {POD_GROUPS: read})


def mixed() -> ClusterState:
    """A group of each sort and a pod in each state."""
    return cluster(
        [group("train", 2), group("done", 1, created="2025-01-01T00:00:00Z"), group("bare", 3)],
        [
            *(said(member("train", number), "Unschedulable") for number in range(2)),
            member("done", 0).node("node-1"),
            said(make_pod("kept"), "WaitingOnPermit", "quota is asked"),
            said(make_pod("broken"), "SchedulerError"),
            said(make_pod("large"), "Unschedulable"),
            gated("gated"),
            make_pod("fresh"),
        ],
    )
