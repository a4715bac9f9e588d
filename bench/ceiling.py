"""The highest possible rate of bindings from Python: `python -m bench.ceiling KUBECONFIG`.

This client decides nothing and watches nothing. It lists the pending pods of the benchmarks' namespace, assigns them to
nodes in turn, and writes the Binding and the Event of a scheduler for each, 64 pods at a time. The time that a
scheduler needs beyond that is its own cost.
"""

import asyncio
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import cycle
from pathlib import Path
from typing import Any

import msgspec
import uvloop

from bench.client import Client
from bench.scale import NAMESPACE, SCHEDULER_NAME

IN_FLIGHT = 64
_PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
_EVENTS = f"/apis/events.k8s.io/v1/namespaces/{NAMESPACE}/events"


async def run(kubeconfig: Path) -> None:
    """Bind all pods, then wait to be ended, as a scheduler would."""
    async with Client(kubeconfig) as client:
        nodes = await client.get("/api/v1/nodes")
        names = cycle([node["metadata"]["name"] for node in nodes["items"]])
        pods = await client.get(_PODS)
        pairs = zip((pod["metadata"] for pod in pods["items"]), names, strict=False)
        async with asyncio.TaskGroup() as group:
            for _ in range(IN_FLIGHT):
                group.create_task(_bind_some(client, pairs))
        await asyncio.Event().wait()


async def _bind_some(client: Client, pairs: Iterator[tuple[dict[str, Any], str]]) -> None:
    for pod, node in pairs:
        await client.post(f"{_PODS}/{pod['name']}/binding", _binding(pod, node))
        await client.post(_EVENTS, _event(pod, node))


def _binding(pod: dict[str, Any], node: str) -> bytes:
    metadata = {"namespace": NAMESPACE, "name": pod["name"], "uid": pod["uid"]}
    target = {"kind": "Node", "name": node}
    return msgspec.json.encode({"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target})


def _event(pod: dict[str, Any], node: str) -> bytes:
    return msgspec.json.encode(
        {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"namespace": NAMESPACE, "name": f"{pod['name']}.{time.time_ns():x}"},
            "eventTime": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ}",
            "reportingController": SCHEDULER_NAME,
            "reportingInstance": f"{SCHEDULER_NAME}-ceiling",
            "action": "Binding",
            "reason": "Scheduled",
            "type": "Normal",
            "note": f"Successfully assigned {NAMESPACE}/{pod['name']} to {node}",
            "regarding": {
                "apiVersion": "v1",
                "kind": "Pod",
                "namespace": NAMESPACE,
                "name": pod["name"],
                "uid": pod["uid"],
                "resourceVersion": pod["resourceVersion"],
            },
        }
    )


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run(Path(sys.argv[1])))
