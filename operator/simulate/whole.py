"""Whole pods and nodes for extenders that are called in a trial, from the API or from files.

`simulate` tries pods that do not exist yet, on a cluster that may come from a file; the other commands read the API. A
pod that is tried although it has a node is sent without the node, as a scheduler would see it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from muster.framework.model.pod_info import PodInfo
from muster.operator.kube.client import ApiClient
from muster.operator.kube.errors import NotFound
from muster.operator.kube.informer import Listed
from muster.operator.kube.listing import list_all
from muster.operator.kube.transport import Reply
from muster.operator.kube.whole import Whole, WholeObjects

_NODES = Listed("/api/v1/nodes", Whole)
_OK = 200
_NOT_FOUND = 404


@dataclass(slots=True)
class Written:
    """Whole objects of files, as JSON: nodes by name, pods by `namespace/name`."""

    nodes: dict[str, msgspec.Raw] = field(default_factory=dict)
    pods: dict[str, msgspec.Raw] = field(default_factory=dict)

    def extend(self, more: Written) -> None:
        """Add the objects of another source."""
        self.nodes |= more.nodes
        self.pods |= more.pods


class TrialObjects(WholeObjects):
    """Whole objects of files and, with a client, of the API."""

    def __init__(self, client: ApiClient | None, written: Written | None = None) -> None:
        self._found: dict[str, Whole] = {}
        self._api = client
        self._written = written or Written()
        super().__init__(_Pods(client, self._written.pods), self._found)

    async def read_nodes(self) -> None:
        """Read the current nodes. Raises ApiError."""
        live = [] if self._api is None else await list_all(self._api, _NODES)
        self._found.clear()
        self._found.update((node.metadata.name, node) for node in live)
        self._found.update((name, msgspec.json.decode(body, type=Whole)) for name, body in self._written.nodes.items())

    async def pod(self, pod: PodInfo) -> bytes:
        """See `WholeObjects`."""
        body = await super().pod(pod)
        return body if pod.node_name else _without_node(body)


class _Pods:
    """Implements `kube.whole.Reader`."""

    def __init__(self, client: ApiClient | None, written: Mapping[str, msgspec.Raw]) -> None:
        self._client = client
        self._written = written

    async def get(self, path: str, /) -> Reply:
        *_, namespace, _, name = path.split("/")
        body = self._written.get(f"{namespace}/{name}")
        if body is not None:
            return Reply(_OK, bytes(body))
        if self._client is None:
            raise NotFound(f'pods "{name}" not found', status=_NOT_FOUND)
        return await self._client.get(path)


def _without_node(body: bytes) -> bytes:
    found = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    spec = msgspec.json.decode(found.get("spec", msgspec.Raw(b"{}")), type=dict[str, msgspec.Raw])
    if not spec.pop("nodeName", None):
        return body
    found.pop("status", None)
    return msgspec.json.encode({**found, "spec": spec})
