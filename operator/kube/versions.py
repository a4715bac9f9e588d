"""The versions in which API servers serve the kinds of Kubernetes that are not stable yet.

Muster names such a kind in the version that its structs are written for. `client.ApiClient` sends each request through
`ServedVersions`, which keeps to that version while the server serves it. Once the server serves the kind only in a
newer version of `_NEWER`, requests go there; discovery says so, and is asked only after a 404.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from .errors import Forbidden, NotFound

if TYPE_CHECKING:
    from .transport import Reply

_NEWER: Mapping[str, Mapping[str, Sequence[str]]] = {
    "/apis/scheduling.k8s.io/v1beta1": {"podgroups": ("v1",)},
    "/apis/scheduling.k8s.io/v1alpha3": {"compositepodgroups": ("v1", "v1beta1")},
}
"""By group and version, in whose paths Muster names a kind, and by plural: the newer versions, the newest first."""


class Versioned(NamedTuple):
    """A kind that servers may serve in another version than the one that Muster names.

    Attributes:
        written: the path of the group and the version that Muster names.
    """

    written: str
    plural: str

    def at(self, version: str, path: str) -> str:
        """A path of this kind, in this version."""
        return f"{self.written.rpartition('/')[0]}/{version}{path[len(self.written) :]}"

    @property
    def version(self) -> str:
        """The version that Muster names."""
        return self.written.rpartition("/")[2]


def versioned(path: str) -> tuple[Versioned, bool] | None:
    """The kind that a path is about, and whether the path is that of its objects together; None for any other kind."""
    for written, kinds in _NEWER.items():
        if path.startswith(written):
            _, *rest = path[len(written) :].partition("?")[0].split("/")
            if len(rest) > 2 and rest[0] == "namespaces":
                rest = rest[2:]
            if rest and rest[0] in kinds:
                return Versioned(written, rest[0]), len(rest) == 1
    return None


def body_at(path: str, body: bytes | None) -> bytes | None:
    """The body of a request to this path: an object that names its apiVersion names the path's."""
    if body is None:
        return None
    document = msgspec.json.decode(body)
    if not isinstance(document, dict) or "apiVersion" not in document:
        return body
    group, version = path.split("/")[2:4]
    return msgspec.json.encode(document | {"apiVersion": f"{group}/{version}"})


class _Resource(msgspec.Struct):
    name: str = ""


class _Resources(msgspec.Struct):
    resources: list[_Resource] = []


class ServedVersions:
    """The versions that one API server serves, as far as its answers have shown them. `read` sends a GET."""

    def __init__(self, read: Callable[[str], Awaitable[Reply]]) -> None:
        self._read = read
        self._in_use: dict[Versioned, str] = {}

    def current(self, path: str) -> str:
        """The path in the version that is in use."""
        found = versioned(path)
        return path if found is None or found[0] not in self._in_use else found[0].at(self._in_use[found[0]], path)

    def reply(self, path: str, send: Callable[[str], Awaitable[Reply]]) -> Awaitable[Reply]:
        """The reply to a request to this path, which `send` sends to the path that it is given.

        After a 404 that may be due to the version, it is sent once more if the server serves another one. Raises
        ApiError.
        """
        found = versioned(path)
        return send(path) if found is None else self._negotiated(*found, path, send)

    async def _negotiated(
        self, kind: Versioned, together: bool, path: str, send: Callable[[str], Awaitable[Reply]]
    ) -> Reply:
        tried = self._in_use.get(kind, kind.version)
        try:
            reply = await send(kind.at(tried, path))
        except NotFound:
            if kind in self._in_use and not together:
                raise
            served = await self._find(kind)
            if served is None or served == tried:
                raise
            return await send(kind.at(served, path))
        self._in_use[kind] = tried
        return reply

    async def require(self, path: str) -> None:
        """Raise NotFound if the server does not serve the kind whose objects are at this path. Raises ApiError."""
        found = versioned(path)
        if found is None:
            await self._read(path.rpartition("/")[0])
        elif await self._find(found[0]) is None:
            raise NotFound(f"{path} is not served", status=404, reason="NotFound")

    async def _find(self, kind: Versioned) -> str | None:
        """The version to use from now on: the one that Muster names, or else the newest; None if none is served."""
        self._in_use.pop(kind, None)
        for version in (kind.version, *_NEWER[kind.written][kind.plural]):
            try:
                reply = await self._read(kind.at(version, kind.written))
            except (Forbidden, NotFound):
                continue
            if kind.plural in _names(reply.body):
                self._in_use[kind] = version
                return version
        return None


def _names(body: bytes) -> list[str]:
    """The plurals in an answer of discovery."""
    try:
        return [resource.name for resource in msgspec.json.decode(body, type=_Resources).resources]
    except msgspec.MsgspecError:
        return []
