"""The store of an informer: the objects of one kind, and the reports of every change to the handler.

Synchronous and without I/O: the informer decides when, the store decides what. For each object, a handler receives one
`on_add`, then `on_update`s, then one `on_delete`. A name reused by another object (another UID) is a deletion and an
addition. The same version of an object is reported once, however often the server sends it.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from muster.framework.contract.handle import HasMetadata

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, ValuesView

T = TypeVar("T", bound=HasMetadata)
T_contra = TypeVar("T_contra", bound=HasMetadata, contravariant=True)

log = logging.getLogger(__name__)


class ResourceEventHandler(Protocol[T_contra]):
    """A receiver of an informer's changes. Called in order, one at a time, on the event loop; must not block.

    An exception is logged as a bug, and the next change is reported nevertheless.
    """

    def on_add(self, obj: T_contra, /) -> None:
        """An object appeared."""
        ...

    def on_update(self, old: T_contra, new: T_contra, /) -> None:
        """An object changed; both have the same UID."""
        ...

    def on_delete(self, obj: T_contra, /) -> None:
        """An object was deleted or no longer matches the selector; `obj` is its last known version."""
        ...


class Store(Generic[T]):
    """Objects by `namespace/name`. The handler receives each change after the store has applied it."""

    def __init__(self, handler: ResourceEventHandler[T]) -> None:
        self._handler = handler
        self._objects: dict[str, T] = {}

    def get(self, key: str) -> T | None:
        """The object with this key."""
        return self._objects.get(key)

    def list(self) -> ValuesView[T]:
        """All objects, in no particular order."""
        return self._objects.values()

    def put(self, new: T) -> None:
        """Add or replace an object."""
        meta = new.metadata
        key = meta.key
        old = self._objects.get(key)
        if old is None:
            self._objects[key] = new
            self._notify(self._handler.on_add, new)
        elif old.metadata.uid != meta.uid:
            self.remove(key)
            self._objects[key] = new
            self._notify(self._handler.on_add, new)
        elif old.metadata.resource_version != meta.resource_version:
            self._objects[key] = new
            self._notify(self._handler.on_update, old, new)

    def remove(self, key: str, last: T | None = None) -> None:
        """Remove the object with this key; `last` is the version that the server sent with the deletion."""
        old = self._objects.pop(key, None)
        if old is None:
            return
        if last is None or last.metadata.uid != old.metadata.uid:
            last = old
        self._notify(self._handler.on_delete, last)

    def replace(self, items: Iterable[T], *, keep: Collection[str] = ()) -> Iterator[None]:
        """Replace all objects by these, but keep the objects with the keys `keep`, whose new version is unknown.

        Lazy: each step makes one change, so that the caller can let other tasks run in between. Deletions come first,
        because additions may use the capacity that they free.
        """
        present = {item.metadata.key: item for item in items}
        for key in [key for key in self._objects if key not in present and key not in keep]:
            self.remove(key)
            yield
        for item in present.values():
            self.put(item)
            yield

    def _notify(self, handle: Callable[..., None], *objects: T) -> None:
        try:
            handle(*objects)
        except Exception:
            log.exception("handler failed for %s", objects[-1].metadata.key)
