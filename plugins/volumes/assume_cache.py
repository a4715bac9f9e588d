"""The assume cache: volumes and claims as the API has them, overlaid with decided changes that are not written yet.

Reserve assumes, Unreserve restores. A report of an object from the API always ends what was assumed of it, because its
version has changed. Several pods may assume something about one claim; each restores its own part.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from muster.framework.model.volumes import PersistentVolume, PersistentVolumeClaim

T = TypeVar("T", PersistentVolume, PersistentVolumeClaim)


class OutOfSync(Exception):
    """The object has changed since it was decided about."""


class AssumeCache(Generic[T]):
    """Objects of one kind. `stored` finds one as the API has it; `on_change` hears how each is to be seen now."""

    def __init__(self, resource: str, stored: Callable[[str], T | None], on_change: Callable[[T], None]) -> None:
        self._resource = resource
        self._on_change: Callable[[T], None] = on_change
        self._assumed: dict[str, dict[str, T]] = {}
        self.stored: Callable[[str], T | None] = stored

    def get(self, key: str) -> T | None:
        """The object in its state after all pending writes."""
        stored = self.stored(key)
        assumed = self._assumed.get(key)
        if stored is None or assumed is None:
            return stored
        last = next(reversed(assumed.values()))
        return last if last.metadata.resource_version == stored.metadata.resource_version else stored

    def assume(self, owner: str, key: str, obj: T) -> None:
        """Assume that the object becomes `obj`, for the pod with UID `owner`.

        Raises OutOfSync when the API has another version of it by now, or none.
        """
        stored = self.stored(key)
        if stored is None:
            raise OutOfSync(self.not_found(key))
        versions = stored.metadata.resource_version, obj.metadata.resource_version
        if versions[0] != versions[1]:
            raise OutOfSync(f'"{key}" is out of sync (stored: {versions[0]}, assume: {versions[1]})')
        assumed = self._assumed.setdefault(key, {})
        assumed.pop(owner, None)
        assumed[owner] = obj
        self._on_change(obj)

    def restore(self, owner: str, key: str) -> None:
        """Withdraw the owner's assumption, if the API has not replaced it."""
        assumed = self._assumed.get(key, {})
        if assumed.pop(owner, None) is None:
            return
        if not assumed:
            del self._assumed[key]
        seen = self.get(key)
        if seen is not None:
            self._on_change(seen)

    def not_found(self, key: str) -> str:
        """The message for an object that the API does not have."""
        return f'{self._resource} "{key}" not found'

    def reported(self, key: str) -> None:
        """The API reported a version of the object: drop assumptions that it replaces."""
        stored = self.stored(key)
        assumed = self._assumed.get(key)
        if assumed is not None:
            version = None if stored is None else stored.metadata.resource_version
            left = {owner: obj for owner, obj in assumed.items() if obj.metadata.resource_version == version}
            if left:
                self._assumed[key] = left
            else:
                del self._assumed[key]

    def assumed(self) -> dict[str, dict[str, T]]:
        """Everything that is assumed, by key and owner."""
        return {key: dict(owners) for key, owners in self._assumed.items()}
