"""The ElasticQuota API, `elasticquotas.scheduling.x-k8s.io/v1alpha1`: its objects, and what is wrong with one.

The objects are scheduler-plugins' own, unchanged: a namespace's guaranteed amounts (`min`), its upper limit (`max`),
and in the status what its pods use. A parent and a weight are annotations, so that the definition of the kind stays
that of scheduler-plugins. The plugin decodes the objects with these structs; `faults` names each field that it cannot
use, for users. At admission, Muster validates only groups.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

import msgspec

from muster.framework.contract import WatchedKind, Wire
from muster.framework.contract.recorded import MapContent, RecordedContents, TextKind
from muster.framework.groups import GroupMeta, unknown_annotations
from muster.framework.model.names import PREFIX
from muster.framework.model.quantity import Quantity, QuantityError, nanos
from muster.framework.model.requests import amount

NAME = "CapacityScheduling"
"""The plugin's name."""

GROUP = "scheduling.x-k8s.io"
VERSION = "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"
PLURAL = "elasticquotas"
KIND = "ElasticQuota"
SHORT_NAMES = ("eq", "eqs")
LIST_PATH = f"/apis/{API_VERSION}/{PLURAL}"

PARENT = f"{PREFIX}parent-quota"
"""The annotation that names the quota above: `namespace/name`, or the name of one in the same namespace."""
WEIGHT = f"{PREFIX}quota-weight"
"""The annotation with the weight among the quotas that borrow, a whole number from 1."""
MOST_WEIGHT = 1_000_000
KNOWN_ANNOTATIONS = frozenset({PARENT, WEIGHT})


class ElasticQuotaSpec(Wire):
    """The amounts that a namespace is guaranteed, and the most that it may use."""

    min: dict[str, Quantity] = msgspec.field(default_factory=dict)
    max: dict[str, Quantity] = msgspec.field(default_factory=dict)


class ElasticQuotaStatus(Wire):
    """The total of the requests of the namespace's pods that have nodes."""

    used: dict[str, Quantity] = msgspec.field(default_factory=dict)


class ElasticQuota(Wire):
    """The share of a namespace."""

    metadata: GroupMeta
    spec: ElasticQuotaSpec = ElasticQuotaSpec()
    status: ElasticQuotaStatus = ElasticQuotaStatus()

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return self.metadata.key


ELASTIC_QUOTAS = WatchedKind(f"{PLURAL}.{VERSION}.{GROUP}", LIST_PATH, ElasticQuota, optional=True, kind=KIND)

RECORDED = RecordedContents(
    fields={
        ElasticQuotaSpec: {"min": MapContent(TextKind.RESOURCE), "max": MapContent(TextKind.RESOURCE)},
        ElasticQuotaStatus: {"used": MapContent(TextKind.RESOURCE)},
    }
)


def amounts_of(quantities: Mapping[str, Quantity]) -> dict[str, int]:
    """The amounts as the scheduler counts them, without those that are no quantities or negative."""
    return {name: n for name, text in quantities.items() if (n := _amount(name, text)) is not None}


def weight_of(quota: ElasticQuota) -> int:
    """The weight that its annotation says; 1 without a valid one."""
    text = quota.metadata.annotations.get(WEIGHT, "1")
    return 1 if _weight_fault(text) else int(text)


def parent_of(quota: ElasticQuota) -> str:
    """`namespace/name` of the quota above; "" if the annotation names none."""
    text = quota.metadata.annotations.get(PARENT, "")
    if not text or _parent_fault(text):
        return ""
    return text if "/" in text else f"{quota.metadata.namespace}/{text}"


def faults(quota: ElasticQuota) -> list[str]:
    """The problems with a quota: a line for each field, in the API server's style."""
    return [*_of_amounts(quota.spec.min, quota.spec.max), *_of_annotations(quota.metadata.annotations)]


def _of_amounts(least: Mapping[str, Quantity], most: Mapping[str, Quantity]) -> Iterator[str]:
    for field, quantities in (("min", least), ("max", most)):
        for resource, value in quantities.items():
            fault = _amount_fault(value)
            if fault:
                yield _line(f"spec.{field}[{resource}]", value, fault)
    for resource, value in least.items():
        low, high = _amount(resource, value), _amount(resource, most.get(resource, ""))
        if low is not None and high is not None and low > high:
            yield _line(f"spec.min[{resource}]", value, f"must not be more than spec.max[{resource}], {most[resource]}")


def _of_annotations(annotations: Mapping[str, str]) -> Iterator[str]:
    for name, fault_of in ((PARENT, _parent_fault), (WEIGHT, _weight_fault)):
        fault = fault_of(annotations[name]) if name in annotations else ""
        if fault:
            yield _line(f"metadata.annotations[{name}]", annotations[name], fault)
    yield from unknown_annotations(annotations, KNOWN_ANNOTATIONS)


def _amount(resource: str, value: Quantity) -> int | None:
    return None if _amount_fault(value) else amount(resource, nanos(value))


def _amount_fault(value: Quantity) -> str:
    try:
        return "must not be negative" if nanos(value) < 0 else ""
    except QuantityError as error:
        return str(error)


def _weight_fault(text: str) -> str:
    valid = text.isascii() and text.isdecimal() and len(text) <= len(str(MOST_WEIGHT)) and 1 <= int(text) <= MOST_WEIGHT
    return "" if valid else f"must be a whole number from 1 to {MOST_WEIGHT}"


def _parent_fault(text: str) -> str:
    parts = text.split("/")
    return "" if len(parts) <= 2 and all(parts) else "must be the name of an ElasticQuota, or its namespace/name"


def _line(path: str, value: object, fault: str) -> str:
    return f"{path}: Invalid value: {json.dumps(value)}: {fault}"
