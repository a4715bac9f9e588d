"""Device classes by name, and by the extended resource that they stand for (upstream: `ExtendedResourceCache`)."""

from __future__ import annotations

from muster.framework.model.devices import CLASS_RESOURCE_PREFIX, DeviceClass


class DeviceClasses:
    """All device classes. `revision` grows with each change."""

    def __init__(self) -> None:
        self.revision = 0
        self._classes: dict[str, DeviceClass] = {}
        self._explicit: dict[str, list[DeviceClass]] = {}

    def get(self, name: str) -> DeviceClass | None:
        """The class with this name."""
        return self._classes.get(name)

    def of_resource(self, resource: str) -> DeviceClass | None:
        """The class that an extended resource stands for: the newest of several, then the first by name."""
        known = self._explicit.get(resource)
        if known:
            return known[0]
        if resource.startswith(CLASS_RESOURCE_PREFIX):
            return self._classes.get(resource.removeprefix(CLASS_RESOURCE_PREFIX))
        return None

    def saw(self, found: DeviceClass) -> None:
        """Add or replace a class."""
        known = self._classes.get(found.metadata.name)
        if known is found:
            return
        if known is not None:
            self.lost(known)
        self.revision += 1
        self._classes[found.metadata.name] = found
        resource = found.spec.extended_resource_name
        if resource:
            several = self._explicit.setdefault(resource, [])
            several.append(found)
            several.sort(key=lambda each: each.metadata.name)
            several.sort(key=lambda each: each.metadata.creation_timestamp or "", reverse=True)

    def lost(self, gone: DeviceClass) -> None:
        """Remove a class."""
        known = self._classes.pop(gone.metadata.name, None)
        if known is None:
            return
        self.revision += 1
        resource = known.spec.extended_resource_name
        if resource:
            self._explicit[resource] = [each for each in self._explicit[resource] if each is not known]
            if not self._explicit[resource]:
                del self._explicit[resource]
