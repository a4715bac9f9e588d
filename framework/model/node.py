"""Node objects, as far as scheduling reads them, and which of their taints a pod tolerates."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from .integers import Int64
from .meta import ObjectMeta, Wire
from .pod import Toleration
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
    size_bytes: Int64 = 0


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


NO_SCHEDULE = "NoSchedule"
NO_EXECUTE = "NoExecute"
PREFER_NO_SCHEDULE = "PreferNoSchedule"

CORDON = Taint(key="node.kubernetes.io/unschedulable", effect=NO_SCHEDULE)
"""What `spec.unschedulable` of a node amounts to."""


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Whether this toleration covers the taint. Empty effect and empty key cover any, no operator means Equal."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return toleration.operator in ("", "Equal") and toleration.value == taint.value


class Tolerations:
    """Tolerations in sets, in which a taint is looked up fast, for callers that ask often."""

    __slots__ = ("_any_value", "_values")

    def __init__(self, tolerations: Iterable[Toleration]) -> None:
        self._any_value: set[tuple[str, str]] = set()
        self._values: set[tuple[str, str, str]] = set()
        for each in tolerations:
            if each.operator == "Exists":
                self._any_value.add((each.key, each.effect))
            elif each.operator in ("", "Equal"):
                self._values.add((each.key, each.effect, each.value))

    def cover(self, taint: Taint) -> bool:
        """Whether any of them covers the taint."""
        for key in (taint.key, ""):
            for effect in (taint.effect, ""):
                if (key, effect) in self._any_value or (key, effect, taint.value) in self._values:
                    return True
        return False


Some = Tolerations | Iterable[Toleration]


def tolerated(taint: Taint, tolerations: Some) -> bool:
    """Whether any of the tolerations covers the taint."""
    if isinstance(tolerations, Tolerations):
        return tolerations.cover(taint)
    return any(tolerates(toleration, taint) for toleration in tolerations)


def untolerated(taints: Iterable[Taint], tolerations: Some, *effects: str) -> int:
    """The number of taints with one of these effects that no toleration covers."""
    return sum(taint.effect in effects and not tolerated(taint, tolerations) for taint in taints)


def kept_off(taints: Iterable[Taint], tolerations: Some) -> bool:
    """Whether the taints keep a pod with these tolerations from being scheduled to their node."""
    return untolerated(taints, tolerations, NO_SCHEDULE, NO_EXECUTE) > 0
