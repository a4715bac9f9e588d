"""The objects of one kind as an informer would know them, passed on to an engine's handler of that kind."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from ..contract.handle import HasMetadata


class KindHandler(Protocol):
    """The handler that an informer calls."""

    def on_add(self, obj: Any, /) -> None:
        """An object appeared."""

    def on_update(self, old: Any, new: Any, /) -> None:
        """An object changed."""

    def on_delete(self, obj: Any, /) -> None:
        """Remove an object."""


class KnownObjects:
    """Implements `contract.Lister`. Changes are reported to `handler`, if there is one, or to that of `follow`."""

    def __init__(self, handler: KindHandler | None = None) -> None:
        self._handler = handler
        self._by_key: dict[str, Any] = {}

    def follow(self, handler: KindHandler) -> None:
        """Report all objects to this handler, and every later change."""
        self._handler = handler
        for obj in list(self._by_key.values()):
            handler.on_add(obj)

    def put(self, obj: HasMetadata) -> Any | None:
        """Add or replace an object. Returns the previous version, if any."""
        key = obj.metadata.key
        old, self._by_key[key] = self._by_key.get(key), obj
        if self._handler is not None:
            if old is None:
                self._handler.on_add(obj)
            else:
                self._handler.on_update(old, obj)
        return old

    def drop(self, key: str) -> Any | None:
        """There is no object of this key. The one before, if there was one."""
        old = self._by_key.pop(key, None)
        if old is not None and self._handler is not None:
            self._handler.on_delete(old)
        return old

    def get(self, key: str) -> Any | None:
        """The object with this `namespace/name` (or name, when not namespaced)."""
        return self._by_key.get(key)

    def list(self) -> Iterable[Any]:
        """All objects."""
        return self._by_key.values()
