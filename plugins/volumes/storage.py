"""The storage objects that the volume plugins watch, looked up by name, and the errors about missing ones."""

from __future__ import annotations

from typing import Final, TypeVar

from muster.framework.contract import EventResource, Handle, HasMetadata, WatchedKind
from muster.framework.model.volumes import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)

CLAIMS: Final = WatchedKind(
    EventResource.PERSISTENT_VOLUME_CLAIM, "/api/v1/persistentvolumeclaims", PersistentVolumeClaim
)
VOLUMES: Final = WatchedKind(EventResource.PERSISTENT_VOLUME, "/api/v1/persistentvolumes", PersistentVolume)
CLASSES: Final = WatchedKind(EventResource.STORAGE_CLASS, "/apis/storage.k8s.io/v1/storageclasses", StorageClass)
CSI_NODES: Final = WatchedKind(EventResource.CSI_NODE, "/apis/storage.k8s.io/v1/csinodes", CSINode)
CSI_DRIVERS: Final = WatchedKind(EventResource.CSI_DRIVER, "/apis/storage.k8s.io/v1/csidrivers", CSIDriver)
CAPACITIES: Final = WatchedKind(
    EventResource.CSI_STORAGE_CAPACITY, "/apis/storage.k8s.io/v1/csistoragecapacities", CSIStorageCapacity
)
ATTACHMENTS: Final = WatchedKind(
    EventResource.VOLUME_ATTACHMENT, "/apis/storage.k8s.io/v1/volumeattachments", VolumeAttachment
)


Obj = TypeVar("Obj", bound=HasMetadata)


class Storage:
    """The objects as last seen. A plugin may ask only for kinds that it watches."""

    __slots__ = ("handle",)

    def __init__(self, handle: Handle) -> None:
        self.handle = handle

    def claim(self, key: str) -> PersistentVolumeClaim | None:
        """The claim `namespace/name`."""
        return self._get(CLAIMS, key)

    def volume(self, name: str) -> PersistentVolume | None:
        """The persistent volume."""
        return self._get(VOLUMES, name)

    def storage_class(self, name: str) -> StorageClass | None:
        """The storage class."""
        return self._get(CLASSES, name)

    def csi_node(self, name: str) -> CSINode | None:
        """The CSI drivers on the node with this name, as far as they are known."""
        return self._get(CSI_NODES, name)

    def csi_driver(self, name: str) -> CSIDriver | None:
        """The CSI driver."""
        return self._get(CSI_DRIVERS, name)

    def _get(self, kind: WatchedKind[Obj], key: str) -> Obj | None:
        return self.handle.lister(kind).get(key)


def no_claim(name: str) -> str:
    """The API's message for a missing claim."""
    return f'persistentvolumeclaim "{name}" not found'


def no_volume(name: str) -> str:
    """The API's message for a missing volume."""
    return f'persistentvolume "{name}" not found'


def no_class(name: str) -> str:
    """The API's message for a missing storage class."""
    return f'storageclass.storage.k8s.io "{name}" not found'
