"""Cluster events: what happened in the cluster, and which rejected pods it may help.

Event handlers create them, plugins register for them, and the queue matches the two. The kinds of a pod's update, and
their order, are kube-scheduler's (`PodSchedulingPropertiesChange`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, IntFlag, StrEnum
from typing import Any, Generic, Literal, overload

from typing_extensions import TypeVar

from ..model.node import Node
from ..model.pod_info import PodInfo
from .handle import Obj, WatchedKind

About = TypeVar("About", default=Any)
"""The type of the objects that an event is about."""


class EventResource(StrEnum):
    """Kinds that kube-scheduler's plugins and Coscheduling register for; POD covers the three kinds of pods below it.

    A kind is a plain string, so a plugin may watch others: the name of such a kind is the `resource` of its
    `WatchedKind`.
    """

    POD = "Pod"
    ASSIGNED_POD = "AssignedPod"
    UNSCHEDULED_POD = "UnscheduledPod"
    TARGET_POD = "TargetPod"
    NODE = "Node"
    POD_GROUP = "PodGroup"
    NATIVE_POD_GROUP = "podgroups.v1beta1.scheduling.k8s.io"
    PERSISTENT_VOLUME = "PersistentVolume"
    PERSISTENT_VOLUME_CLAIM = "PersistentVolumeClaim"
    STORAGE_CLASS = "StorageClass"
    CSI_NODE = "CSINode"
    CSI_DRIVER = "CSIDriver"
    CSI_STORAGE_CAPACITY = "CSIStorageCapacity"
    VOLUME_ATTACHMENT = "VolumeAttachment"
    RESOURCE_CLAIM = "ResourceClaim"
    RESOURCE_SLICE = "ResourceSlice"
    DEVICE_CLASS = "DeviceClass"
    NAMESPACE = "Namespace"
    SERVICE = "Service"
    REPLICATION_CONTROLLER = "ReplicationController"
    REPLICA_SET = "ReplicaSet"
    STATEFUL_SET = "StatefulSet"
    POD_DISRUPTION_BUDGET = "PodDisruptionBudget"
    WILDCARD = "*"


_POD_RESOURCES = frozenset({EventResource.ASSIGNED_POD, EventResource.UNSCHEDULED_POD, EventResource.TARGET_POD})


class Action(IntFlag):
    """The kind of change. The update kinds name the part that changed."""

    ADD = 1
    DELETE = 2
    UPDATE_NODE_ALLOCATABLE = 4
    UPDATE_NODE_LABEL = 8
    UPDATE_NODE_TAINT = 16
    UPDATE_NODE_IMAGE = 32
    UPDATE_POD_LABEL = 64
    UPDATE_POD_SCALE_DOWN = 128
    UPDATE_POD_SCALE_UP = 256
    UPDATE_POD_TOLERATION = 512
    UPDATE_POD_SCHEDULING_GATES_ELIMINATED = 1024
    UPDATE_OTHER = 2048
    UPDATE_POD_GENERATED_RESOURCE_CLAIM = 4096
    UPDATE_NODE_DECLARED_FEATURE = 8192
    UPDATE = (
        UPDATE_NODE_ALLOCATABLE
        | UPDATE_NODE_LABEL
        | UPDATE_NODE_TAINT
        | UPDATE_NODE_IMAGE
        | UPDATE_POD_LABEL
        | UPDATE_POD_SCALE_DOWN
        | UPDATE_POD_SCALE_UP
        | UPDATE_POD_TOLERATION
        | UPDATE_POD_SCHEDULING_GATES_ELIMINATED
        | UPDATE_OTHER
        | UPDATE_POD_GENERATED_RESOURCE_CLAIM
        | UPDATE_NODE_DECLARED_FEATURE
    )
    ALL = ADD | DELETE | UPDATE


@dataclass(frozen=True, slots=True, init=False)
class ClusterEvent(Generic[About]):
    """An event, or in a registration a set of events.

    A plugin names a kind that it watches by its `WatchedKind`, for example `ClusterEvent(APPROVALS, Action.ADD)`.

    Attributes:
        resource: the kind of object, see `EventResource`.
        action: what happened; a registration may combine several actions.
        label: the event's name in metrics and logs, e.g. `AssignedPodAdd`; empty in a registration.
    """

    resource: str
    action: Action
    label: str = ""

    @overload
    def __init__(
        self: ClusterEvent[Node], resource: Literal[EventResource.NODE], action: Action, label: str = ""
    ) -> None: ...
    @overload
    def __init__(
        self: ClusterEvent[PodInfo],
        resource: Literal[
            EventResource.POD, EventResource.ASSIGNED_POD, EventResource.UNSCHEDULED_POD, EventResource.TARGET_POD
        ],
        action: Action,
        label: str = "",
    ) -> None: ...
    @overload
    def __init__(self: ClusterEvent[Obj], resource: WatchedKind[Obj], action: Action, label: str = "") -> None: ...
    @overload
    def __init__(self, resource: str, action: Action, label: str = "") -> None: ...
    def __init__(self, resource: str | WatchedKind[Any], action: Action, label: str = "") -> None:
        object.__setattr__(self, "resource", resource.resource if isinstance(resource, WatchedKind) else resource)
        object.__setattr__(self, "action", action)
        object.__setattr__(self, "label", label)

    @property
    def wildcard(self) -> bool:
        """Whether the event concerns every pod, whichever plugins rejected it."""
        return self.resource == EventResource.WILDCARD

    def matches(self, other: ClusterEvent) -> bool:
        """Whether the event `other` is one of those that this registration names."""
        if not self.action & other.action:
            return False
        return self.resource == other.resource or (
            self.resource == EventResource.POD and other.resource in _POD_RESOURCES
        )


class Hint(Enum):
    """A plugin's answer whether an event may make a pod schedulable that the plugin rejected."""

    QUEUE = "Queue"
    SKIP = "QueueSkip"

    @classmethod
    def queue_if(cls, helps: bool) -> Hint:
        """QUEUE for an event that helps, SKIP for any other."""
        return cls.QUEUE if helps else cls.SKIP


