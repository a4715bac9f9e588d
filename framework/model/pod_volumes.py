"""The volumes of a pod as scheduling sees them: claims, and disks that pods cannot share.

The snapshot counts them, and the volume plugins decide by them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .pod import Pod, Volume


class DiskUse(NamedTuple):
    """A disk that several pods may have on one node only if none of them is `exclusive`."""

    disk: tuple[str, ...]
    exclusive: bool


class Mount(NamedTuple):
    """A claim that a pod mounts; an `ephemeral` one must have been made for the pod."""

    claim: str
    ephemeral: bool


def mount_of(pod: Pod, volume: Volume) -> Mount | None:
    """The claim behind a volume of the pod, if it has one."""
    if volume.persistent_volume_claim is not None:
        return Mount(volume.persistent_volume_claim.claim_name, False)
    if volume.ephemeral is not None:
        return Mount(f"{pod.metadata.name}-{volume.name}", True)
    return None


def mounts_of(pod: Pod) -> list[Mount]:
    """The claims behind the pod's volumes, in their order."""
    return [mount for volume in pod.spec.volumes if (mount := mount_of(pod, volume)) is not None]


def claims_named_by(pod: Pod) -> list[str]:
    """The claims that the pod's volumes name, in their order; ephemeral ones are not named."""
    return [
        volume.persistent_volume_claim.claim_name
        for volume in pod.spec.volumes
        if volume.persistent_volume_claim is not None
    ]


def disks_of(pod: Pod) -> frozenset[DiskUse]:
    """The disks that the pod's volumes name; a Ceph image is one disk behind each of its monitors."""
    return frozenset(use for volume in pod.spec.volumes for use in _disks(volume))


def _disks(volume: Volume) -> Iterator[DiskUse]:
    if volume.gce_persistent_disk is not None:
        yield DiskUse(("gce", volume.gce_persistent_disk.pd_name), not volume.gce_persistent_disk.read_only)
    if volume.aws_elastic_block_store is not None:
        yield DiskUse(("ebs", volume.aws_elastic_block_store.volume_id), True)
    if volume.iscsi is not None:
        yield DiskUse(("iscsi", volume.iscsi.iqn), not volume.iscsi.read_only)
    if volume.rbd is not None:
        for monitor in volume.rbd.monitors:
            yield DiskUse(("rbd", monitor, volume.rbd.pool, volume.rbd.image), not volume.rbd.read_only)
