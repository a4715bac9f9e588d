"""The volumes of a pod as the limits count them: a driver's volumes, distinguished by their handles.

The rules are those of kube-scheduler's `nodevolumelimits.CSILimits`.
"""

from __future__ import annotations

from muster.framework.model.claims import class_of_claim, made_for, not_made_for
from muster.framework.model.pod_info import PodInfo
from muster.framework.model.pod_volumes import mount_of
from muster.framework.model.volume_migration import (
    DRIVERS,
    TranslationError,
    VolumeHandle,
    inline_handle,
    plugin_of,
    served,
    volume_handle,
)
from muster.framework.model.volumes import CSINode, PersistentVolumeClaim

from .storage import Storage, no_claim

_UNBOUND = "\0"
"""In front of the handle of a volume that does not exist yet. No driver gives such a handle."""


class CountError(Exception):
    """Volumes that cannot be counted."""


class ClaimMissing(CountError):
    """Raised if a claim does not exist, without which no node is feasible."""


def volumes_of(pod: PodInfo, csi_node: CSINode | None, storage: Storage, *, new: bool) -> frozenset[VolumeHandle]:
    """The volumes of the pod that count on the node with this CSINode.

    Raises CountError; ClaimMissing only of a `new` pod. With a pod on a node a claim that is missing does not count.
    """
    found: set[VolumeHandle] = set()
    for volume in pod.pod.spec.volumes:
        mount = mount_of(pod.pod, volume)
        if mount is None:
            if served(plugin_of(volume), csi_node):
                try:
                    found.add(inline_handle(volume))
                except TranslationError as error:
                    raise CountError(f"converting volume({volume.name}) from inline to csi: {error}") from error
            continue
        if not mount.claim:
            raise CountError("PersistentVolumeClaim had no name")
        key = f"{pod.namespace}/{mount.claim}"
        claim = storage.claim(key)
        if claim is None:
            if new:
                raise ClaimMissing(f"looking up PVC {key}: {no_claim(mount.claim)}")
            continue
        if mount.ephemeral and not made_for(claim, pod):
            raise CountError(not_made_for(claim, pod))
        handle = _handle_of(claim, csi_node, storage)
        if handle is not None and all(handle):
            found.add(handle)
    return frozenset(found)


def _handle_of(claim: PersistentVolumeClaim, csi_node: CSINode | None, storage: Storage) -> VolumeHandle | None:
    volume = storage.volume(claim.spec.volume_name) if claim.spec.volume_name else None
    if volume is None:
        return _handle_to_be(claim, csi_node, storage)
    if volume.spec.csi is not None:
        return VolumeHandle(volume.spec.csi.driver, volume.spec.csi.volume_handle)
    if not served(plugin_of(volume.spec), csi_node):
        return None
    try:
        return volume_handle(volume)
    except TranslationError:
        return None


def _handle_to_be(claim: PersistentVolumeClaim, csi_node: CSINode | None, storage: Storage) -> VolumeHandle | None:
    """A stand-in for the volume that is to be provisioned for the claim."""
    storage_class = storage.storage_class(class_of_claim(claim))
    if storage_class is None:
        return None
    driver = storage_class.provisioner
    if driver in DRIVERS:
        if not served(driver, csi_node):
            return None
        driver = DRIVERS[driver]
    return VolumeHandle(driver, _UNBOUND + claim.metadata.key)
