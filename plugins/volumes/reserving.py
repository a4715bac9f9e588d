"""Reservations of storage: assumed in the ledger until they are written or released.

VolumeBinding's Reserve creates them, PreBind writes them, Unreserve releases what was not written. In memory only.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from muster.framework.model.claims import BOUND_BY_CONTROLLER, SELECTED_NODE, kept_for
from muster.framework.model.pod_info import PodInfo
from muster.framework.model.volumes import ClaimReference, PersistentVolume, PersistentVolumeClaim

from .finding import FoundVolumes
from .ledger import VolumeLedger


@dataclass(slots=True)
class Binding:
    """A claim and the volume that it gets.

    Attributes:
        claim: the claim.
        volume: the volume to write, or the API's answer once it is written.
        changed: whether it differs from the API's version.
        written: whether it was written.
    """

    claim: PersistentVolumeClaim
    volume: PersistentVolume
    changed: bool
    written: bool = False


@dataclass(slots=True)
class Provisioning:
    """A claim for which a volume is to be provisioned: as decided, or the API's answer once it is `written`."""

    claim: PersistentVolumeClaim
    written: bool = False


@dataclass(slots=True)
class VolumeReservation:
    """The volumes of a pod."""

    bindings: list[Binding] = field(default_factory=list)
    provisionings: list[Provisioning] = field(default_factory=list)


def assume(ledger: VolumeLedger, pod: PodInfo, node_name: str, found: FoundVolumes) -> VolumeReservation:
    """Assume, for the pod, the changes that were found for its node.

    Raises OutOfSync when an object has changed meanwhile; nothing is assumed then.
    """
    made = VolumeReservation()
    try:
        for choice in found.choices:
            [number], [there] = choice.numbers.tolist(), choice.found.tolist()
            if there:
                binding = _binding(choice.volume(number), choice.claim)
                if binding.changed:
                    ledger.volumes.assume(pod.uid, binding.volume.metadata.name, binding.volume)
                made.bindings.append(binding)
        for provision in found.provisions:
            if provision.here[0]:
                claim = _with_node(provision.claim, node_name)
                ledger.claims.assume(pod.uid, claim.metadata.key, claim)
                made.provisionings.append(Provisioning(claim))
    except Exception:
        give_back(ledger, pod, made)
        raise
    return made


def give_back(ledger: VolumeLedger, pod: PodInfo, reservation: VolumeReservation) -> None:
    """Withdraw every assumption that was not written. The API will report the written ones."""
    for provisioning in reservation.provisionings:
        if not provisioning.written:
            ledger.claims.restore(pod.uid, provisioning.claim.metadata.key)
    for binding in reservation.bindings:
        if not binding.written:
            ledger.volumes.restore(pod.uid, binding.volume.metadata.name)


def _binding(volume: PersistentVolume, claim: PersistentVolumeClaim) -> Binding:
    """The volume, bound to the claim (`GetBindVolumeToClaim`)."""
    wanted = ClaimReference(claim.metadata.namespace, claim.metadata.name, claim.metadata.uid)
    annotations = volume.metadata.annotations
    if not kept_for(volume, claim) and BOUND_BY_CONTROLLER not in annotations:
        annotations = {**annotations, BOUND_BY_CONTROLLER: "yes"}
    changed = volume.spec.claim_ref != wanted or annotations is not volume.metadata.annotations
    replace = msgspec.structs.replace
    bound = replace(
        volume,
        metadata=replace(volume.metadata, annotations=annotations),
        spec=replace(volume.spec, claim_ref=wanted),
    )
    return Binding(claim, bound, changed)


def _with_node(claim: PersistentVolumeClaim, node_name: str) -> PersistentVolumeClaim:
    replace = msgspec.structs.replace
    annotations = {**claim.metadata.annotations, SELECTED_NODE: node_name}
    return replace(claim, metadata=replace(claim.metadata, annotations=annotations))
