"""The cluster of a measurement: filling it, and waiting until its servers are idle."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from bench.client import Client
from bench.measure import Reading
from bench.progress import Advance, Display
from bench.scale import NAMESPACE, Body

IN_FLIGHT = 32
_AT_LEAST_A_SECOND = 100
_SLACK_SECONDS = 30.0
_REST_SECONDS = 30.0
_REST_SHARE = 0.05
_LOOK_SECONDS = 0.5


async def create_namespace(client: Client) -> None:
    """Create the namespace of the benchmarks' pods."""
    await client.post("/api/v1/namespaces", msgspec.json.encode({"metadata": {"name": NAMESPACE}}))


async def create(client: Client, bodies: Iterable[Body], advance: Advance) -> None:
    """Create the objects, many at a time and in no particular order.

    Raises `RefusedError`, and `TimeoutError` if the server accepts fewer than a hundred a second.
    """
    waiting = list(bodies)
    deadline = _SLACK_SECONDS + len(waiting) / _AT_LEAST_A_SECOND
    left = iter(waiting)

    async def post_some() -> None:
        for path, body in left:
            await client.post(path, body)
            advance(1)

    async with asyncio.timeout(deadline), asyncio.TaskGroup() as group:
        for _ in range(IN_FLIGHT):
            group.create_task(post_some())


async def fill(client: Client, side: str, objects: Mapping[str, Sequence[Body]], display: Display) -> None:
    """Create the namespace, then all objects, with a progress bar for each name. Raises as `create` does."""
    await create_namespace(client)
    for name, bodies in objects.items():
        if bodies:
            with display.phase(f"{side}: {name}", len(bodies)) as advance:
                await create(client, bodies, advance)


async def rest(pids: dict[str, int]) -> None:
    """Wait until the processes use less than a twentieth of a core together, for half a minute at most.

    A fresh API server is busy for a while after its start and after it was filled.
    """
    async with asyncio.timeout(_REST_SECONDS):
        before = Reading.of(pids)
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            now = Reading.of(pids)
            if sum(now.since(before).processes.values()) < _REST_SHARE * _LOOK_SECONDS:
                return
            before = now
