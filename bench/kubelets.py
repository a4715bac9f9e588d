"""Plays the kubelets: every terminating pod is gone at once, as if its containers had ended by themselves."""

import asyncio
import time

from bench.client import Client, Following
from bench.ledger import PodEvent
from bench.scale import NAMESPACE

_PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
_TO_GO = b'"deletionTimestamp"'


class Kubelets(Following):
    """The kubelets of all nodes, which run within this block.

    Attributes:
        ended: when each pod that was to go was seen, by name, seconds on the monotonic clock.
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
