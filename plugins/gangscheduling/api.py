"""Kubernetes' own PodGroup, `podgroups.scheduling.k8s.io/v1beta1`: the fields that are read, and how pods join.

The informer decodes PodGroups with these structs. The API server has validated them; everything in a spec but
`schedulingPolicy.gang.minCount` is immutable.
"""

from __future__ import annotations

from typing import Any

import msgspec

from muster.framework.contract import EventResource, WatchedKind
from muster.framework.groups import GroupMeta
from muster.framework.model.integers import Int32, Int64
from muster.framework.model.meta import Wire
from muster.framework.model.pod import PodResourceClaim, PodSchedulingGroup
from muster.framework.model.pod_info import PodInfo
from muster.framework.model.times import Time

NAME = "GangScheduling"
"""The plugin's name."""

GROUP = "scheduling.k8s.io"
API_VERSION = f"{GROUP}/v1beta1"
PLURAL = "podgroups"
KIND = "PodGroup"

INITIALLY_SCHEDULED = "PodGroupInitiallyScheduled"
"""The type of the condition that reports whether the group has been scheduled. Once True, it stays True."""

PREEMPT_LOWER_PRIORITY = "PreemptLowerPriority"
"""The preemption policy of pods and groups that name none."""

NEVER = "Never"
"""The preemption policy of pods and groups that evict no pods."""


class GangPolicy(Wire):
    """`spec.schedulingPolicy.gang`: the least number of pods to schedule at once."""

    min_count: Int32 = 1


class SchedulingPolicy(Wire):
    """`spec.schedulingPolicy`: `basic`, which requires nothing, if `gang` is None."""

    gang: GangPolicy | None = None


class TopologyConstraint(Wire):
    """`spec.schedulingConstraints.topology[]`: all pods go to nodes with the same value of this label."""

    key: str = ""


class SchedulingConstraints(Wire):
    """`spec.schedulingConstraints`."""

    topology: tuple[TopologyConstraint, ...] = ()


class DisruptionMode(Wire):
    """`spec.disruptionMode`: with `all`, the group's pods are evicted together or not at all."""

    all: dict[str, Any] | None = None


class GroupSpec(Wire):
    """The common part of the `spec` of a PodGroup and of a CompositePodGroup.

    If the group names no preemption policy, the policies of its members count.
    """

    scheduling_constraints: SchedulingConstraints | None = None
    disruption_mode: DisruptionMode | None = None
    priority: Int32 | None = None
    preemption_policy: str | None = None
    parent_composite_pod_group_name: str | None = None

    @property
    def disrupted_together(self) -> bool:
        """Whether all pods in the group are evicted together or not at all."""
        return self.disruption_mode is not None and self.disruption_mode.all is not None


class NativePodGroupSpec(GroupSpec):
    """`spec`. Pods that refer to the same claim of the group share its devices."""

    scheduling_policy: SchedulingPolicy = SchedulingPolicy()
    resource_claims: tuple[PodResourceClaim, ...] = ()

    @property
    def min_count(self) -> int:
        """The number of pods to schedule at once; 1 for a group without a gang policy."""
        gang = self.scheduling_policy.gang
        return 1 if gang is None else gang.min_count


class NativePodGroupCondition(Wire, omit_defaults=False):
    """`status.conditions[]`."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: Time | None = None
    observed_generation: Int64 = 0


class NativePodGroupStatus(Wire):
    """`status`."""

    conditions: tuple[NativePodGroupCondition, ...] = ()


class NativePodGroup(Wire):
    """A PodGroup."""

    metadata: GroupMeta
    spec: NativePodGroupSpec = msgspec.field(default_factory=NativePodGroupSpec)
    status: NativePodGroupStatus = msgspec.field(default_factory=NativePodGroupStatus)

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.metadata.namespace}/{self.metadata.name}"

    @property
    def annotations(self) -> dict[str, str]:
        """The annotations with Muster's prefix."""
        return self.metadata.annotations

    def condition(self) -> NativePodGroupCondition | None:
        """The condition that reports whether the group has been scheduled; None without one."""
        return next((each for each in self.status.conditions if each.type == INITIALLY_SCHEDULED), None)


POD_GROUPS = WatchedKind(
    EventResource.NATIVE_POD_GROUP, f"/apis/{API_VERSION}/{PLURAL}", NativePodGroup, optional=True, kind=KIND
)
"""The PodGroups, which the plugin watches if the cluster serves them."""


def group_key(pod: PodInfo) -> str | None:
    """`namespace/name` of the group that the pod names; None for a pod of no group."""
    group = pod.pod.spec.scheduling_group
    return None if group is None else group_named(pod.namespace, group)


def group_named(namespace: str, group: PodSchedulingGroup | None) -> str | None:
    """`namespace/name` of the group that a pod in this namespace names in its `spec.schedulingGroup`."""
    name = group.pod_group_name if group is not None else None
    return f"{namespace}/{name}" if name else None
