"""The objects that plugins watch in a rehearsal, with an API in memory that accepts the plugins' writes.

The rehearsal fills the listers. Writes, and the changes that the cluster's controllers would make after them, are
reported to the engine as informers would report them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from muster.framework.contract import MERGE_PATCH, Api, ApiError, WatchedKind
from muster.framework.embedded.known import KnownObjects
from muster.framework.scheduler.event_handlers import ObjectEventHandler

Controllers = Callable[[Any, Mapping[str, KnownObjects]], Iterator[tuple[str, Any]]]
"""The reaction of controllers to a written object: further objects, each with its resource."""


class StoredObjects:
    """Implements `contract.Api`: reads and patches objects of some kinds, and leaves everything else to another API.

    Attributes:
        listers: the objects of each kind, by its resource.
    """

    def __init__(self, kinds: Iterable[WatchedKind], controllers: Controllers, *, otherwise: Api) -> None:
        self._kinds = {kind.resource: kind for kind in kinds}
        self._paths = {resource: _path_of(kind) for resource, kind in self._kinds.items()}
        self._controllers = controllers
        self._otherwise = otherwise
        self.listers = {resource: KnownObjects() for resource in self._kinds}

    def report_to(self, handlers: Mapping[WatchedKind, ObjectEventHandler]) -> None:
        """Report all objects to the engine's handlers, and every later change."""
        for kind, handler in handlers.items():
            self.listers[kind.resource].follow(handler)

    async def get(self, path: str) -> bytes:
        """Read an object."""
        found = self._find(path)
        return await self._otherwise.get(path) if found is None else msgspec.json.encode(self._stored(*found))

    async def patch(self, path: str, body: bytes, *, content_type: str = MERGE_PATCH) -> bytes:
        """Apply a merge patch and return the object; lists are replaced by every kind of patch."""
        found = self._find(path)
        if found is None:
            return await self._otherwise.patch(path, body, content_type=content_type)
        resource, _ = found
        plain = msgspec.to_builtins(self._stored(*found))
        merged = _merged(plain, msgspec.json.decode(body))
        version = plain["metadata"].get("resourceVersion", "0")
        merged["metadata"]["resourceVersion"] = str(int(version) + 1) if version.isdecimal() else "1"
        obj = msgspec.convert(merged, self._kinds[resource].type)
        self.listers[resource].put(obj)
        for further, made in self._controllers(obj, self.listers):
            self.listers[further].put(made)
        return msgspec.json.encode(obj)

    async def post(self, path: str, body: bytes) -> bytes:
        """Not supported for these objects."""
        return await self._otherwise.post(path, body)

    async def put(self, path: str, body: bytes) -> bytes:
        """Not supported for these objects."""
        return await self._otherwise.put(path, body)

    async def delete(self, path: str, body: bytes | None = None) -> bytes:
        """Not supported for these objects."""
        return await self._otherwise.delete(path, body)

    def _find(self, path: str) -> tuple[str, str] | None:
        for resource, form in self._paths.items():
            if match := form.fullmatch(path):
                namespace, name = match.groups()
                return resource, f"{namespace}/{name}" if namespace else name
        return None

    def _stored(self, resource: str, key: str) -> object:
        found = self.listers[resource].get(key)
        if found is None:
            raise ApiError(f'{resource} "{key}" not found', status=404, reason="NotFound")
        return found


def _path_of(kind: WatchedKind) -> re.Pattern[str]:
    prefix, _, plural = kind.path.rpartition("/")
    return re.compile(f"{re.escape(prefix)}(?:/namespaces/([^/]+))?/{re.escape(plural)}/([^/]+)(?:/status)?")


def _merged(obj: dict[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(obj)
    for key, value in patch.items():
        if isinstance(value, dict):
            merged[key] = _merged(merged.get(key) or {}, value)
        elif value is None:
            merged.pop(key, None)
        else:
            merged[key] = value
    return merged
