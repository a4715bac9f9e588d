"""Plays the operations of a workload against the scheduler that runs, one after another, as scheduler_perf does.

`trial` makes a player for each run. An operation ends when scheduler_perf would go on: a barrier when enough pods are
bound or were tried, the creation of pods when as many pods of their namespace are bound, unless it does not wait.
Pods are made before the first of them is posted, so that making them takes no time from what is measured.
"""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from random import Random
from typing import Any

import msgspec

from bench.failures import StalledError
from bench.ledger import WrongRunError
from bench.scheduler_perf import objects
from bench.scheduler_perf.allocation import Devices
from bench.scheduler_perf.beside import Churning, Steady, delete_pods, ticks
from bench.scheduler_perf.catalogue import Api
from bench.scheduler_perf.collecting import Collector
from bench.scheduler_perf.operations import (
    AllocateClaims,
    Barrier,
    Churn,
    CreateNamespaces,
    CreateNodes,
    CreateObjects,
    CreatePods,
    DeletePods,
    Operation,
    StartCollecting,
    StopCollecting,
    UpdateObjects,
)
from bench.scheduler_perf.pods import PodWatch
from bench.scheduler_perf.writer import Writer, many

_NODES, _STORAGE_NODES = "/api/v1/nodes", "/apis/storage.k8s.io/v1/csinodes"
_VOLUMES = "/api/v1/persistentvolumes"
_DEVICES = "/apis/resource.k8s.io/v1"
_BOUND = {"status": {"phase": "Bound"}}
_WITHIN_SECONDS = 600.0
"""As long scheduler_perf waits for pods."""
_LOOK_SECONDS = 0.1
_KNOWN_SECONDS = 1.0
"""scheduler_perf waits until its scheduler knows of groups; another process is given time to."""


