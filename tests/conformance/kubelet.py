"""Kubelets without containers: bound pods run at once, deleted ones end when a container would have ended.

Kubernetes' end-to-end tests of scheduling run on them. They ask for no more of a kubelet than what is done here: a node
stays ready, because its Lease is renewed; a pod runs, and is ready; a deleted pod ends when its preStop hook has slept
or its grace period is over, and is gone then; an extended resource that a test writes into the capacity of a node is
offered. What a test looks up in a container is not there.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from http import HTTPStatus
from itertools import count
from typing import Any, Protocol

import msgspec

from bench.client import MERGE_PATCH, STRATEGIC_PATCH, Following, RefusedError
from tests.conformance import pods
from tests.conformance.pods import Object

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
RENEW_EVERY_SECONDS = 10.0
_WATCH_SECONDS = "60"
_OVERTAKEN = (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT)


class Writer(Protocol):
    """The requests that kubelets make, as `bench.client.Client` has them."""

    async def patch(self, path: str, change: Mapping[str, Any], form: str = MERGE_PATCH) -> None: ...

    async def remove(self, path: str, uid: str) -> None: ...

    def watch(self, path: str, **query: str) -> AsyncIterator[list[bytes]]: ...


class Kubelets(Following):
    """The kubelets of the nodes in `addresses`, while this is used as a context manager.

    The nodes and their Leases are there. `now` and `sleep` are the clock.
    """

    def __init__(
        self,
        client: Writer,
        addresses: Mapping[str, str],
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        super().__init__()
        self._client = client
        self._addresses = addresses
        self._now = now
        self._sleep = sleep
        self._started: set[str] = set()
        self._ending: dict[str, tuple[int, asyncio.Task[None]]] = {}
        self._numbers = count(1)

    async def _follow(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._renew_leases())
            group.create_task(self._follow_nodes())
            async for event in self._events("/api/v1/pods", fieldSelector="spec.nodeName!="):
                if event["type"] == "DELETED":
                    self._forget(event["object"]["metadata"]["uid"])
                else:
                    self._care_for(event["object"], group)

    async def _renew_leases(self) -> None:
        while True:
            for node in self._addresses:
                renewed = {"spec": {"renewTime": self._now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")}}
                await self._client.patch(f"{LEASES}/{node}", renewed)
            await self._sleep(RENEW_EVERY_SECONDS)

    async def _follow_nodes(self) -> None:
        async for event in self._events("/api/v1/nodes"):
            node = event["object"]
            if event["type"] != "DELETED" and (change := pods.overdue(node)):
                path = f"/api/v1/nodes/{node['metadata']['name']}/status"
                await self._client.patch(path, {"status": {"allocatable": change}})

    async def _events(self, path: str, **query: str) -> AsyncIterator[Any]:
        """The events of a watch, which is begun anew whenever the server ends it."""
        while True:
            async for lines in self._client.watch(path, timeoutSeconds=_WATCH_SECONDS, **query):
                for line in lines:
                    yield msgspec.json.decode(line)

    def _care_for(self, pod: Object, group: asyncio.TaskGroup) -> None:
        uid = pod["metadata"]["uid"]
        if pod["spec"]["nodeName"] not in self._addresses:
            return
        if "deletionTimestamp" in pod["metadata"]:
            grace, task = self._ending.get(uid, (None, None))
            if grace == pods.grace(pod):
                return
            if task is not None:
                task.cancel()
            self._ending[uid] = pods.grace(pod), group.create_task(self._end(pod))
        elif pod["status"]["phase"] == "Pending" and uid not in self._started:
            self._started.add(uid)
            group.create_task(self._start(pod))

    def _forget(self, uid: str) -> None:
        self._started.discard(uid)
        if (ending := self._ending.pop(uid, None)) is not None:
            ending[1].cancel()

    async def _start(self, pod: Object) -> None:
        number = next(self._numbers)
        address = f"10.{128 + number // 65536}.{number // 256 % 256}.{number % 256}"
        status = pods.running(pod, host=self._addresses[pod["spec"]["nodeName"]], address=address, now=self._stamp())
        with _unless_overtaken():
            await self._write(pod, status)

    async def _end(self, pod: Object) -> None:
        await self._sleep(pods.seconds_to_end(pod))
        with _unless_overtaken():
            if pod["status"]["phase"] not in pods.FINAL:
                await self._write(pod, pods.ended(pod, now=self._stamp()))
            await self._client.remove(_path(pod), pod["metadata"]["uid"])

    async def _write(self, pod: Object, status: Object) -> None:
        change = {"metadata": {"uid": pod["metadata"]["uid"]}, "status": status}
        await self._client.patch(f"{_path(pod)}/status", change, STRATEGIC_PATCH)

    def _stamp(self) -> str:
        return self._now().strftime("%Y-%m-%dT%H:%M:%SZ")


def _path(pod: Object) -> str:
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"


@contextmanager
def _unless_overtaken() -> Iterator[None]:
    """Lets pass that a pod is gone, or another one than was seen."""
    try:
        yield
    except RefusedError as error:
        if error.status not in _OVERTAKEN:
            raise