HintFunction = Callable[[PodInfo, Any, Any], Hint]
"""`(pod, old, new) -> Hint`: `old` is None for an add, `new` is None for a delete. An exception counts as QUEUE."""
HintAbout = (
    Callable[[PodInfo, About, About], Hint]
    | Callable[[PodInfo, None, About], Hint]
    | Callable[[PodInfo, About, None], Hint]
)
"""A `HintFunction` about objects of one type: `Node`, `PodInfo`, or the struct of a watched kind.

A hint for adds and deletes takes `old: Approval | None, new: Approval | None`; a hint that is registered for updates
alone, for adds alone or for deletes alone may declare the narrower types that it then receives.
"""


@dataclass(frozen=True, slots=True, init=False)
class EventRegistration(Generic[About]):
    """Events that may help a pod which the plugin rejected; without a `hint` each of them does.

    Attributes:
        event: the events.
        hint: which of the events help.
        by_signature: whether the hint depends only on the pod's spec, the two objects and the cluster. The hint is then
            called once for all pods of a signature, which matters where thousands wait.
        by_class: whether the hint depends on the pod's namespace, labels and controller besides, so that one pod of
            those that have these in common answers for all.
        by_group: whether the hint depends only on the pod's group and the two objects, so that one pod of those that
            wait with their group answers for all. The hint finds the group in the books of the group plugins
            (`GROUP_BOOKS` in `framework/groups`).
        of_gated: whether the events may also help pods that the plugin gates at PreEnqueue. The hint is called for each
            gated pod. Set it to False if thousands of pods may be gated.
    """

    event: ClusterEvent[About]
    hint: HintFunction | None = None
    by_signature: bool = False
    by_class: bool = False
    by_group: bool = False
    of_gated: bool = True

    def __init__(
        self,
        event: ClusterEvent[About],
        hint: HintAbout[About] | None = None,
        *,
        by_signature: bool = False,
        by_class: bool = False,
        by_group: bool = False,
        of_gated: bool = True,
    ) -> None:
        object.__setattr__(self, "event", event)
        object.__setattr__(self, "hint", hint)
        object.__setattr__(self, "by_signature", by_signature)
        object.__setattr__(self, "by_class", by_class)
        object.__setattr__(self, "by_group", by_group)
        object.__setattr__(self, "of_gated", of_gated)


