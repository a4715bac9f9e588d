"""Cluster events: what happened in the cluster, and which rejected pods it may help.

Informer handlers make them, plugins register for them, the queue matches the two.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, IntFlag, StrEnum

from ..model.pod_info import PodInfo


class Resource(StrEnum):
    """The kind of object an event is about. POD covers the three kinds of pod events below it."""

    POD = "Pod"
    ASSIGNED_POD = "AssignedPod"
    UNSCHEDULED_POD = "UnscheduledPod"
    TARGET_POD = "TargetPod"
    NODE = "Node"
    POD_GROUP = "PodGroup"
    PERSISTENT_VOLUME = "PersistentVolume"
    PERSISTENT_VOLUME_CLAIM = "PersistentVolumeClaim"
    STORAGE_CLASS = "StorageClass"
    CSI_NODE = "CSINode"
    WILDCARD = "*"


_POD_RESOURCES = frozenset({Resource.ASSIGNED_POD, Resource.UNSCHEDULED_POD, Resource.TARGET_POD})


class Action(IntFlag):
    """What happened to it. The update kinds say which part changed."""

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
    UPDATE = 4 + 8 + 16 + 32 + 64 + 128 + 256 + 512 + 1024 + 2048
    ALL = 4095


@dataclass(frozen=True, slots=True)
class ClusterEvent:
    """An event, or in a registration a set of events.

    Attributes:
        resource: the kind of object.
        action: bits of what happened; a registration may join several.
        label: the event's name in metrics and logs, e.g. `AssignedPodAdd`; empty in a registration.
    """

    resource: Resource
    action: Action
    label: str = ""

    @property
    def wildcard(self) -> bool:
        """Whether it concerns every pod, whoever rejected it."""
        return self.resource is Resource.WILDCARD

    def matches(self, other: ClusterEvent) -> bool:
        """Whether `other`, something that happened, is among what this registration asks for."""
        if not self.action & other.action:
            return False
        return self.resource is other.resource or (self.resource is Resource.POD and other.resource in _POD_RESOURCES)


class Hint(Enum):
    """A plugin's word on whether an event may make a pod it rejected schedulable."""

    QUEUE = "Queue"
    SKIP = "QueueSkip"


HintFunction = Callable[[PodInfo, object, object], Hint]
"""`(pod, old, new) -> Hint`: `old` is None for an add, `new` is None for a delete. An exception counts as QUEUE."""


@dataclass(frozen=True, slots=True)
class EventRegistration:
    """Events that may help a pod which the plugin rejected; without a `hint` each of them does.

    Attributes:
        event: the events.
        hint: which of them help.
        by_shape: whether the hint goes by nothing but the pod's spec and the two objects. Pods of one shape are then
            answered together, which counts where thousands wait.
    """

    event: ClusterEvent
    hint: HintFunction | None = None
    by_shape: bool = False


NODE_ADD = ClusterEvent(Resource.NODE, Action.ADD, "NodeAdd")
NODE_DELETE = ClusterEvent(Resource.NODE, Action.DELETE, "NodeDelete")
NODE_UPDATES = tuple(
    ClusterEvent(Resource.NODE, action, f"Node{label}")
    for action, label in (
        (Action.UPDATE_NODE_ALLOCATABLE, "UpdateNodeAllocatable"),
        (Action.UPDATE_NODE_LABEL, "UpdateNodeLabel"),
        (Action.UPDATE_NODE_TAINT, "UpdateNodeTaint"),
        (Action.UPDATE_NODE_IMAGE, "UpdateNodeImage"),
    )
)
"""One event for each part of a node that may change."""
ASSIGNED_POD_ADD = ClusterEvent(Resource.ASSIGNED_POD, Action.ADD, "AssignedPodAdd")
ASSIGNED_POD_DELETE = ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE, "AssignedPodDelete")
UNSCHEDULED_POD_ADD = ClusterEvent(Resource.UNSCHEDULED_POD, Action.ADD, "UnscheduledPodAdd")
UNSCHEDULED_POD_DELETE = ClusterEvent(Resource.UNSCHEDULED_POD, Action.DELETE, "UnscheduledPodDelete")
UNSCHEDULABLE_TIMEOUT = ClusterEvent(Resource.WILDCARD, Action.ALL, "UnschedulableTimeout")
FORCE_ACTIVATE = ClusterEvent(Resource.WILDCARD, Action.ALL, "ForceActivate")
