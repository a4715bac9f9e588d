"""Node objects, as far as scheduling reads them."""

from __future__ import annotations

import msgspec

from .meta import ObjectMeta, Wire
from .quantity import Quantity


class Taint(Wire):
    """`spec.taints[]`: repels pods that do not tolerate it."""

    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(Wire):
    """`spec`."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class ContainerImage(Wire):
    """`status.images[]`: one image under all its names; `size_bytes` is its size on disk."""

    names: tuple[str, ...] | None = ()
    size_bytes: int = 0


class NodeStatus(Wire):
    """`status`. `allocatable` is by resource name; `declared_features` are what the kubelet says it can do."""

    allocatable: dict[str, Quantity] = msgspec.field(default_factory=dict)
    images: tuple[ContainerImage, ...] = ()
    declared_features: tuple[str, ...] = ()


class Node(Wire):
    """A node: its labels, taints, allocatable resources and images."""

    metadata: ObjectMeta
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()
