"""A world whose API takes evictions: pods that are deleted stay for their grace period, and it is kept who went."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec

from muster.framework.contract import ApiError
from muster.framework.contract.api import MERGE_PATCH, NoApi
from muster.framework.scheduler.engine import Engine
from muster.framework.scheduler.profile_handle import Ports
from tests.builders import PodDict
from tests.coscheduling.objects import GROUP_LABEL, make_member
from tests.coscheduling.world import World


class EvictingWorld(World):
    """Also keeps whom the scheduler deleted.

    Attributes:
        evicted: keys of the pods that were deleted through the API, in that order.
        grace: seconds that they stay.
        fail_delete: keys of pods whose deletion the API refuses.
    """

    def __init__(self, *args: Any, **more: Any) -> None:
        self.evicted: list[str] = []
        self.grace = 1.0
        self.fail_delete: set[str] = set()
        super().__init__(*args, **more)

    def build(self, ports: Ports) -> Engine:
        return super().build(replace(ports, api=_Deletions(self)))

    def fill(self, node: str, count: int, *, priority: int = 0, group: str = "", cpu: str = "1") -> list[str]:
        """Pods that run on a node; members of a group if one is named."""
        name = f"{group or 'low'}-{node}-{priority}"
        made = [
            make_member(f"{name}-{n}", group, cpu=cpu) if group else PodDict(plain(f"{name}-{n}", cpu))
            for n in range(count)
        ]
        return self.add(*(pod.priority(priority).node(node) for pod in made))

    def gang(self, name: str, count: int, *, priority: int, cpu: str = "1", min_member: int | None = None) -> list[str]:
        """A gang that waits."""
        self.add_group(name, count if min_member is None else min_member)
        return self.add(*(make_member(f"{name}-{n}", name, cpu=cpu).priority(priority) for n in range(count)))

    def left(self, *keys: str) -> list[str]:
        """Those of the pods that are there and not being deleted."""
        return [key for key in keys if key in self.api.pods and key not in self.evicted]

    def groups_of(self, keys: Sequence[str]) -> set[str]:
        """The groups of pods that may be gone: by the names that `fill` and `gang` give."""
        return {key.partition("/")[2].partition("-")[0] for key in keys}


def plain(name: str, cpu: str = "1") -> PodDict:
    """A pod of no group."""
    pod = make_member(name, "", cpu=cpu)
    del pod["metadata"]["labels"][GROUP_LABEL]
    return pod


class _Deletions(NoApi):
    """The API's pods as the executor writes them."""

    def __init__(self, world: EvictingWorld) -> None:
        self._world = world

    async def patch(self, path: str, body: bytes, *, content_type: str = MERGE_PATCH) -> bytes:
        key = _key(path.removesuffix("/status"))
        if key not in self._world.api.pods:
            raise ApiError(f"{key} not found", status=404)
        patch = msgspec.json.decode(body)["status"]

        def merge(pod: dict[str, Any]) -> None:
            merged = {**pod.get("status", {}), **patch}
            pod["status"] = {field: value for field, value in merged.items() if value is not None}

        self._world.api.change("pods", key, merge)
        return b"{}"

    async def delete(self, path: str, body: bytes | None = None) -> bytes:
        world, key = self._world, _key(path)
        if key not in world.api.pods:
            raise ApiError(f"{key} not found", status=404)
        if key in world.fail_delete:
            raise ApiError("etcdserver: request timed out", status=500)
        world.evicted.append(key)
        if world.api.pods[key]["spec"].get("nodeName") and world.grace:
            world.terminate(key)
            world.clock.call_later(world.grace, lambda: world.delete(key))
        else:
            world.delete(key)
        return b"{}"


def _key(path: str) -> str:
    *_, namespace, _, name = path.split("/")
    return f"{namespace}/{name}"
