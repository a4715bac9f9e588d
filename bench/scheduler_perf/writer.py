"""The writes of a workload: namespaces, pods, and objects of every kind, created as scheduler_perf creates them.

`play` and what runs beside it write with it, so that it knows when each pod was created. The API server is asked to
refuse fields that it does not know: no part of a template is lost unseen.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

import msgspec

from bench.progress import Advance
from bench.scheduler_perf.catalogue import Api, Catalogue
from bench.scheduler_perf.objects import Object
from bench.scheduler_perf.pods import Key

IN_FLIGHT = 30
"""As many pods scheduler_perf creates at a time."""
_STRICT = "?fieldValidation=Strict"
_NAMESPACES = "/api/v1/namespaces"
_GROUPS_VERSION = "scheduling.k8s.io/v1beta1"
Item = TypeVar("Item")


class _Metadata(msgspec.Struct, gc=False):
    name: str


class _Named(msgspec.Struct, gc=False):
    metadata: _Metadata


_decoder = msgspec.json.Decoder(_Named)


class Writer:
    """Writes to the API server of a run.

    Attributes:
        created: when the creation of each pod was answered, seconds on the monotonic clock.
        catalogue: where objects of each kind are.
    """

    def __init__(self, client: Api, advance: Advance) -> None:
        """`advance` is told of each pod that is created."""
        self.created: dict[Key, float] = {}
        self.catalogue = Catalogue(client)
        self._client = client
        self._advance = advance
        self._namespaces: set[str] = set()

    async def namespace(self, name: str, made: Object | None = None) -> None:
        """Creates a namespace that this has not created yet."""
        if name not in self._namespaces:
            self._namespaces.add(name)
            await self.create(_NAMESPACES, made or {"metadata": {"name": name}})

    async def create(self, collection: str, made: Object) -> str:
        """Creates an object in a list; its name."""
        return await self._post(collection, msgspec.json.encode(made))

    async def pod(self, namespace: str, body: bytes) -> str:
        """Creates a pod; its name."""
        name = await self._post(pods_of(namespace), body)
        self.created[namespace, name] = time.monotonic()
        self._advance(1)
        return name

    async def any_object(self, made: Object, namespace: str | None) -> str:
        """Creates an object of any kind, in a namespace or in none; its name."""
        resource = await self.catalogue.resource(made)
        return await self.create(resource.collection(namespace), made)

    async def group(self, made: Object, namespace: str | None) -> None:
        """Creates a PodGroup, in the version of its API that is served."""
        await self.any_object({**made, "apiVersion": _GROUPS_VERSION}, namespace)

    async def replace(self, made: Object, namespace: str | None, subresources: Iterable[str]) -> None:
        """Replaces an object, or a part of it, and then its status."""
        resource = await self.catalogue.resource(made)
        path = f"{resource.collection(namespace)}/{made['metadata']['name']}"
        body = msgspec.json.encode(made)
        await self._client.put("/".join([path, *subresources]) + _STRICT, body)
        await self._client.put(f"{path}/status{_STRICT}", body)

    async def _post(self, collection: str, body: bytes) -> str:
        return _decoder.decode(await self._client.post(collection + _STRICT, body)).metadata.name


def pods_of(namespace: str) -> str:
    """The path of the pods of a namespace."""
    return f"{_NAMESPACES}/{namespace}/pods"


async def many(items: Iterable[Item], work: Callable[[Item], Awaitable[None]]) -> None:
    """Work on each item, on many at a time, in their order. Raises `ExceptionGroup` of what the work does."""
    left = iter(items)

    async def some() -> None:
        for item in left:
            await work(item)

    async with asyncio.TaskGroup() as group:
        for _ in range(IN_FLIGHT):
            group.create_task(some())
