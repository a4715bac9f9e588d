"""A cluster with churn: pods are created and ended at a steady rate, half of them in gangs, and nodes are replaced.

The pods created within a second form a round, and are deleted together a while after all of them were bound: one
request ends them all, which leaves the machine to the creation and binding of pods. Now and then a node is replaced.
"""

import asyncio
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count

from bench import scale
from bench.client import Client, Following
from bench.ledger import PodEvent
from bench.podgroups import GROUPS, make_gang
from bench.scale import NAMESPACE

GANG = 5
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
_LIVES_SECONDS = 8.0
_NODE_SECONDS = 7.0
_MOST_AT_ONCE = 128
_ROUND = "round"


@dataclass(slots=True)
class _Unit:
    """A single pod or a gang, whose pods are created together.

    Attributes:
        posted: the time at which its last pod was created; 0 until then.
        waiting: its pods that are not bound.
        bound: set when all of its pods are bound.
    """

    pods: Mapping[str, scale.Body]
    group: scale.Body | None = None
    posted: float = 0.0
    waiting: set[str] = field(default_factory=set)
    bound: asyncio.Event = field(default_factory=asyncio.Event)


class Churn(Following):
    """Follows the pods as a context manager. `go_on` creates and ends them until it is cancelled.

    Attributes:
        created, ended: the numbers of created and ended pods.
        waits: seconds from the creation of a unit's last pod to its last binding; a reader removes what it has read.
    """

    def __init__(self, client: Client, nodes: int) -> None:
        super().__init__()
        self.created = self.ended = 0
        self.waits: list[float] = []
        self._client = client
        self._nodes = deque(range(nodes))
        self._next_node = nodes
        self._rounds = count(1)
        self._units: dict[str, _Unit] = {}
        self._slots = asyncio.Semaphore(_MOST_AT_ONCE)

    @property
    def alive(self) -> int:
        """The number of pods that were created and not deleted yet."""
        return self.created - self.ended

    async def go_on(self, rate: float) -> None:
        """Create `rate` pods a second, half of them in gangs, and end each a while after its binding."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._exchange_nodes())
            began = time.monotonic()
            before = self.created
            for second, number in enumerate(self._rounds, start=1):
                units: list[_Unit] = []
                while time.monotonic() < began + second:
                    unit = _unit(f"{number}-{len(units)}", str(number), gang=len(units) % (GANG + 1) == GANG)
                    self.created += len(unit.pods)
                    units.append(unit)
                    group.create_task(self._create(unit))
                    await asyncio.sleep(max(0.0, began + (self.created - before) / rate - time.monotonic()))
                group.create_task(self._end(str(number), units))

    async def end_all(self) -> None:
        """Delete all pods and groups. `go_on` must have been cancelled."""
        for kind in (PODS, GROUPS):
            await self._client.delete(kind)
        self._units.clear()
        self.waits.clear()
        self.ended = self.created

    async def _create(self, unit: _Unit) -> None:
        unit.waiting = set(unit.pods)
        self._units |= dict.fromkeys(unit.pods, unit)
        async with self._slots:
            if unit.group is not None:
                await self._client.post(*unit.group)
            for body in unit.pods.values():
                await self._client.post(*body)
        unit.posted = time.monotonic()

    async def _end(self, number: str, units: list[_Unit]) -> None:
        """End a round after all of its pods have been bound and have lived for a while."""
        for unit in units:
            await unit.bound.wait()
        await asyncio.sleep(_LIVES_SECONDS)
        for kind in (PODS, GROUPS):
            await self._client.delete(kind, labelSelector=f"{_ROUND}={number}")
        for unit in units:
            for pod in unit.pods:
                del self._units[pod]
            self.ended += len(unit.pods)

    async def _exchange_nodes(self) -> None:
        """Delete the oldest node and create a new one, periodically."""
        while True:
            await asyncio.sleep(_NODE_SECONDS)
            await self._client.delete(f"/api/v1/nodes/{scale.node_name(self._nodes.popleft())}")
            (path, body), *_ = scale.nodes(1, first=self._next_node)
            await self._client.post(path, body)
            self._nodes.append(self._next_node)
            self._next_node += 1

    async def _follow(self) -> None:
        while True:
            async for lines in self._client.watch(PODS, fieldSelector="spec.nodeName!="):
                now = time.monotonic()
                for line in lines:
                    self._see(PodEvent.read(line).object.metadata.name, now)

    def _see(self, pod: str, now: float) -> None:
        unit = self._units.get(pod)
        if unit is None or pod not in unit.waiting:
            return
        unit.waiting.discard(pod)
        if not unit.waiting:
            unit.bound.set()
            self.waits.append(max(0.0, now - (unit.posted or now)))


def _unit(name: str, number: str, *, gang: bool) -> _Unit:
    labels = {_ROUND: number}
    if not gang:
        return _Unit({f"single-{name}": scale.pod(f"single-{name}", labels)})
    made = make_gang(f"gang-{name}", GANG, labels=labels)
    return _Unit(made.pods, made.group)
