"""The ledger: VolumeBinding's knowledge of volumes, claims and capacities, assumed changes included.

The plugins of all profiles share one. The informers' events and the pods' reservations update it, so that a pod finds
the volumes and capacities of its classes sorted.
"""

from __future__ import annotations

from muster.framework.contract import EventResource
from muster.framework.model.claims import class_of_volume
from muster.framework.model.volumes import CSIStorageCapacity, PersistentVolume, PersistentVolumeClaim

from .assume_cache import AssumeCache
from .capacities import Capacities
from .storage import Storage
from .unbound_volumes import UnboundVolumes
from .wakeups import Wakeups


class VolumeLedger:
    """Volumes by class, capacities by class, and what is assumed of volumes and claims.

    Attributes:
        volumes, claims: the objects in their state after all pending writes.
        wakeups: for callers that wait for a change of a claim or volume.
    """

    def __init__(self, storage: Storage, wakeups: Wakeups) -> None:
        self.volumes: AssumeCache[PersistentVolume] = AssumeCache("persistentvolumes", storage.volume, self._put)
        self.claims: AssumeCache[PersistentVolumeClaim] = AssumeCache(
            "persistentvolumeclaims", storage.claim, lambda _: None
        )
        self.wakeups = wakeups
        self._unbound: dict[str, UnboundVolumes] = {}
        self._class_of: dict[str, str] = {}
        self._capacities: dict[str, Capacities] = {}

    def unbound(self, class_name: str) -> UnboundVolumes:
        """The volumes of a class."""
        return self._unbound.get(class_name) or UnboundVolumes()

    def capacities(self, class_name: str) -> Capacities:
        """The capacities for a class."""
        return self._capacities.get(class_name) or Capacities()

    def follow(self, resource: str, old: object | None, new: object | None) -> None:
        """A storage object was added, changed or removed."""
        obj = new if new is not None else old
        if isinstance(obj, PersistentVolume):
            self._follow_volume(obj, gone=new is None)
        elif isinstance(obj, PersistentVolumeClaim):
            self.claims.reported(obj.metadata.key)
            self.wakeups.wake(EventResource.PERSISTENT_VOLUME_CLAIM, obj.metadata.key)
        elif isinstance(obj, CSIStorageCapacity):
            self._follow_capacity(old, new)

    def _follow_volume(self, volume: PersistentVolume, *, gone: bool) -> None:
        name = volume.metadata.name
        self.volumes.reported(name)
        if gone:
            self._take_off(name)
        else:
            self._put(self.volumes.get(name) or volume)
        self.wakeups.wake(EventResource.PERSISTENT_VOLUME, name)

    def _follow_capacity(self, old: object | None, new: object | None) -> None:
        if isinstance(new, CSIStorageCapacity):
            self._capacities.setdefault(new.storage_class_name, Capacities()).put(new)
        elif isinstance(old, CSIStorageCapacity) and old.storage_class_name in self._capacities:
            known = self._capacities[old.storage_class_name]
            known.remove(old)
            if not known:
                del self._capacities[old.storage_class_name]

    def _put(self, volume: PersistentVolume) -> None:
        name, class_name = volume.metadata.name, class_of_volume(volume)
        if self._class_of.get(name, class_name) != class_name:
            self._take_off(name)
        self._class_of[name] = class_name
        self._unbound.setdefault(class_name, UnboundVolumes()).put(volume)

    def _take_off(self, name: str) -> None:
        class_name = self._class_of.pop(name, None)
        if class_name is not None:
            self._unbound[class_name].remove(name)
            if not self._unbound[class_name]:
                del self._unbound[class_name]
