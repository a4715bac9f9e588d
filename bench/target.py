"""The parts of an attack: its target, its beginning and end, and the objects that it creates.

`bench.attacks` and `bench.rogues` list attacks, `bench.attack` replays them. All objects of an attack are deleted when
its context ends, also after a failure.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from bench.attack_effects import Bounds
from bench.client import Client
from bench.scale import SCHEDULER_NAME
from tests.builders import PodDict, make_pod

NAMESPACE = "attack"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"


@dataclass(frozen=True)
class Target:
    """The target of attacks.

    Attributes:
        client: a client with the administrator's rights.
        port: the port of Muster's pages.
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
    """An attack.

    Attributes:
        begin: a context in which the attack continues; after it, all objects are deleted.
        look: called during the attack; returns a further fault, or "".
        bounds: the bounds of effects on other users.
    """

    name: str
    begin: Begin
    look: Callable[[Target], Awaitable[str]] | None = None
    bounds: Bounds = field(default_factory=Bounds)


def posted(*objects: tuple[str, Mapping[str, Any]]) -> Begin:
    """Create objects one after another, and delete them at the end of the context."""

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
    """A pod of the attacker that names Muster."""
    made = make_pod(name, namespace=NAMESPACE).scheduler(SCHEDULER_NAME)
    del made["metadata"]["uid"]
    return made
