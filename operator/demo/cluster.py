"""The demo's access to its cluster: the few changes that the story makes, and the states that it waits for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from muster.operator.kube.client import ApiClient

_PODS = "/api/v1/namespaces/default/pods"
_GROUPS = "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/podgroups"
_EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
_POLL_SECONDS = 0.05

Json = dict[str, Any]
T = TypeVar("T")


class StoryError(Exception):
    """A step of the story did not happen; the text names it."""


class DemoCluster:
    """Pods and PodGroups in the namespace `default`, through the API."""

    def __init__(self, client: ApiClient, scheduler_name: str, *, patience: float) -> None:
        """`patience` is the longest wait of the story for a state, in seconds."""
        self._client = client
        self._scheduler_name = scheduler_name
        self._patience = patience

    async def create_pods(self, names: Sequence[str], *, cpu: str, group: str = "") -> None:
        """Create pods that request this much CPU, as members of a PodGroup if one is given."""
        labels = {"scheduling.x-k8s.io/pod-group": group} if group else {}
        for name in names:
            container = {"name": "main", "image": "registry.example/app:1", "resources": {"requests": {"cpu": cpu}}}
            spec = {"schedulerName": self._scheduler_name, "containers": [container]}
            await self._post(_PODS, "v1", "Pod", {"name": name, "labels": labels}, spec=spec)

    async def create_group(self, name: str, *, min_member: int) -> None:
        """Create a PodGroup."""
        spec = {"minMember": min_member}
        await self._post(_GROUPS, "scheduling.x-k8s.io/v1alpha1", "PodGroup", {"name": name}, spec=spec)

    async def delete_pods(self, names: Sequence[str]) -> None:
        """Delete pods at once."""
        for name in names:
            await self._client.delete(f"{_PODS}/{name}", b'{"gracePeriodSeconds":0}')

    async def nodes_of(self, names: Sequence[str]) -> dict[str, str]:
        """The node of each pod; "" for a pod without a node."""
        listed = await self._list(_PODS)
        nodes = {pod["metadata"]["name"]: pod["spec"].get("nodeName", "") for pod in listed}
        return {name: nodes.get(name, "") for name in names}

    async def wait_bound(self, names: Sequence[str]) -> Mapping[str, str]:
        """Wait until all of these pods have nodes. Raises StoryError if one gets no node in time."""

        async def bound() -> Mapping[str, str] | None:
            nodes = await self.nodes_of(names)
            return nodes if all(nodes.values()) else None

        return await self._eventually(bound, f"pods {names[0]} to {names[-1]} were not all bound")

    async def wait_reason(self, pod: str) -> str:
        """Wait for a FailedScheduling Event of the pod; returns its text. Raises StoryError if none comes in time."""

        async def reason() -> str | None:
            notes = [
                event.get("note", "")
                for event in await self._list(_EVENTS)
                if event.get("reason") == "FailedScheduling" and event.get("regarding", {}).get("name") == pod
            ]
            return notes[-1] if notes else None

        return await self._eventually(reason, f"pod {pod} got no Event that says why it waits")

    async def _eventually(self, look: Callable[[], Awaitable[T | None]], otherwise: str) -> T:
        try:
            async with asyncio.timeout(self._patience):
                return await _polled(look)
        except TimeoutError:
            raise StoryError(f"{otherwise} within {self._patience:g}s") from None

    async def _list(self, path: str) -> list[Json]:
        items: list[Json] = msgspec.json.decode((await self._client.get(path)).body)["items"]
        return items

    async def _post(self, path: str, version: str, kind: str, metadata: Json, *, spec: Json) -> None:
        body = {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}
        await self._client.post(path, msgspec.json.encode(body))


async def _polled(look: Callable[[], Awaitable[T | None]]) -> T:
    while True:
        found = await look()
        if found is not None:
            return found
        await asyncio.sleep(_POLL_SECONDS)
