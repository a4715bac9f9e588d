"""Simulated kubelets: every terminating pod is deleted at once, as if its containers had ended."""

import asyncio
import time

from bench.client import Client, Following
from bench.ledger import PodEvent
from bench.scale import NAMESPACE

_PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
_TO_GO = b'"deletionTimestamp"'


class Kubelets(Following):
    """The kubelets of all nodes, as a context manager.

    Attributes:
        ended: the time at which each terminating pod was seen, by name, in seconds on the monotonic clock.
    """

    def __init__(self, client: Client) -> None:
        super().__init__()
        self.ended: dict[str, float] = {}
        self._client = client

    async def _follow(self) -> None:
        async with asyncio.TaskGroup() as group:
            while True:
                async for lines in self._client.watch(_PODS, fieldSelector="spec.nodeName!="):
                    for line in lines:
                        if _TO_GO in line and (event := PodEvent.read(line)).type != "DELETED":
                            self._end(event.object.metadata.name, group)

    def _end(self, name: str, group: asyncio.TaskGroup) -> None:
        if name not in self.ended:
            self.ended[name] = time.monotonic()
            group.create_task(self._client.delete(f"{_PODS}/{name}"))
