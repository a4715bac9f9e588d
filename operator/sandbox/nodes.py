"""Synthetic nodes: as many as wanted, all alike but for their names and zones."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from muster.operator.sandbox.objects import Object


@dataclass(frozen=True, slots=True)
class NodeShape:
    """What a node offers, as quantities, and what marks it. Zones are dealt out in turn."""

    cpu: str = "8"
    memory: str = "32Gi"
    pods: str = "110"
    extended: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    taints: tuple[Object, ...] = ()
    zones: int = 3


STANDARD_NODE = NodeShape()


def synthetic_nodes(
    count: int, *, since: str, shape: NodeShape = STANDARD_NODE, prefix: str = "node"
) -> Iterator[Object]:
    """`count` nodes that are ready since a time, named `{prefix}-1` and on, with leading zeros so that they sort."""
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "KubeletReady",
        "message": "kubelet is posting ready status",
        "lastHeartbeatTime": since,
        "lastTransitionTime": since,
    }
    width = len(str(count))
    for index in range(count):
        yield _node(f"{prefix}-{index + 1:0{width}}", index, shape, ready)


def _node(name: str, index: int, shape: NodeShape, ready: Object) -> Object:
    capacity = {
        "cpu": shape.cpu,
        "memory": shape.memory,
        "pods": shape.pods,
        "ephemeral-storage": "100Gi",
        **shape.extended,
    }
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "topology.kubernetes.io/region": "sandbox",
        "topology.kubernetes.io/zone": f"zone-{index % shape.zones + 1}",
        **shape.labels,
    }
    address = f"10.{64 + index // 65536}.{index // 256 % 256}.{index % 256}"
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": list(shape.taints)} if shape.taints else {},
        "status": {
            "capacity": capacity,
            "allocatable": capacity,
            "conditions": [ready],
            "addresses": [{"type": "InternalIP", "address": address}, {"type": "Hostname", "address": name}],
            "nodeInfo": {
                "architecture": "amd64",
                "operatingSystem": "linux",
                "kubeletVersion": "v1.37.1",
                "osImage": "Muster sandbox",
                "kernelVersion": "0.0",
                "containerRuntimeVersion": "sandbox://0.0",
            },
        },
    }
