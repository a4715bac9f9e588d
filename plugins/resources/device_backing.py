"""Which extended resources device classes back: on nodes that do not offer them, DynamicResources provides them.

NodeResourcesFit follows the classes. It leaves such a resource to the other plugin, which looks for devices.
"""

from __future__ import annotations

from muster.framework.contract import Hint, PodInfo
from muster.framework.model.devices import CLASS_RESOURCE_PREFIX, DeviceClass


class DeviceBacking:
    """Names of resources. `revision` grows whenever they are others."""

    __slots__ = ("_named", "revision")

    def __init__(self) -> None:
        self.revision = 0
        self._named: dict[str, frozenset[str]] = {}

    def __contains__(self, resource: str) -> bool:
        return any(resource in names for names in self._named.values())

    def changed(self, old: object | None, new: object | None) -> None:
        """A class came (`old` is None), changed, or went (`new` is None)."""
        before = dict(self._named)
        if isinstance(old, DeviceClass):
            self._named.pop(old.metadata.name, None)
        if isinstance(new, DeviceClass):
            self._named[new.metadata.name] = _resources(new)
        self.revision += before != self._named


def class_serves(pod: PodInfo, old: DeviceClass | None, new: DeviceClass | None) -> Hint:
    """A class came, or stands for another resource than before: it must be one that the pod asks for."""
    if new is None:
        return Hint.SKIP
    explicit = new.spec.extended_resource_name
    wanted = _resources(new) if old is None else frozenset((explicit,) if explicit else ())
    if old is not None and (old.spec.extended_resource_name or "") == (explicit or ""):
        return Hint.SKIP
    return Hint.queue_if(any(pod.signature.requests.get(name) is not None for name in wanted))


def _resources(of: DeviceClass) -> frozenset[str]:
    implicit = CLASS_RESOURCE_PREFIX + of.metadata.name
    return frozenset((implicit, of.spec.extended_resource_name or implicit))
