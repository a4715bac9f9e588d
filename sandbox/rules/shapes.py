"""The shape of objects: which fields are texts, numbers, lists and maps.

Checked before any rule looks at an object, so that rules need not fear a number where a list should be. Only fields
that the rules read are described; kube-apiserver refuses the same, in its own words, when it decodes a body.
"""

from typing import Any

import msgspec

from muster.framework.model.quantity import QuantityError, nanos
from muster.sandbox.kinds import (
    DEPLOYMENTS,
    NODES,
    PODS,
    PRIORITY_CLASSES,
    REPLICA_SETS,
    REPLICATION_CONTROLLERS,
    STATEFUL_SETS,
)
from muster.sandbox.objects import Object
from muster.sandbox.registry import Kind

Texts = dict[str, str]
Amounts = dict[str, str | int | float]


class ShapeError(ValueError):
    """A field has a value of the wrong type; the text says which."""


class _Owner(msgspec.Struct):
    name: str = ""


class _Metadata(msgspec.Struct):
    name: str | None = None
    generateName: str | None = None
    namespace: str | None = None
    uid: str | None = None
    resourceVersion: str | None = None
    labels: Texts | None = None
    annotations: Texts | None = None
    finalizers: list[str] | None = None
    ownerReferences: list[_Owner] | None = None
    managedFields: list[Object] | None = None


class _Custom(msgspec.Struct):
    metadata: _Metadata | None = None


class _Any(_Custom):
    spec: Object | None = None
    status: Object | None = None


class _Resources(msgspec.Struct):
    limits: Amounts | None = None
    requests: Amounts | None = None


class _Container(msgspec.Struct):
    name: str | None = None
    image: str | None = None
    resources: _Resources | None = None
    ports: list[Object] | None = None


class _Toleration(msgspec.Struct):
    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None
    tolerationSeconds: int | None = None


class _Gate(msgspec.Struct):
    name: str


class _PodSpec(msgspec.Struct):
    containers: list[_Container] | None = None
    initContainers: list[_Container] | None = None
    tolerations: list[_Toleration] | None = None
    schedulingGates: list[_Gate] | None = None
    nodeSelector: Texts | None = None
    affinity: Object | None = None
    nodeName: str | None = None
    schedulerName: str | None = None
    serviceAccountName: str | None = None
    restartPolicy: str | None = None
    priorityClassName: str | None = None
    priority: int | None = None
    preemptionPolicy: str | None = None
    terminationGracePeriodSeconds: int | None = None


class _Condition(msgspec.Struct):
    type: str
    status: str | None = None
    reason: str | None = None


class _PodStatus(msgspec.Struct):
    phase: str | None = None
    conditions: list[_Condition] | None = None
    containerStatuses: list[Object] | None = None


class _Pod(_Any):
    spec: _PodSpec | None = None  # type: ignore[assignment]  # narrower than in the base
    status: _PodStatus | None = None  # type: ignore[assignment]


class _Template(msgspec.Struct):
    metadata: _Metadata | None = None
    spec: _PodSpec | None = None


class _WorkloadSpec(msgspec.Struct):
    template: _Template | None = None
    selector: Object | None = None
    replicas: int | None = None


class _Workload(_Any):
    spec: _WorkloadSpec | None = None  # type: ignore[assignment]


class _Taint(msgspec.Struct):
    key: str = ""
    effect: str = ""
    value: str | None = None


class _NodeSpec(msgspec.Struct):
    taints: list[_Taint] | None = None
    unschedulable: bool | None = None


class _NodeStatus(msgspec.Struct):
    capacity: Amounts | None = None
    allocatable: Amounts | None = None
    conditions: list[_Condition] | None = None


class _Node(_Any):
    spec: _NodeSpec | None = None  # type: ignore[assignment]
    status: _NodeStatus | None = None  # type: ignore[assignment]


class _PriorityClass(_Any):
    value: int | None = None
    preemptionPolicy: str | None = None


_SHAPES: dict[Kind, type[Any]] = {
    PODS: _Pod,
    NODES: _Node,
    PRIORITY_CLASSES: _PriorityClass,
    **dict.fromkeys((DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS, REPLICATION_CONTROLLERS), _Workload),
}


def check(kind: Kind, obj: Object) -> None:
    """Raises `ShapeError` where a field of an object has a value of the wrong type.

    Of a custom resource only the metadata is looked at; the rest is for its schema to judge.
    """
    shape: type[Any] = _Custom if kind.custom else _SHAPES.get(kind, _Any)
    try:
        shaped = msgspec.convert(obj, shape)
    except msgspec.ValidationError as error:
        raise ShapeError(str(error)) from None
    if kind is PODS and shaped.spec is not None:
        _check_amounts(shaped.spec)


def _check_amounts(spec: _PodSpec) -> None:
    for container in [*(spec.containers or ()), *(spec.initContainers or ())]:
        resources = container.resources or _Resources()
        for amount in [*(resources.limits or {}).values(), *(resources.requests or {}).values()]:
            try:
                nanos(str(amount))
            except QuantityError as error:
                raise ShapeError(str(error).partition(", got")[0]) from None
