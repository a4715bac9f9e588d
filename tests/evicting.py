"""A cluster whose API handles evictions as a test wants: deleted pods stay for a while, or for good.

To be mixed into a `VirtualScheduler`, in front of it.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec

from muster.framework.contract import ApiError
from muster.framework.contract.api import MERGE_PATCH, NoApi
from muster.framework.scheduler.engine import Engine
from muster.framework.scheduler.ports import Ports
from muster.testing import VirtualScheduler


class Evicting(VirtualScheduler):
    """Also keeps the pods that the scheduler deleted.

    Attributes:
        deletions: how often the deletion of each pod was asked for, by key.
        evicted: keys of the pods that were deleted through the API, in that order.
        grace: seconds that pods with a node stay then; None leaves it to the test to end them.
        fail_delete: keys of pods whose deletion the API refuses.
        takes: how many seconds each request takes.
        answers: set while deletions are answered at once.
    """

    def __init__(self, *args: Any, **more: Any) -> None:
        self.deletions: Counter[str] = Counter()
        self.evicted: list[str] = []
        self.grace: float | None = 1.0
        self.fail_delete: set[str] = set()
        self.takes: Callable[[], float] = lambda: 0.0
        self.answers = asyncio.Event()
        self.answers.set()
        super().__init__(*args, **more)

    def build(self, ports: Ports) -> Engine:
        """With an API that evicts."""
        return super().build(replace(ports, api=_Evictions(self)))

    def left(self, *keys: str) -> list[str]:
        """The names of the pods that exist and are not being deleted."""
        return [key for key in keys if key in self.api.pods and key not in self.evicted]


class _Evictions(NoApi):
    """The API's pods as the executor writes them."""

    def __init__(self, world: Evicting) -> None:
        self._world = world

    async def patch(self, path: str, body: bytes, *, content_type: str = MERGE_PATCH) -> bytes:
        await self._takes()
        key = self._found(path.removesuffix("/status"))
        patch = msgspec.json.decode(body)["status"]

        def merge(pod: dict[str, Any]) -> None:
            merged = {**pod.get("status", {}), **patch}
            pod["status"] = {field: value for field, value in merged.items() if value is not None}

        self._world.api.change("pods", key, merge)
        return b"{}"

    async def delete(self, path: str, body: bytes | None = None) -> bytes:
        world, key = self._world, self._found(path)
        world.deletions[key] += 1
        await self._takes()
        await world.answers.wait()
        self._found(path)
        if key in world.fail_delete:
            raise ApiError("etcdserver: request timed out", status=500)
        world.evicted.append(key)
        if not world.api.pods[key]["spec"].get("nodeName") or world.grace == 0:
            world.delete(key)
            return b"{}"
        world.terminate(key)
        if world.grace is not None:
            world.clock.call_later(world.grace, lambda: world.delete(key))
        return b"{}"

    async def _takes(self) -> None:
        seconds = self._world.takes()
        if seconds:
            await self._world.clock.sleep(seconds)

    def _found(self, path: str) -> str:
        *_, namespace, _, name = path.split("/")
        key = f"{namespace}/{name}"
        if key not in self._world.api.pods:
            raise ApiError(f"{key} not found", status=404)
        return key