NODE_ADD = ClusterEvent(EventResource.NODE, Action.ADD, "NodeAdd")
NODE_DELETE = ClusterEvent(EventResource.NODE, Action.DELETE, "NodeDelete")
NODE_UPDATES = tuple(
    ClusterEvent(EventResource.NODE, action, f"Node{label}")
    for action, label in (
        (Action.UPDATE_NODE_ALLOCATABLE, "UpdateNodeAllocatable"),
        (Action.UPDATE_NODE_LABEL, "UpdateNodeLabel"),
        (Action.UPDATE_NODE_TAINT, "UpdateNodeTaint"),
        (Action.UPDATE_NODE_IMAGE, "UpdateNodeImage"),
        (Action.UPDATE_NODE_DECLARED_FEATURE, "UpdateNodeDeclaredFeature"),
    )
)
"""One event for each part of a node that may change."""
ASSIGNED_POD_ADD = ClusterEvent(EventResource.ASSIGNED_POD, Action.ADD, "AssignedPodAdd")
ASSIGNED_POD_DELETE = ClusterEvent(EventResource.ASSIGNED_POD, Action.DELETE, "AssignedPodDelete")
UNSCHEDULED_POD_ADD = ClusterEvent(EventResource.UNSCHEDULED_POD, Action.ADD, "UnscheduledPodAdd")
UNSCHEDULED_POD_DELETE = ClusterEvent(EventResource.UNSCHEDULED_POD, Action.DELETE, "UnscheduledPodDelete")
UNSCHEDULABLE_TIMEOUT = ClusterEvent(EventResource.WILDCARD, Action.ALL, "UnschedulableTimeout")
FORCE_ACTIVATE = ClusterEvent(EventResource.WILDCARD, Action.ALL, "ForceActivate")


def _target_pod(action: Action, kind: str) -> ClusterEvent:
    return ClusterEvent(EventResource.TARGET_POD, action, f"TargetPod{kind}")


TARGET_POD_LABEL = _target_pod(Action.UPDATE_POD_LABEL, "UpdatePodLabel")
TARGET_POD_SCALE_DOWN = _target_pod(Action.UPDATE_POD_SCALE_DOWN, "UpdatePodScaleDown")
TARGET_POD_SCALE_UP = _target_pod(Action.UPDATE_POD_SCALE_UP, "UpdatePodScaleUp")
TARGET_POD_GATES_ELIMINATED = _target_pod(
    Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED, "UpdatePodSchedulingGatesEliminated"
)
TARGET_POD_TOLERATION = _target_pod(Action.UPDATE_POD_TOLERATION, "UpdatePodToleration")
TARGET_POD_GENERATED_CLAIM = _target_pod(Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM, "UpdatePodGeneratedResourceClaim")
TARGET_POD_OTHER = _target_pod(Action.UPDATE_OTHER, "Update")

_OF_ASSIGNED = {
    event: ClusterEvent(EventResource.ASSIGNED_POD, event.action, event.label.replace("Target", "Assigned"))
    for event in (
        TARGET_POD_LABEL,
        TARGET_POD_SCALE_DOWN,
        TARGET_POD_SCALE_UP,
        TARGET_POD_GATES_ELIMINATED,
        TARGET_POD_TOLERATION,
        TARGET_POD_GENERATED_CLAIM,
        TARGET_POD_OTHER,
    )
}


def pod_update_events(old: PodInfo, new: PodInfo) -> tuple[ClusterEvent, ...]:
    """The events that follow from the update of a waiting pod; `TARGET_POD_OTHER` alone if none of the others does."""
    found: list[ClusterEvent] = []
    if old.labels != new.labels:
        found.append(TARGET_POD_LABEL)
    if old.signature is not new.signature:
        before, after = old.signature.requests, new.signature.requests
        if _any_less(after, before):
            found.append(TARGET_POD_SCALE_DOWN)
        if _any_less(before, after):
            found.append(TARGET_POD_SCALE_UP)
        if old.pod.spec.scheduling_gates and not new.pod.spec.scheduling_gates:
            found.append(TARGET_POD_GATES_ELIMINATED)
        # A toleration of a pod can be added, never taken away or changed.
        if len(old.pod.spec.tolerations) != len(new.pod.spec.tolerations):
            found.append(TARGET_POD_TOLERATION)
    if old.pod.status.resource_claim_statuses != new.pod.status.resource_claim_statuses:
        found.append(TARGET_POD_GENERATED_CLAIM)
    return tuple(found) or (TARGET_POD_OTHER,)


def assigned_pod_update_events(old: PodInfo, new: PodInfo) -> tuple[ClusterEvent, ...]:
    """The events that follow from the update of a pod with a node; see `pod_update_events`."""
    return tuple(_OF_ASSIGNED[event] for event in pod_update_events(old, new))


def _any_less(requests: Mapping[str, int], than: Mapping[str, int]) -> bool:
    return any(requests.get(resource, -1) < amount for resource, amount in than.items())
