"""Claims and volumes by themselves: their class, whether they are bound, and their owner.

The rules are those of kube-scheduler's component-helpers (storage/volume, storage/ephemeral).
"""

from __future__ import annotations

from typing import Final

from .pod_info import PodInfo
from .quantity import Quantity, nanos, value
from .volumes import PersistentVolume, PersistentVolumeClaim

BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"
WAIT_FOR_FIRST_CONSUMER: Final = "WaitForFirstConsumer"
READ_WRITE_ONCE_POD: Final = "ReadWriteOncePod"
LOST: Final = "Lost"
AVAILABLE: Final = "Available"
_FILESYSTEM = "Filesystem"


def class_of_claim(claim: PersistentVolumeClaim) -> str:
    """The storage class that the claim asks for; empty for none."""
    return claim.metadata.annotations.get(CLASS_ANNOTATION, claim.spec.storage_class_name or "")


def class_of_volume(volume: PersistentVolume) -> str:
    """The storage class of the volume; empty for none."""
    return volume.metadata.annotations.get(CLASS_ANNOTATION, volume.spec.storage_class_name)


def mode_of(volume_mode: str | None) -> str:
    """Whether a file system or a bare device is meant."""
    return _FILESYSTEM if volume_mode is None else volume_mode


def fully_bound(claim: PersistentVolumeClaim) -> bool:
    """Whether the claim has its volume, and the controller of volumes is done with both."""
    return bool(claim.spec.volume_name) and BIND_COMPLETED in claim.metadata.annotations


def made_for(claim: PersistentVolumeClaim, pod: PodInfo) -> bool:
    """Whether an ephemeral volume's claim is this pod's own."""
    controllers = [owner.uid for owner in claim.metadata.owner_references if owner.controller]
    return claim.metadata.namespace == pod.namespace and controllers[:1] == [pod.uid]


def not_made_for(claim: PersistentVolumeClaim, pod: PodInfo) -> str:
    """The message for a claim that was not made for the pod."""
    return f"PVC {claim.metadata.key} was not created for pod {pod.key} (pod is not owner)"


def kept_for(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Whether the volume is bound to the claim, or reserved for a claim of that name."""
    reference, meta = volume.spec.claim_ref, claim.metadata
    return reference is not None and (
        (reference.namespace, reference.name) == (meta.namespace, meta.name) and reference.uid in ("", meta.uid)
    )


def requested(claim: PersistentVolumeClaim) -> Quantity | None:
    """The storage that the claim asks for."""
    return claim.spec.resources.requests.get("storage")


def requested_bytes(claim: PersistentVolumeClaim) -> int:
    """The bytes that the claim asks for; 0 when it does not say."""
    return value(nanos(requested(claim) or 0))
