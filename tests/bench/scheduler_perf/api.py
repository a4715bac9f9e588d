"""A stand-in for the API server in tests of what writes to it: it remembers requests, and names what it is given."""

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec

KINDS = {
    "/api/v1": [
        {"name": "nodes", "kind": "Node", "namespaced": False},
        {"name": "pods", "kind": "Pod", "namespaced": True},
        {"name": "pods/status", "kind": "Pod", "namespaced": True},
        {"name": "services", "kind": "Service", "namespaced": True},
    ],
    "/apis/scheduling.k8s.io/v1beta1": [{"name": "podgroups", "kind": "PodGroup", "namespaced": True}],
}


class Recorder:
    """Answers every request.

    Attributes:
        requests: verb and path of each.
        bodies: what was sent with them, in the same order.
        lists: what lists are answered with, by path.
    """

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.bodies: list[Any] = []
        self.lists: dict[str, list[Any]] = {}
        self._more = asyncio.Event()

    async def until(self, count: int) -> None:
        """Returns when there were as many requests."""
        while len(self.requests) < count:
            self._more.clear()
            await self._more.wait()

    async def get(self, path: str, **query: str) -> Any:
        self._record("GET", path, None)
        return {"resources": KINDS[path]} if path in KINDS else {"items": self.lists[path]}

    async def post(self, path: str, body: bytes) -> bytes:
        made = msgspec.json.decode(body)
        self._record("POST", path, made)
        metadata = made["metadata"]
        return msgspec.json.encode({"metadata": {"name": metadata.get("name") or self._generated(metadata)}})

    async def put(self, path: str, body: bytes) -> None:
        self._record("PUT", path, msgspec.json.decode(body))

    async def patch(self, path: str, change: Mapping[str, Any]) -> None:
        self._record("PATCH", path, change)

    async def delete(self, path: str, *, at_once: bool = True) -> None:
        self._record("DELETE", path, at_once)

    def _record(self, verb: str, path: str, body: Any) -> None:
        self.requests.append(f"{verb} {path.removesuffix('?fieldValidation=Strict')}")
        self.bodies.append(body)
        self._more.set()

    def _generated(self, metadata: Mapping[str, Any]) -> str:
        return f"{metadata['generateName']}{len(self.requests)}"
