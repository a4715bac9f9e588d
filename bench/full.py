"""A full cluster for the benchmarks of backlogs and of preemption: running pods that leave no capacity.

The module also has a ledger of waiting pods only, counts writes to the API server, and waits until every waiting pod
has a reason.
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
"""The prefix of the names of pods that fill the cluster."""

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
    """Bindings of waiting pods; the pods that fill the cluster, and end, are ignored."""

    def enter(self, lines: Sequence[bytes], now: float) -> None:
        super().enter([line for line in lines if f'"name":"{RUNNING}'.encode() not in line], now)


def filling(nodes: int, *, each: int = 1) -> Iterator[Body]:
    """Running pods that together take all of every node, equally many on each."""
    return (running(number, number // each, scale.NODE_CPU // each) for number in range(nodes * each))


def running(number: int, node: int, cpu: int) -> Body:
    """A running pod with a request of `cpu` milli-cores."""
    name, node_name = f"{RUNNING}{number:05}", scale.node_name(node)
    return scale.shaped_pod(name, lambda made: made.requests(cpu=f"{cpu}m").node(node_name))


async def writes(client: Client) -> float:
    """The number of writes to pods, Events and groups that the API server has counted so far."""
    return sum(float(count) for count in _WRITES.findall(await client.text("/metrics")))


async def status_writes(client: Client) -> float:
    """The number of writes to statuses of pods that the API server has counted so far."""
    return sum(float(count) for count in _STATUS_WRITES.findall(await client.text("/metrics")))


async def until_reported(client: Client, pods: int, since: float) -> None:
    """Wait until each pod has a write, and no further write came for a few seconds. Raises `StalledError`.

    Events do not count, because kube-scheduler drops Events that it cannot write in time. `since` is the number of
    earlier writes.
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
