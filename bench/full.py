"""A full cluster for the benchmarks of backlogs and of preemption: running pods that leave no capacity.

It also has a ledger that sees only pods that were waiting, the number of writes to the API server meanwhile, and the
time at which every waiting pod has its reason.
"""

import asyncio
import re
from collections.abc import Iterator, Sequence

from bench import scale
from bench.client import Client
from bench.failures import StalledError
from bench.ledger import Ledger
from bench.scale import Body

RUNNING = "running-"
"""What the names of pods begin with that were there first."""

_TOLD_QUIET_SECONDS = 3.0
_TOLD_WITHIN_SECONDS = 300.0
_WRITES = re.compile(
    r'^apiserver_request_total\{[^}]*resource="(?:pods|events|podgroups)"[^}]*'
    r'verb="(?:POST|PUT|PATCH|APPLY)"[^}]*\} (\S+)$',
    re.MULTILINE,
)

_STATUS_WRITES = re.compile(
    r'^apiserver_request_total\{[^}]*resource="pods"[^}]*subresource="status"[^}]*'
    r'verb="(?:PUT|PATCH|APPLY)"[^}]*\} (\S+)$',
    re.MULTILINE,
)


class Bindings(Ledger):
    """Bindings of pods that waited; those that fill the cluster, and end, are left out."""

    def enter(self, lines: Sequence[bytes], now: float) -> None:
        super().enter([line for line in lines if f'"name":"{RUNNING}'.encode() not in line], now)


def filling(nodes: int, *, each: int = 1) -> Iterator[Body]:
    """So many pods for each node, which take all of it together and are there already."""
    return (running(number, number // each, scale.NODE_CPU // each) for number in range(nodes * each))


def running(number: int, node: int, cpu: int) -> Body:
    """A pod that has a node already and takes so many milli-cores of it."""
    name, node_name = f"{RUNNING}{number:05}", scale.node_name(node)
    return scale.shaped_pod(name, lambda made: made.requests(cpu=f"{cpu}m").node(node_name))


async def writes(client: Client) -> float:
    """How many writes about pods, Events and groups the API server has taken so far."""
    return sum(float(count) for count in _WRITES.findall(await client.text("/metrics")))


async def status_writes(client: Client) -> float:
    """How many writes of the statuses of pods the API server has taken so far."""
    return sum(float(count) for count in _STATUS_WRITES.findall(await client.text("/metrics")))


async def until_told(client: Client, pods: int, since: float) -> None:
    """Waits until something was written for each pod and nothing any more for a few seconds. Raises `StalledError`.

    Events are not waited for: kube-scheduler drops those that it cannot write in time. `since` is how many writes there
    were before.
    """
    before = now = -1.0
    try:
        async with asyncio.timeout(_TOLD_WITHIN_SECONDS):
            while (now := await writes(client)) != before or now - since < pods:
                before = now
                await asyncio.sleep(_TOLD_QUIET_SECONDS)
    except TimeoutError:
        within = f"within {_TOLD_WITHIN_SECONDS:.0f} s"
        raise StalledError(f"{pods} pods were not told {within} why they wait: {now - since:.0f} writes") from None
