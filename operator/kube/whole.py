"""Whole objects of the API for extenders: JSON as the server wrote it, without `managedFields`.

The engine keeps only the fields of nodes and pods that scheduling reads. If an extender needs whole nodes, they are
watched a second time; pods are read one by one. This module does not interpret the objects.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

import msgspec

from muster.framework.contract.api import pod_path
from muster.framework.contract.extender import ExtenderError
from muster.framework.model.meta import ObjectMeta, Wire

from .errors import ApiError
from .informer import Informer, Listed, Timing

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from muster.framework.config import ExtenderConfig
    from muster.framework.model.pod_info import PodInfo

    from .client import ApiClient
    from .transport import Reply

_READS = 16
_encode = msgspec.json.Encoder().encode
_Part = msgspec.Raw | msgspec.UnsetType


class WholeMeta(ObjectMeta):
    """`metadata`, as received."""

    generate_name: _Part = msgspec.UNSET
    deletion_grace_period_seconds: _Part = msgspec.UNSET
    annotations: _Part = msgspec.UNSET
    owner_references: _Part = msgspec.UNSET
    finalizers: _Part = msgspec.UNSET


class Whole(Wire):
    """An object, as received."""

    metadata: WholeMeta
    spec: _Part = msgspec.UNSET
    status: _Part = msgspec.UNSET


_decode = msgspec.json.Decoder(Whole).decode


class NoopHandler:
    """A handler without effect, for informers whose store is read directly."""

    def on_add(self, obj: object, /) -> None:
        """An object was seen for the first time."""

    def on_update(self, old: object, new: object, /) -> None:
        """An object changed."""

    def on_delete(self, obj: object, /) -> None:
        """Remove an object."""


def whole_nodes(client: ApiClient, timing: Timing | None = None) -> Informer[Whole]:
    """An informer of whole nodes."""
    return Informer(client, Listed("/api/v1/nodes", Whole), NoopHandler(), timing=timing)


class NodeSource(Protocol):
    """A source of whole nodes, e.g. an informer."""

    def get(self, key: str, /) -> Whole | None:
        """The node of this name."""
        ...


class Reader(Protocol):
    """A source of whole pods, e.g. a client of the API."""

    async def get(self, path: str, /) -> Reply:
        """Read an object. Raises ApiError."""
        ...


def is_sent_nodes(extender: ExtenderConfig) -> bool:
    """Whether requests to an extender need whole nodes."""
    return not extender.node_cache_capable and bool(extender.filter_verb or extender.prioritize_verb)


class WholeObjects:
    """Whole pods and nodes by name, as JSON. `nodes` is None if no extender needs them."""

    def __init__(self, client: Reader, nodes: NodeSource | None) -> None:
        self._client = client
        self._nodes = nodes
        self._reads = asyncio.Semaphore(_READS)

    def nodes(self, names: Iterable[str]) -> list[bytes]:
        """The known nodes among these, in their current version, as JSON."""
        if self._nodes is None:
            return []
        found = (self._nodes.get(name) for name in names)
        return [_encode(node) for node in found if node is not None]

    async def pod(self, pod: PodInfo) -> bytes:
        """The current version of the pod.

        Raises ExtenderError if it is gone or cannot be read.
        """
        try:
            async with self._reads:
                reply = await self._client.get(pod_path(pod.pod.metadata))
            found = _decode(reply.body)
        except (ApiError, msgspec.DecodeError) as error:
            raise ExtenderError(f"reading pod {pod.key} for an extender: {error}") from error
        if found.metadata.uid != pod.uid:
            raise ExtenderError(f"reading pod {pod.key} for an extender: it was recreated")
        return _encode(found)

    async def pods(self, pods_by_node: Mapping[str, Sequence[PodInfo]]) -> dict[str, list[bytes]]:
        """The current versions of the pods, by node."""
        found = await asyncio.gather(*(self.pod(pod) for pods in pods_by_node.values() for pod in pods))
        bodies = iter(found)
        return {name: [next(bodies) for _ in pods] for name, pods in pods_by_node.items()}
