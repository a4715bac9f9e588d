"""The size of a benchmark, and its objects: the nodes and pods of kube-scheduler's own benchmarks."""

from collections.abc import Callable, Iterator, Mapping

import msgspec

from tests.builders import PodDict, make_node, make_pod

NAMESPACE = "bench"
SCHEDULER_NAME = "bench"
"""The schedulerName of all pods, which each side answers to in turn, so that their pods are equal."""

CROWD_NAMESPACE = "default"
"""The namespace of pods that run before the measurement."""

NODE_CPU, POD_CPU, RUNNING_POD_CPU = 4000, 100, 10
"""The milli-cores of a node and of a pod's request; CPU is the resource that runs out first."""

PODS_PER_NODE = NODE_CPU // POD_CPU

RUNNING_PER_NODE = 50
"""The most running pods of a node besides the measured ones; a node accepts 110 pods in all."""

_ZONES = ("zone-a", "zone-b", "zone-c")
ZONES = len(_ZONES)

Body = tuple[str, bytes]
"""The path to post an object to, and the object as JSON."""


def node_name(number: int) -> str:
    """The name of the node with this number, counted from 0."""
    return f"node-{number:05}"


def nodes(count: int, *, first: int = 0) -> Iterator[Body]:
    """Nodes of 4 cores, 32 GiB and 110 pods each, spread over three zones; their numbers begin with `first`."""
    for number in range(first, first + count):
        node = make_node(node_name(number), cpu=f"{NODE_CPU}m").zone(_ZONES[number % len(_ZONES)])
        yield "/api/v1/nodes", msgspec.json.encode(node)


def pod(name: str, labels: Mapping[str, str] = {}) -> Body:
    """A pod that requests a tenth of a core and 500 MiB."""
    return shaped_pod(name, lambda made: made.labels(labels))


def shaped_pod(name: str, shape: Callable[[PodDict], PodDict]) -> Body:
    """A plain pod, changed by `shape`."""
    made = make_pod(name, namespace=NAMESPACE).scheduler(SCHEDULER_NAME)
    made.requests(cpu=f"{POD_CPU}m", memory="500Mi")
    return f"/api/v1/namespaces/{NAMESPACE}/pods", msgspec.json.encode(shape(made))


def running_pod(name: str, node: str, labels: Mapping[str, str]) -> Body:
    """A small running pod in the namespace of running pods."""
    made = make_pod(name, namespace=CROWD_NAMESPACE).labels(labels).node(node)
    made.requests(cpu=f"{RUNNING_POD_CPU}m", memory="10Mi")
    return f"/api/v1/namespaces/{CROWD_NAMESPACE}/pods", msgspec.json.encode(made)


def pods(count: int) -> Iterator[Body]:
    """Pods that differ only in their names."""
    return (pod(f"pod-{number:05}") for number in range(count))


def overfull(node_count: int, pod_count: int) -> str | None:
    """Why so many pods do not fit on so many nodes; None if they fit."""
    if pod_count <= node_count * PODS_PER_NODE:
        return None
    return f"{node_count} nodes have no capacity for {pod_count} pods: {PODS_PER_NODE} fit on each"
