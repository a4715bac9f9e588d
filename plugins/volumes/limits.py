"""NodeVolumeLimits: how many volumes of each CSI driver a node can have, and whether it has the driver at all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from muster.framework.contract import (
    Action,
    ClusterEvent,
    Codes,
    CycleState,
    DependsOn,
    EnqueueExtensions,
    EventRegistration,
    EventResource,
    FilterPlugin,
    Handle,
    Hint,
    Mask,
    NodeView,
    ObjectFollower,
    PreFilterPlugin,
    Status,
    StatusTable,
    Verdicts,
)
from muster.framework.model.pod import Volume
from muster.framework.model.pod_info import PodInfo
from muster.framework.model.pod_volumes import mounts_of
from muster.framework.model.volume_migration import DRIVERS, TranslationError, inline_handle, plugin_of
from muster.framework.model.volume_migration import VolumeHandle as VolumeHandle
from muster.framework.model.volumes import CSINode, StorageMeta, VolumeAttachment

from .attached import UNLIMITED, AttachedVolumes
from .counted import ClaimMissing, CountError, volumes_of
from .hints import mounted_claim
from .storage import ATTACHMENTS, CLAIMS, CLASSES, CSI_DRIVERS, CSI_NODES, VOLUMES, Storage

TOO_MANY = Status.unschedulable("node(s) exceed max volume count")
SOME_CSI_NODE = CSINode(StorageMeta())


class NodeVolumeLimits(PreFilterPlugin[None], FilterPlugin[None], EnqueueExtensions[None], ObjectFollower[None]):
    """Filters by the limits and drivers of each node's CSINode."""

    name = "NodeVolumeLimits"
    filter_depends_on = DependsOn.OBJECTS
    watches = (CLAIMS, VOLUMES, CLASSES, CSI_NODES, CSI_DRIVERS, ATTACHMENTS)

    def __init__(self, args: None, handle: Handle) -> None:
        super().__init__(args, handle)
        self._table = StatusTable([TOO_MANY])
        self._storage = Storage(handle)
        self._attached = handle.shared(self.name, lambda: AttachedVolumes(handle.snapshot, self._storage))

    def on_object(self, resource: str, old: object | None, new: object | None) -> None:
        """Updates the counts."""
        self._attached.follow(resource, old, new)

    def concerns(self, pod: PodInfo) -> bool:
        """Whether the pod has volumes."""
        return bool(pod.pod.spec.volumes)

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status | None:
        """Skips the filter for pods without claims and in-tree volumes."""
        return None if _counts(pod) else Status.skip()

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Verdicts:
        """Rejects nodes that cannot have the pod's volumes besides those that they have."""
        return Verdicts(self._codes(pod, nodes, sharing=True), self._table)

    def accepts_with_fewer_pods(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Mask:
        """The nodes with room for all of the pod's volumes, even if no pod that stays uses one of them."""
        accepted: Mask = self._codes(pod, nodes, sharing=False) == 0
        return accepted

    def events_to_register(self) -> Sequence[EventRegistration]:
        """Nodes that can take more volumes, detached volumes, and claims that were missing."""
        return [
            EventRegistration(ClusterEvent(CSI_NODES, Action.ADD)),
            EventRegistration(ClusterEvent(CSI_NODES, Action.UPDATE), _takes_more),
            EventRegistration(ClusterEvent(EventResource.ASSIGNED_POD, Action.DELETE), _left_with_volumes),
            EventRegistration(ClusterEvent(CLAIMS, Action.ADD), mounted_claim),
            EventRegistration(ClusterEvent(ATTACHMENTS, Action.DELETE), _was_detached),
        ]

    def _codes(self, pod: PodInfo, nodes: NodeView, *, sharing: bool) -> Codes:
        """Compare counts for nodes with a CSINode and without one: a pod's count depends on nothing else of a node.

        With `sharing`, volumes that pods on the node use already are not counted twice.
        """
        attached = self._attached
        attached.refresh()
        codes = np.zeros(len(nodes), np.int32)
        with_csi_node = nodes.of(attached.with_csi_node)
        for csi_node, here in ((None, ~with_csi_node), (SOME_CSI_NODE, with_csi_node)):
            if not here.any():
                continue
            try:
                volumes = volumes_of(pod, csi_node, self._storage, new=True)
            except ClaimMissing as error:
                codes[here] = self._table.number(Status.unresolvable(str(error)))
            except CountError as error:
                codes[here] = self._table.number(Status.failure(str(error)))
            else:
                codes[here] = self._judge(volumes, nodes, sharing=sharing)[here]
        return codes

    def _judge(self, volumes: frozenset[VolumeHandle], nodes: NodeView, *, sharing: bool) -> Codes:
        attached, codes = self._attached, np.zeros(len(nodes), np.int32)
        if not volumes:
            return codes
        too_many: Mask = np.zeros(len(nodes), np.bool_)
        for driver, handles in _by_driver(volumes).items():
            more = np.full(len(nodes), len(handles), np.int64)
            for handle in handles if sharing else ():
                if handle in attached.holders:
                    more -= nodes.mask_of(attached.holders[handle])
            limits = nodes.of(attached.limits(driver))
            too_many |= (limits != UNLIMITED) & (more > 0) & (nodes.of(attached.attached(driver)) + more > limits)
        codes[too_many] = self._table.number(TOO_MANY)
        for row, error in attached.errors.items():
            codes[nodes.mask_of([row])] = self._table.number(Status.failure(error))
        for driver in sorted({handle.driver for handle in volumes}, reverse=True):
            known = self._storage.csi_driver(driver)
            if known is not None and known.spec.prevent_pod_scheduling_if_missing:
                lacking = Status.unschedulable(f"{driver} CSI driver is not installed on the node")
                codes[~nodes.mask_of(attached.running.get(driver, ()))] = self._table.number(lacking)
        return codes


def _by_driver(volumes: Iterable[VolumeHandle]) -> dict[str, list[VolumeHandle]]:
    found: dict[str, list[VolumeHandle]] = {}
    for handle in volumes:
        found.setdefault(handle.driver, []).append(handle)
    return found


def _counts(pod: PodInfo) -> bool:
    """Whether any of the pod's volumes may belong to a driver."""
    return bool(mounts_of(pod.pod)) or any(plugin_of(volume) for volume in pod.pod.spec.volumes)


def _takes_more(pod: PodInfo, old: CSINode, new: CSINode) -> Hint:
    before, after = _limits(old), _limits(new)
    return Hint.queue_if(any(limit > before.get(driver, 0) for driver, limit in after.items()))


def _limits(csi_node: CSINode) -> dict[str, int]:
    """The limits by driver; an absent limit is 0, as in kube-scheduler's comparison."""
    return {
        driver.name: (driver.allocatable.count or 0) if driver.allocatable is not None else 0
        for driver in csi_node.spec.drivers
    }


def _left_with_volumes(pod: PodInfo, old: PodInfo, new: None) -> Hint:
    """A pod with volumes that left its node, or gives back what it had reserved there without being bound."""
    return Hint.queue_if(_counts(old))


def _was_detached(pod: PodInfo, old: VolumeAttachment, new: None) -> Hint:
    """Any detached volume may help a pod with a claim; one with inline volumes needs one of the same driver."""
    for volume in pod.pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            return Hint.QUEUE
        plugin = plugin_of(volume)
        if plugin and (DRIVERS[plugin] == old.spec.attacher or _untranslatable(volume)):
            return Hint.QUEUE
    return Hint.SKIP


def _untranslatable(volume: Volume) -> bool:
    try:
        inline_handle(volume)
    except TranslationError:
        return True
    return False
