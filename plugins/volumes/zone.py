"""VolumeZone: a bound volume's zone and region labels must be those of the node, if the node has any."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from muster.framework.contract import (
    Action,
    ClusterEvent,
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
    PreFilterPlugin,
    Status,
    StatusTable,
    Verdicts,
)
from muster.framework.contract.columns import ABSENT
from muster.framework.model.claims import WAIT_FOR_FIRST_CONSUMER, class_of_claim
from muster.framework.model.pod_info import PodInfo
from muster.framework.model.pod_volumes import claims_named_by
from muster.framework.model.volume_migration import BETA_REGION, BETA_ZONE, REGION, ZONE, ZONES_DELIMITER
from muster.framework.model.volumes import PersistentVolume, PersistentVolumeClaim, StorageClass

from .hints import named_claim
from .storage import CLAIMS, CLASSES, VOLUMES, Storage, no_claim, no_class, no_volume

ELSEWHERE = Status.unresolvable("node(s) had no available volume zone")
_LABELS = (BETA_ZONE, BETA_REGION, ZONE, REGION)
_GENERAL = {BETA_ZONE: ZONE, BETA_REGION: REGION}


class _Place(NamedTuple):
    """A label that locates a volume, with the values that match."""

    key: str
    values: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Places:
    places: tuple[_Place, ...]


class VolumeZone(PreFilterPlugin[None], FilterPlugin[None], EnqueueExtensions[None]):
    """Filters by the labels of bound volumes."""

    name = "VolumeZone"
    filter_depends_on = DependsOn.OBJECTS
    watches = (CLAIMS, VOLUMES, CLASSES)

    _table = StatusTable([ELSEWHERE])

    def __init__(self, args: None, handle: Handle) -> None:
        super().__init__(args, handle)
        self._storage = Storage(handle)

    def concerns(self, pod: PodInfo) -> bool:
        """Whether the pod has volumes."""
        return bool(pod.pod.spec.volumes)

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status | None:
        """Skips the filter if no bound volume has such a label."""
        places: list[_Place] = []
        for name in claims_named_by(pod.pod):
            found = self._places_of_claim(pod.namespace, name)
            if isinstance(found, Status):
                return found
            places += found
        if not places:
            return Status.skip()
        state.write(self.name, _Places(tuple(places)))
        return None

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Verdicts:
        """Rejects nodes in other zones. A node without such labels counts as in every zone."""
        labels = nodes.snapshot.labels
        ids = {key: nodes.of(labels.column(key).ids) for key in _LABELS}
        matching: Mask = np.ones(len(nodes), np.bool_)
        for key, values in state.read(self.name, _Places).places:
            here = _among(labels.column(key).values, values)[ids[key]]
            if (general := _GENERAL.get(key)) is not None:
                there = _among(labels.column(general).values, values)[ids[general]]
                here = np.where(ids[key] == ABSENT, there, here)
            matching &= here
        unlabelled = np.logical_and.reduce([column == ABSENT for column in ids.values()])
        return Verdicts.where(matching | unlabelled, self._table)

    def accepts_with_fewer_pods(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Mask:
        """The nodes in the right zones, whatever runs there."""
        accepted: Mask = self.filter(state, pod, nodes).codes == 0
        return accepted

    def events_to_register(self) -> Sequence[EventRegistration]:
        """New classes with delayed binding, nodes with new labels, and changes of the pod's claims and volumes."""
        add_or_update = Action.ADD | Action.UPDATE
        return [
            EventRegistration(ClusterEvent(CLASSES, Action.ADD), _waits),
            EventRegistration(ClusterEvent(EventResource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL)),
            EventRegistration(ClusterEvent(CLAIMS, add_or_update), named_claim),
            EventRegistration(ClusterEvent(VOLUMES, add_or_update), _moved),
        ]

    def _places_of_claim(self, namespace: str, name: str) -> Sequence[_Place] | Status:
        if not name:
            return Status.unresolvable("PersistentVolumeClaim had no name")
        claim = self._storage.claim(f"{namespace}/{name}")
        if claim is None:
            return Status.unresolvable(no_claim(name))
        if not claim.spec.volume_name:
            return self._unbound(claim)
        volume = self._storage.volume(claim.spec.volume_name)
        return Status.unresolvable(no_volume(claim.spec.volume_name)) if volume is None else _places_of(volume)

    def _unbound(self, claim: PersistentVolumeClaim) -> Sequence[_Place] | Status:
        name = class_of_claim(claim)
        if not name:
            return Status.unresolvable("PersistentVolumeClaim had no pv name and storageClass name")
        storage_class = self._storage.storage_class(name)
        if storage_class is None:
            return Status.unresolvable(no_class(name))
        if storage_class.volume_binding_mode is None:
            return Status.unresolvable(f'VolumeBindingMode not set for StorageClass "{name}"')
        if storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER:
            return ()
        return Status.unresolvable("PersistentVolume had no name")


def _places_of(volume: PersistentVolume) -> list[_Place]:
    """A label with an empty part, which no zone has, does not count."""
    found = []
    for key in _LABELS:
        if key in volume.metadata.labels:
            values = frozenset(part.strip() for part in volume.metadata.labels[key].split(ZONES_DELIMITER))
            if "" not in values:
                found.append(_Place(key, values))
    return found


def _among(known: Sequence[str], values: frozenset[str]) -> Mask:
    table = np.fromiter((value in values for value in known), np.bool_, len(known))
    table[ABSENT] = False
    return table


def _waits(pod: PodInfo, old: None, new: StorageClass) -> Hint:
    return Hint.queue_if(new.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER)


def _moved(pod: PodInfo, old: PersistentVolume | None, new: PersistentVolume) -> Hint:
    return Hint.queue_if(old is None or _places_of(old) != _places_of(new))
