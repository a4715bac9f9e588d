"""The events that may help pods that VolumeBinding rejected, with kube-scheduler's hints."""

from __future__ import annotations

from typing import Final

from muster.framework.contract import Action, ClusterEvent, EventRegistration, EventResource, Hint
from muster.framework.model.pod_info import PodInfo
from muster.framework.model.pod_volumes import mounts_of
from muster.framework.model.volume_migration import MIGRATED_PLUGINS
from muster.framework.model.volumes import CSIDriver, CSINode, CSIStorageCapacity, StorageClass

from .capacities import limit_of
from .hints import mounted_claim
from .storage import CAPACITIES, CLAIMS, CLASSES, CSI_DRIVERS, CSI_NODES, VOLUMES

_ADD_OR_UPDATE = Action.ADD | Action.UPDATE


def _other_topologies(pod: PodInfo, old: StorageClass | None, new: StorageClass) -> Hint:
    """Any new class; an old one when its volumes can be elsewhere."""
    return Hint.queue_if(old is None or old.allowed_topologies != new.allowed_topologies)


def _other_plugins_migrated(pod: PodInfo, old: CSINode | None, new: CSINode) -> Hint:
    return Hint.queue_if(old is None or _migrated(old) != _migrated(new))


def _migrated(csi_node: CSINode) -> str:
    return csi_node.metadata.annotations.get(MIGRATED_PLUGINS, "")


def _capacity_counts_no_more(pod: PodInfo, old: CSIDriver, new: CSIDriver) -> Hint:
    """A driver of one of the pod's inline volumes that tracked capacity, and does so no longer."""
    stopped = bool(old.spec.storage_capacity) and not new.spec.storage_capacity
    inline = any(volume.csi is not None and volume.csi.driver == new.metadata.name for volume in pod.pod.spec.volumes)
    return Hint.queue_if(stopped and inline)


def _more_capacity(pod: PodInfo, old: CSIStorageCapacity | None, new: CSIStorageCapacity) -> Hint:
    before, after = None if old is None else limit_of(old), limit_of(new)
    return Hint.queue_if(old is None or (after is not None and (before is None or after > before)))


def _gave_back(pod: PodInfo, old: PodInfo, new: None) -> Hint:
    """A pod with claims that is not bound after all: no volume shows that what was assumed for it is free again."""
    return Hint.queue_if(not old.node_name and bool(mounts_of(old.pod)))


REGISTRATIONS: Final = (
    EventRegistration(ClusterEvent(CLASSES, _ADD_OR_UPDATE), _other_topologies),
    EventRegistration(ClusterEvent(CLAIMS, _ADD_OR_UPDATE), mounted_claim),
    EventRegistration(ClusterEvent(VOLUMES, _ADD_OR_UPDATE)),
    EventRegistration(ClusterEvent(EventResource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL)),
    EventRegistration(ClusterEvent(CSI_NODES, _ADD_OR_UPDATE), _other_plugins_migrated),
    EventRegistration(ClusterEvent(CSI_DRIVERS, Action.UPDATE), _capacity_counts_no_more),
    EventRegistration(ClusterEvent(CAPACITIES, _ADD_OR_UPDATE), _more_capacity),
    EventRegistration(ClusterEvent(EventResource.ASSIGNED_POD, Action.DELETE), _gave_back, of_gated=False),
)
"""kube-scheduler's registrations, in its order, and pods that give back what they reserved."""
