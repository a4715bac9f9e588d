"""Which nodes can provide a pod's volumes, and which volume each claim gets there.

Filter, Score and Reserve of VolumeBinding ask; deciding changes nothing. The rules are those of `FindPodVolumes` in
kube-scheduler's volume binder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from muster.framework.contract import Mask, NodeView
from muster.framework.model.claims import SELECTED_NODE, class_of_claim, requested, requested_bytes
from muster.framework.model.pod import NodeSelectorRequirement, NodeSelectorTerm
from muster.framework.model.quantity import nanos
from muster.framework.model.volume_migration import TranslationError, node_affinity, plugin_of, taken_over
from muster.framework.model.volumes import PersistentVolume, PersistentVolumeClaim, StorageClass

from .accessible import NONE, Numbers, is_at, place_of
from .ledger import VolumeLedger
from .storage import Storage
from .unbound_volumes import VolumeChoice

NO_PROVISIONER = "kubernetes.io/no-provisioner"

NODE_CONFLICT = "node(s) didn't match PersistentVolume's node affinity"
BIND_CONFLICT = "node(s) didn't find available persistent volumes to bind"
NOT_ENOUGH_SPACE = "node(s) did not have enough free storage"
VOLUME_MISSING = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
REASONS = (NODE_CONFLICT, BIND_CONFLICT, NOT_ENOUGH_SPACE, VOLUME_MISSING)
"""In the order in which they are reported; each has the bit of its index in `FoundVolumes.reasons`."""

_NODE, _BIND, _SPACE, _MISSING = (1 << index for index in range(len(REASONS)))
Bits = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class PodClaims:
    """The claims of a pod.

    Attributes:
        bound: claims with their volumes.
        delayed: claims that wait for their first consumer, each with its class.
    """

    bound: Sequence[PersistentVolumeClaim]
    delayed: Sequence[tuple[PersistentVolumeClaim, StorageClass]]


@dataclass(frozen=True, slots=True)
class Provision:
    """A volume that is to be provisioned for a claim.

    Attributes:
        claim: the claim.
        here: bool, shape (nodes,): the nodes that it is for.
        capacities: intp, shape (nodes,): the number of the capacity that it was compared with; NONE for none.
    """

    claim: PersistentVolumeClaim
    here: Mask
    capacities: Numbers


@dataclass(slots=True)
class FoundVolumes:
    """The findings for some nodes.

    Attributes:
        reasons: int32, shape (nodes,): the obstacles, as bits by their index in REASONS; 0 for none.
        errors: errors that prevent an answer for some nodes, each with these nodes; the first one counts.
        choices: the existing volumes that claims get.
        provisions: the volumes to provision.
    """

    reasons: Bits
    errors: list[tuple[str, Mask]] = field(default_factory=list)
    choices: list[VolumeChoice] = field(default_factory=list)
    provisions: list[Provision] = field(default_factory=list)

    def failed(self) -> Mask:
        """bool, shape (nodes,): the nodes for which an error prevents an answer."""
        failed: Mask = np.zeros(len(self.reasons), np.bool_)
        for _, where in self.errors:
            failed |= where
        return failed

    def at(self, indices: Numbers) -> FoundVolumes:
        """The findings for the nodes with these indices alone."""
        return FoundVolumes(
            self.reasons[indices],
            [(text, where[indices]) for text, where in self.errors],
            [replace(choice, numbers=choice.numbers[indices]) for choice in self.choices],
            [
                Provision(provision.claim, provision.here[indices], provision.capacities[indices])
                for provision in self.provisions
            ],
        )


class Finder:
    """Finds volumes by what the ledger knows."""

    def __init__(self, storage: Storage, ledger: VolumeLedger) -> None:
        self._storage = storage
        self._ledger = ledger

    def find(self, claims: PodClaims, nodes: NodeView) -> FoundVolumes:
        """Find volumes for these claims on each node."""
        found = FoundVolumes(np.zeros(len(nodes), np.int32))
        self._check_bound(claims.bound, nodes, found)
        undecided: Mask = np.ones(len(nodes), np.bool_)
        matched, provisioned = [], []
        for claim, storage_class in claims.delayed:
            selected = claim.metadata.annotations.get(SELECTED_NODE)
            if selected is None:
                matched.append((claim, storage_class))
                continue
            row = nodes.snapshot.row_of(selected)
            undecided &= nodes.indices() == (-1 if row is None else row)
            provisioned.append((claim, storage_class, undecided))
        found.reasons[~undecided] |= _BIND
        for claim, storage_class in sorted(matched, key=lambda each: nanos(requested(each[0]) or 0)):
            unbound = self._ledger.unbound(class_of_claim(claim))
            choice = unbound.choose(claim, nodes, found.choices)
            found.choices.append(choice)
            provisioned.append((claim, storage_class, undecided & ~choice.found))
        for claim, storage_class, here in provisioned:
            if here.any():
                undecided &= self._provision(claim, storage_class, here & undecided, nodes, found=found)
        return found

    def _check_bound(self, claims: Sequence[PersistentVolumeClaim], nodes: NodeView, found: FoundVolumes) -> None:
        """Whether the volumes can be used on the nodes; the first that cannot gives the node's reason."""
        undecided: Mask = np.ones(len(nodes), np.bool_)
        for claim in claims:
            volume = self._ledger.volumes.get(claim.spec.volume_name)
            if volume is None:
                found.reasons[undecided] |= _MISSING
                return
            usable = self._usable(volume, nodes, undecided, found)
            found.reasons[undecided & ~usable] |= _NODE
            undecided &= usable

    def _usable(self, volume: PersistentVolume, nodes: NodeView, undecided: Mask, found: FoundVolumes) -> Mask:
        affinity = volume.spec.node_affinity
        required = None if affinity is None else affinity.required
        usable = is_at(place_of(None if required is None else required.node_selector_terms), nodes)
        plugin = plugin_of(volume.spec)
        if not plugin:
            return usable
        there = np.array([taken_over(plugin, self._storage.csi_node(name)) for name in nodes.names()], np.bool_)
        if not there.any():
            return usable
        try:
            translated = node_affinity(volume)
        except TranslationError as error:
            found.errors.append((f"could not translate pv: {error}", undecided & there))
            return usable
        by_driver = is_at(place_of(None if translated is None else translated.node_selector_terms), nodes)
        return np.where(there, by_driver, usable)

    def _provision(
        self,
        claim: PersistentVolumeClaim,
        storage_class: StorageClass,
        here: Mask,
        nodes: NodeView,
        *,
        found: FoundVolumes,
    ) -> Mask:
        """Whether a volume can be provisioned for the nodes `here`; true for all others."""
        reachable = _reachable(storage_class, nodes)
        found.reasons[here & ~reachable] |= _BIND
        capacities: Numbers = np.full(len(nodes), NONE, np.intp)
        enough: Mask = np.ones(len(nodes), np.bool_)
        if self._tracks_capacity(storage_class) and requested(claim) is not None:
            known = self._ledger.capacities(storage_class.metadata.name)
            capacities = known.room_for(requested_bytes(claim), nodes)
            enough = capacities != NONE
            found.reasons[here & reachable & ~enough] |= _SPACE
        possible = reachable & enough
        found.provisions.append(Provision(claim, here & possible, capacities))
        return ~here | possible

    def _tracks_capacity(self, storage_class: StorageClass) -> bool:
        driver = self._storage.csi_driver(storage_class.provisioner)
        return driver is not None and bool(driver.spec.storage_capacity)


def _reachable(storage_class: StorageClass, nodes: NodeView) -> Mask:
    """The nodes for which volumes of the class can be provisioned."""
    if storage_class.provisioner in ("", NO_PROVISIONER):
        return np.zeros(len(nodes), np.bool_)
    if not storage_class.allowed_topologies:
        return np.ones(len(nodes), np.bool_)
    terms = [
        NodeSelectorTerm(
            tuple(NodeSelectorRequirement(each.key, "In", each.values) for each in term.match_label_expressions)
        )
        for term in storage_class.allowed_topologies
    ]
    return is_at(place_of(terms), nodes)
