"""What an attack is made of: where it goes, how it begins and ends, and the objects that it creates.

`bench.attacks` and `bench.rogues` list attacks, `bench.attack` replays them. Whatever an attack creates is gone when
its context ends, also where it failed.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from bench.bearing import Bounds
from bench.client import Client
from bench.scale import SCHEDULER_NAME
from tests.builders import PodDict, make_pod

NAMESPACE = "attack"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"


@dataclass(frozen=True)
class Target:
    """Where to attack.

    Attributes:
        client: the cluster, as its administrator.
        port: of Muster's pages.
        kubeconfig: the administrator's credentials.
        packages: the folder of plugin packages that are installed beside Muster.
    """

    client: Client
    port: int
    kubeconfig: Path
    packages: Path


Begin = Callable[[Target], AbstractAsyncContextManager[None]]


@dataclass(frozen=True)
class Attack:
    """Something to bear.

    Attributes:
        begin: a context in which it goes on and after which everything is gone again.
        look: asked while it goes on; answers what else is wrong, "" for nothing.
        bounds: what others may notice.
    """

    name: str
    begin: Begin
    look: Callable[[Target], Awaitable[str]] | None = None
    bounds: Bounds = field(default_factory=Bounds)


def posted(*objects: tuple[str, Mapping[str, Any]]) -> Begin:
    """Objects that are created one after another and deleted in the end."""

    @asynccontextmanager
    async def begin(target: Target) -> AsyncIterator[None]:
        created: list[str] = []
        try:
            for path, body in objects:
                await target.client.post(path, msgspec.json.encode(body))
                created.append(f"{path}/{body['metadata']['name']}")
            yield
        finally:
            for path in reversed(created):
                await target.client.delete(path)

    return begin


def make_attack_pod(name: str) -> PodDict:
    """A pod of the attacker's, for Muster."""
    made = make_pod(name, namespace=NAMESPACE).scheduler(SCHEDULER_NAME)
    del made["metadata"]["uid"]
    return made