class Player:
    """Plays one workload once."""

    def __init__(
        self, client: Api, writer: Writer, watch: PodWatch, collector: Collector, *, is_alive: Callable[[], bool]
    ) -> None:
        """`is_alive` says whether the scheduler runs still."""
        self._client = client
        self._writer = writer
        self._watch = watch
        self._collector = collector
        self._is_alive = is_alive
        self._random = Random(0)
        self._nodes = 0
        self._expected: dict[str, int] = {}
        """By namespace, how many pods were created that nothing has waited for yet."""
        self._beside: list[asyncio.Task[None]] = []

    async def play(self, operations: list[Operation]) -> None:
        """Play all. What goes on beside them ends with the last one.

        Raises `ExceptionGroup` of `StalledError`, `WrongRunError`, `RefusedError` and `AllocationError`.
        """
        async with asyncio.TaskGroup() as group:
            for operation in operations:
                if (task := await self._play(operation)) is not None:
                    self._beside.append(group.create_task(task))
            for running in self._beside:
                running.cancel()

    async def _play(self, operation: Operation) -> Coroutine[Any, Any, None] | None:
        """Plays an operation, or returns what is to go on beside the next ones."""
        match operation:
            case CreateNodes():
                await self._create_nodes(operation)
            case CreateNamespaces():
                for made in objects.namespaces(operation):
                    await self._namespace(made["metadata"]["name"], made)
            case CreatePods():
                await self._create_pods(operation)
            case CreateObjects():
                await self._create_objects(operation)
            case UpdateObjects():
                await self._update_objects(operation)
            case DeletePods():
                names = self._watch.names(operation.namespace, operation.selector)
                return delete_pods(operation, names, self._client)
            case Churn():
                await self._writer.namespace(operation.namespace)
                return Churning(operation, self._client, self._writer).run()
            case Barrier():
                await self._wait(operation)
            case StartCollecting():
                await self._collector.start(operation.namespaces, operation.selector)
            case StopCollecting():
                await self._collector.stop(self._writer.created)
            case AllocateClaims():
                await self._allocate(operation.namespace)
        return None

    async def _namespace(self, name: str, made: objects.Object | None = None) -> None:
        await self._writer.namespace(name, made)
        self._expected.setdefault(name, 0)

    async def _create_nodes(self, operation: CreateNodes) -> None:
        nodes = list(objects.nodes(operation, self._nodes))
        self._nodes += operation.count
        beside = objects.storage_nodes(operation, [node["metadata"]["name"] for node in nodes])
        for collection, made in ((_NODES, nodes), (_STORAGE_NODES, beside)):
            await many(made, partial(self._create, collection))

    async def _create(self, collection: str, made: objects.Object) -> None:
        await self._writer.create(collection, made)

    async def _create_pods(self, operation: CreatePods) -> None:
        namespace = operation.namespace
        await self._namespace(namespace)
        bodies = [msgspec.json.encode(objects.pod(operation, index)) for index in range(operation.count)]
        if operation.collects:
            await self._collector.start([namespace], {})
        if (seconds := operation.steady_seconds) is not None:
            steady = Steady(namespace, self._client, self._writer, self._watch)
            if not await steady.keep(bodies, seconds):
                raise WrongRunError(f"no pod of {namespace} was bound in {seconds:.0f} s")
        else:
            await many(enumerate(bodies), partial(self._create_pod, operation))
            if operation.waits:
                await self._until(Barrier(), namespace, operation.count)
            else:
                self._expected[namespace] += operation.count
        if operation.collects:
            await self._collector.stop(self._writer.created)

    async def _create_pod(self, operation: CreatePods, numbered: tuple[int, bytes]) -> None:
        """Creates a pod, after its volume if it has one of its own."""
        index, body = numbered
        if operation.claim is not None:
            claim, volume = objects.claim_and_volume(operation, index)
            claims = f"/api/v1/namespaces/{operation.namespace}/persistentvolumeclaims"
            for collection, made in ((claims, claim), (_VOLUMES, volume)):
                name = await self._writer.create(collection, made)
                await self._client.patch(f"{collection}/{name}/status", _BOUND)
        await self._writer.pod(operation.namespace, body)

    async def _create_objects(self, operation: CreateObjects) -> None:
        if operation.namespace is not None:
            await self._namespace(operation.namespace)
        create = self._writer.group if operation.are_groups else self._writer.any_object
        for made in objects.any_objects(operation):
            await create(made, operation.namespace)
        if operation.are_groups:
            await asyncio.sleep(_KNOWN_SECONDS)

    async def _update_objects(self, operation: UpdateObjects) -> None:
        made = iter(list(objects.any_objects(operation)))
        async for _ in ticks(1 / operation.per_second):
            if (each := next(made, None)) is None:
                return
            await self._writer.replace(each, operation.namespace, operation.subresources)

    async def _wait(self, barrier: Barrier) -> None:
        for namespace in barrier.namespaces or [*self._expected]:
            await self._until(barrier, namespace, self._expected[namespace])
            if not barrier.tried:
                del self._expected[namespace]

    async def _until(self, barrier: Barrier, namespace: str, count: int) -> None:
        """Waits for so many pods of a namespace. Raises `StalledError` after ten minutes, and when the side ends."""
        reached = self._watch.tried_pods if barrier.tried else self._watch.bound_pods
        what = "tried" if barrier.tried else "bound"
        deadline = asyncio.get_running_loop().time() + _WITHIN_SECONDS
        while (now := reached(namespace, barrier.selector)) < count:
            await self._watch.raise_if_stopped()
            if not self._is_alive() or asyncio.get_running_loop().time() > deadline:
                why = f"after {_WITHIN_SECONDS:.0f} s" if self._is_alive() else "when the side ended"
                raise StalledError(f"{now} of {count} pods in {namespace} were {what} {why}")
            await asyncio.sleep(_LOOK_SECONDS)

    async def _allocate(self, namespace: str) -> None:
        """Gives every claim of a namespace devices."""
        claims = f"{_DEVICES}/namespaces/{namespace}/resourceclaims"
        devices = Devices((await self._client.get(f"{_DEVICES}/resourceslices"))["items"])
        for claim in (await self._client.get(claims))["items"]:
            status = {"allocation": devices.take(claim, self._random)}
            await self._client.patch(f"{claims}/{claim['metadata']['name']}/status", {"status": status})
