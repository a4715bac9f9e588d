"""Typed nodes and pods from the shared builders, and a picture of a snapshot that two moments can be compared by."""

from typing import Any

import msgspec
import numpy as np

from muster.framework.model.node import Node
from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import PodInfo
from muster.framework.snapshot.snapshot import Snapshot
from tests.builders import NodeDict, PodDict, make_node, make_pod


def node(plain: NodeDict | str) -> Node:
    """A typed node; a name alone stands for a plain one."""
    return msgspec.convert(make_node(plain) if isinstance(plain, str) else plain, Node)


def pod(plain: PodDict | str) -> PodInfo:
    """A typed pod; a name alone stands for one that asks for 100m and 1Mi."""
    return PodInfo(
        msgspec.convert(make_pod(plain).requests(cpu="100m", memory="1Mi") if isinstance(plain, str) else plain, Pod)
    )


def bound(info: PodInfo, node_name: str) -> PodInfo:
    """The pod as the API reports it on a node."""
    spec = msgspec.structs.replace(info.pod.spec, node_name=node_name)
    return PodInfo(msgspec.structs.replace(info.pod, spec=spec))


def content_of(snapshot: Snapshot) -> dict[str, Any]:
    """Every value that the snapshot holds, by row and in no order of its own."""
    columns = {
        "live": snapshot.live,
        "unschedulable": snapshot.unschedulable,
        "taints": snapshot.taints.ids,
        **{f"label {key}": snapshot.labels.column(key).ids for key in snapshot.labels.keys},
        **{
            name: getattr(snapshot.resources, name)
            for name in ("allocatable", "requested", "offered", "nonzero", "allowed_pods", "pod_count")
        },
    }
    return {
        **{name: np.trim_zeros(column.ravel(), "b").tolist() for name, column in columns.items()},
        "rows": {name: snapshot.row_of(name) for name in snapshot.names if snapshot.row_of(name) is not None},
        "nodes": [known for known in snapshot.nodes if known is not None],
        "namespaces": {name: dict(used) for name, used in snapshot.namespaces.namespaces().items()},
        "pods": {name: dict(pods) for name, pods in zip(snapshot.names, snapshot.pods, strict=True) if pods},
        "images": {name: set(snapshot.images.holders(name)) for name in snapshot.images.names()},
        "ports": {
            claim: {row: dict(addresses) for row, addresses in rows.items()}
            for claim, rows in snapshot.ports.claims().items()
        },
    }
