"""Plays the kubelets: whatever pod is to go is gone at once, as if its containers had ended by themselves."""

import asyncio
import time
from typing import Self

import msgspec

from bench.client import Client
from bench.scale import NAMESPACE

_PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
_TO_GO = b'"deletionTimestamp"'


class _Metadata(msgspec.Struct, gc=False):
    name: str = ""


class _Pod(msgspec.Struct, gc=False):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


class _Event(msgspec.Struct, gc=False):
    type: str
    object: _Pod


_decode = msgspec.json.Decoder(_Event).decode


class Kubelets:
    """Those of all nodes, at work while this is used as a context manager.

    Attributes:
        ended: when each pod that was to go was seen, by name, seconds on the monotonic clock.
    """

    def __init__(self, client: Client) -> None:
        self.ended: dict[str, float] = {}
        self._client = client
        self._following: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._following = asyncio.create_task(self._follow())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._following is not None:
            self._following.cancel()
            await asyncio.gather(self._following, return_exceptions=True)

    async def _follow(self) -> None:
        async with asyncio.TaskGroup() as group:
            while True:
                async for lines in self._client.watch(_PODS, fieldSelector="spec.nodeName!="):
                    for line in lines:
                        if _TO_GO in line and (event := _decode(line)).type != "DELETED":
                            self._end(event.object.metadata.name, group)

    def _end(self, name: str, group: asyncio.TaskGroup) -> None:
        if name not in self.ended:
            self.ended[name] = time.monotonic()
            group.create_task(self._client.delete(f"{_PODS}/{name}"))
