"""Pods that fit no node, on a cluster with capacity for small pods, and events that help none of them.

`bench.storm` uses them for its storm of retries.
"""

from collections.abc import Iterator

from bench import scale
from bench.client import Client
from bench.full import RUNNING, running
from bench.scale import CROWD_NAMESPACE, NAMESPACE, NODE_CPU, Body
from tests.builders import PodDict

SIGNATURES = 200
_LEFT_CPU = NODE_CPU // 4
"""The free milli-cores of each node at first; pods that are too large request a little more."""
_DEVICE = {"example.com/gpu": "1"}
_WAYS = 4
"""The number of reasons to fit no node, and of kinds of events."""


def filling(nodes: int) -> Iterator[Body]:
    """A pod for each node that leaves a quarter of it free."""
    return (running(number, number, NODE_CPU - _LEFT_CPU) for number in range(nodes))


def waiting(number: int) -> Body:
    """A pod of one of 200 signatures that fits no node: too large, or for nodes or devices that do not exist."""
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
    """A pod that fits every node that is not full."""
    return scale.shaped_pod(f"small-{number:06}", lambda made: made.requests(cpu="10m", memory="10Mi"))


async def happen(client: Client, number: int, nodes: int) -> None:
    """Cause the next event on the next node: labels change, or a passing pod is created or deleted.

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
