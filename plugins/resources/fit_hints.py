"""Queueing hints of NodeResourcesFit: whether a change of a node or pod may free resources for a rejected pod."""

from __future__ import annotations

from dataclasses import dataclass

from muster.framework.contract import Hint, SnapshotReader
from muster.framework.model.node import Node
from muster.framework.model.pod_info import PodInfo
from muster.framework.model.requests import PODS, amounts

from .demand import Ignored
from .device_backing import DeviceBacking
from .names import is_scheduled


def grew(devices: DeviceBacking, pod: PodInfo, old: object, new: object) -> Hint:
    """A node came or changed: it must fit the pod when empty, and offer more of something the pod needs than before.

    What `devices` may provide where the node offers none is no obstacle, and may be more than before.
    """
    offered = amounts(new.status.allocatable) if isinstance(new, Node) else {}
    lacking = [name for name, n in pod.signature.requests.items() if n > offered.get(name, 0) and is_scheduled(name)]
    if offered.get(PODS, 0) < 1 or any(offered.get(name, 0) or name not in devices for name in lacking):
        return Hint.SKIP
    if not isinstance(old, Node) or lacking:
        return Hint.QUEUE
    before = amounts(old.status.allocatable)
    more = (name for name, n in offered.items() if n > before.get(name, 0))
    return Hint.queue_if(any(name == PODS or _wants(pod, name) for name in more))


def shrank(pod: PodInfo, old: object, new: object) -> Hint:
    """A pod on a node was scaled down: it must ask for less of something that the pod wants."""
    before, after = (each.signature.requests if isinstance(each, PodInfo) else {} for each in (old, new))
    less = (name for name, n in before.items() if n > after.get(name, 0))
    return Hint.queue_if(any(_wants(pod, name) for name in less))


def _wants(pod: PodInfo, resource: str) -> bool:
    return pod.signature.requests.get(resource, 0) > 0 and is_scheduled(resource)


@dataclass(frozen=True, slots=True, eq=False)
class PodDeletionHint:
    """The hint for a pod that left its node, over the nodes of `snapshot`."""

    snapshot: SnapshotReader
    devices: DeviceBacking
    ignored: Ignored

    def __call__(self, pod: PodInfo, old: object, new: object) -> Hint:
        """The free capacity must be enough by now, unless pods of lower priority could be evicted.

        One that leaves no node by name gave back what was reserved for it somewhere.
        """
        if not isinstance(old, PodInfo) or not old.node_name:
            return Hint.QUEUE
        if any(priority < pod.priority for priority in self.snapshot.priorities):
            return Hint.QUEUE
        row = self.snapshot.live_row_of(old.node_name)
        if row is None:
            return Hint.SKIP
        columns = self.snapshot.resources
        if columns.pod_count[row] >= columns.allowed_pods[row]:
            return Hint.SKIP
        for name, wanted in pod.signature.requests.items():
            offered = columns.amount(columns.allocatable, name, row)
            if wanted <= offered - columns.amount(columns.requested, name, row) or not wanted:
                continue
            if is_scheduled(name) and name not in self.ignored and (offered or name not in self.devices):
                return Hint.SKIP
        return Hint.QUEUE
