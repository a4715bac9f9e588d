"""Pods that fit nowhere, on a cluster with capacity for small ones, and events that help none of them.

They cause the storm of retries of `bench.storm`.
"""

from collections.abc import Iterator

from bench import scale
from bench.client import Client
from bench.full import RUNNING, running
from bench.scale import CROWD_NAMESPACE, NAMESPACE, NODE_CPU, Body
from tests.builders import PodDict

SIGNATURES = 200
_LEFT_CPU = NODE_CPU // 4
"""Milli-cores that are free on each node at first: what is too large asks for a little more."""
_DEVICE = {"example.com/gpu": "1"}
_WAYS = 4
"""To be hopeless, and for something to happen."""


def filling(nodes: int) -> Iterator[Body]:
    """A pod for each node, which leaves a quarter of it."""
    return (running(number, number, NODE_CPU - _LEFT_CPU) for number in range(nodes))


def waiting(number: int) -> Body:
    """A pod that fits nowhere, of one of 200 signatures: too large, or for nodes or devices that there are not."""
    kind = number % SIGNATURES
    little, large = f"{1 + kind}m", f"{_LEFT_CPU + 1 + kind}m"

    def shape(made: PodDict) -> PodDict:
        match kind % _WAYS:
            case 0:
                return made.requests(cpu=large)
            case 1:
                return made.requests(cpu=little).node_selector({"disk": "fast"})
            case 2:
                return made.requests(cpu=little, **_DEVICE).limits(_DEVICE)
            case _:
                return made.requests(cpu=large).spread("topology.kubernetes.io/zone", {"app": "web"})

    return scale.shaped_pod(f"waiting-{number:05}", shape)


def small(number: int) -> Body:
    """A pod that fits on every node that is not full."""
    return scale.shaped_pod(f"small-{number:06}", lambda made: made.requests(cpu="10m", memory="10Mi"))


async def happen(client: Client, number: int, nodes: int) -> None:
    """One of the events in their order, each in turn on a node: labels change, a passing pod comes and goes.

    Raises `RefusedError`.
    """
    turn, way = divmod(number, _WAYS)
    node, passing = scale.node_name(turn % nodes), f"passing-{turn:06}"
    beat = {"metadata": {"labels": {"beat": str(number)}}}
    match way:
        case 0:
            await client.patch(f"/api/v1/nodes/{node}", beat)
        case 1:
            await client.patch(f"/api/v1/namespaces/{NAMESPACE}/pods/{RUNNING}{turn % nodes:05}", beat)
        case 2:
            await client.post(*scale.running_pod(passing, node, {}))
        case _:
            await client.delete(f"/api/v1/namespaces/{CROWD_NAMESPACE}/pods/{passing}")
