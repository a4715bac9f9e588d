"""The check of a scheduler's work: every pod is bound and reported once, and no node is overcommitted."""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench.client import Client
from bench.ledger import WrongRunError
from bench.scale import NAMESPACE, PODS_PER_NODE

_SHOWN = 5
_RIGHT_WITHIN_SECONDS = 30.0
_LOOK_SECONDS = 1.0


async def until_right(client: Client, ledger: Mapping[str, str]) -> None:
    """Wait until pods and Events agree with the ledger (pod name to node name) and with each other.

    Raises `WrongRunError` if they do not agree within half a minute.
    """
    deadline = time.monotonic() + _RIGHT_WITHIN_SECONDS
    while faults := await _faults(client, ledger):
        if time.monotonic() > deadline:
            more = [f"and {len(faults) - _SHOWN} more"] if len(faults) > _SHOWN else []
            raise WrongRunError("\n".join([*faults[:_SHOWN], *more]))
        await asyncio.sleep(_LOOK_SECONDS)


async def _faults(client: Client, ledger: Mapping[str, str]) -> list[str]:
    pods = await client.get(f"/api/v1/namespaces/{NAMESPACE}/pods")
    events = await client.get(f"/apis/events.k8s.io/v1/namespaces/{NAMESPACE}/events")
    return list(find_faults(pods["items"], events["items"], ledger))


def find_faults(
    pods: Sequence[Mapping[str, Any]], events: Sequence[Mapping[str, Any]], ledger: Mapping[str, str]
) -> Iterator[str]:
    """The faults, one line each, in the pods and Events that the API has at the end."""
    scheduled = Counter(event["regarding"]["uid"] for event in events if event["reason"] == "Scheduled")
    for pod in pods:
        name, node = pod["metadata"]["name"], pod["spec"].get("nodeName", "")
        if not node:
            yield f"pod {name} is not bound"
        elif ledger.get(name) != node:
            yield f"pod {name} is on {node}, but the watch saw it bound to {ledger.get(name)}"
        if (count := scheduled[pod["metadata"]["uid"]]) != 1:
            yield f"pod {name} has {count} Scheduled events"
    for node, count in Counter(pod["spec"].get("nodeName") for pod in pods).items():
        if node and count > PODS_PER_NODE:
            yield f"node {node} has {count} pods, {PODS_PER_NODE} fit"
    if len(pods) != len(ledger):
        yield f"there are {len(pods)} pods, of which the watch saw {len(ledger)} bound"
