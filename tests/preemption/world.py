"""Pods that evict others, on an API in memory that refuses and delays evictions as a test wants."""

import asyncio
from collections import Counter
from dataclasses import replace

from muster.framework.contract import ApiError
from muster.framework.scheduler.engine import Engine
from muster.framework.scheduler.profile_handle import Ports
from muster.plugins.defaultpreemption.plugin import DefaultPreemption
from muster.plugins.resources.fit import NodeResourcesFit
from tests.builders import PodDict, make_node, make_pod
from tests.scheduler.stage import Stage


class EvictingStage(Stage):
    """Nodes that take two cores each. Victims are marked by the API at once, and go when the test lets them.

    Attributes:
        deletions: how often the deletion of each pod was asked for, by key.
        refuses: whether the API refuses deletions.
        free: set while deletions are answered at once.
    """

    def __init__(self) -> None:
        self.deletions: Counter[str] = Counter()
        self.refuses = False
        self.free = asyncio.Event()
        self.free.set()
        super().__init__(NodeResourcesFit, DefaultPreemption)

    def build(self, ports: Ports) -> Engine:
        """With an API that evicts."""
        return super().build(replace(ports, api=_Evictions(self)))

    def fill(self, *nodes: str, each: int = 1) -> None:
        """Nodes come, each full of so many pods of low priority."""
        self.put_node(*(make_node(node, cpu="2") for node in nodes))
        for node in nodes:
            self.put_pod(*(victim(f"{node}-{number}", f"{2000 // each}m").node(node) for number in range(each)))


class _Evictions:
    """Implements `contract.Api` as far as evictions need it."""

    def __init__(self, stage: EvictingStage) -> None:
        self._stage = stage

    async def get(self, path: str) -> bytes:
        raise NotImplementedError(path)

    async def post(self, path: str, body: bytes) -> bytes:
        raise NotImplementedError(path)

    async def put(self, path: str, body: bytes) -> bytes:
        raise NotImplementedError(path)

    async def patch(self, path: str, body: bytes, *, content_type: str = "") -> bytes:
        return b""

    async def delete(self, path: str, body: bytes | None = None) -> bytes:
        key = "{4}/{6}".format(*path.split("/"))
        self._stage.deletions[key] += 1
        await self._stage.free.wait()
        if self._stage.refuses:
            raise ApiError("an error on the server has prevented the request from succeeding", status=500)
        self._stage.terminate(key)
        return b""


def victim(name: str, cpu: str) -> PodDict:
    """A pod that anybody may evict."""
    return make_pod(name).requests(cpu=cpu)


def urgent(name: str, cpu: str = "2") -> PodDict:
    """A pod that may evict others."""
    return make_pod(name).requests(cpu=cpu).priority(100)
