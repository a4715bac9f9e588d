"""Operations beside the creation of pods: objects that come and go, pods that are deleted, pods that are replaced.

`play` starts the first two and ends them with the workload. Intervals are those of Go's tickers: a turn that is late is
not made up for.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence

import msgspec

from bench.scheduler_perf import objects
from bench.scheduler_perf.catalogue import Api
from bench.scheduler_perf.operations import Churn, DeletePods
from bench.scheduler_perf.pods import Key, PodWatch
from bench.scheduler_perf.writer import Writer, pods_of

_POD = "Pod"


async def ticks(seconds: float) -> AsyncIterator[None]:
    """A turn each so many seconds, the first one after the first interval, without end."""
    at = time.monotonic()
    while True:
        at = max(at + seconds, time.monotonic())
        await asyncio.sleep(at - time.monotonic())
        yield


class Churning:
    """The objects that a churn makes, and deletes again if it is to."""

    def __init__(self, operation: Churn, client: Api, writer: Writer) -> None:
        self._operation = operation
        self._client = client
        self._writer = writer
        self._templates = [objects.rendered(path, {}) for path in operation.templates]
        self._held: dict[tuple[int, int], str] = {}
        """The path of each object that is to be deleted, by the numbers of its template and its place."""

    async def run(self) -> None:
        """Make and delete, until as many were made as are to be, or without end. Raises `RefusedError`."""
        number, turn = self._operation.number, 0
        async for _ in ticks(self._operation.interval_seconds):
            if number and turn == number and not self._operation.recreates:
                return
            for template, made in enumerate(self._templates):
                await self._turn(template, turn % (number or 1), made)
            turn += 1

    async def _turn(self, template: int, place: int, made: objects.Object) -> None:
        if path := self._held.pop((template, place), None):
            await self._client.delete(path, at_once=False)
            return
        resource = await self._writer.catalogue.resource(made)
        namespace = self._operation.namespace if resource.namespaced else None
        if made["kind"] == _POD:
            name = await self._writer.pod(self._operation.namespace, msgspec.json.encode(made))
        else:
            name = await self._writer.create(resource.collection(namespace), made)
        if self._operation.recreates:
            self._held[template, place] = f"{resource.collection(namespace)}/{name}"


async def delete_pods(operation: DeletePods, names: Sequence[str], client: Api) -> None:
    """Delete pods of a namespace, so many a second. Raises `RefusedError`."""
    left = iter(names)
    async for _ in ticks(1 / operation.per_second):
        if (name := next(left, None)) is None:
            return
        await client.delete(f"{pods_of(operation.namespace)}/{name}", at_once=False)


class Steady:
    """A namespace in which each pod that is bound is replaced by another: a backlog that stays as large as it is."""

    def __init__(self, namespace: str, client: Api, writer: Writer, watch: PodWatch) -> None:
        self._namespace = namespace
        self._client = client
        self._writer = writer
        self._bound: asyncio.Queue[str] = asyncio.Queue()
        watch.notice = self._notice

    async def keep(self, bodies: Sequence[bytes], seconds: float) -> int:
        """Create these pods, and replace each by one like the first, for so long; how many were bound.

        Raises `RefusedError`.
        """
        count, limit = 0, asyncio.timeout(seconds)
        try:
            async with limit:
                for body in bodies:
                    await self._writer.pod(self._namespace, body)
                while True:
                    name = await self._bound.get()
                    count += 1
                    await self._client.delete(f"{pods_of(self._namespace)}/{name}")
                    await self._writer.pod(self._namespace, bodies[0])
        except TimeoutError:
            if not limit.expired():
                raise
        return count

    def _notice(self, key: Key) -> None:
        if key[0] == self._namespace:
            self._bound.put_nowait(key[1])
