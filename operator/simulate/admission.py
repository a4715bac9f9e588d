"""What admission sets on a new pod, resolved from the cluster's objects.

A manifest names a PriorityClass or a RuntimeClass, and a namespace may have a LimitRange; the scheduler sees numbers.
`manifests` has each pod that is not stored yet completed here. If the objects are not known, the result of a simulation
rests on a guess, so missing objects are collected for the caller to report.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from muster.framework.model.faults import needed

PRIORITY_CLASSES = "PriorityClass"
RUNTIME_CLASSES = "RuntimeClass"
LIMIT_RANGES = "LimitRange"
KINDS: Mapping[str, str] = {
    PRIORITY_CLASSES: "/apis/scheduling.k8s.io/v1/priorityclasses",
    RUNTIME_CLASSES: "/apis/node.k8s.io/v1/runtimeclasses",
    LIMIT_RANGES: "/api/v1/limitranges",
}
"""The kinds that admission looks at, and where each is listed."""

_BUILT_IN = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
_PREEMPT = "PreemptLowerPriority"

Document = Mapping[str, Any]


@dataclass(slots=True)
class AdmissionObjects:
    """The objects, as plain values.

    Attributes:
        objects: those of each kind that is known, which may be none.
        unknown: for people, a sentence on each thing that a pod named and that is not known here.
    """

    objects: dict[str, list[Document]] = field(default_factory=dict)
    unknown: dict[str, None] = field(default_factory=dict)

    def add(self, document: Document) -> None:
        """Take in an object of one of `KINDS`; what was read last of one name counts."""
        found = self.objects.setdefault(str(document["kind"]), [])
        found[:] = [each for each in found if _key(each) != _key(document)] + [document]

    def pod(self, namespace: str, name: str, spec: Document) -> dict[str, Any]:
        """The spec of a new pod as admission leaves it. Raises ValueError for what admission refuses."""
        where = f'pods "{name}" is forbidden: '
        limited = self._with_limits(namespace, spec)
        return {**self._with_overhead(where, limited), **self.priority(where, spec)}

    def priority(self, where: str, spec: Document) -> dict[str, Any]:
        """The fields that a priority class gives to a pod or a group.

        `where` opens the error. Raises ValueError where there is no such class.
        """
        named = spec.get("priorityClassName") or ""
        if named in _BUILT_IN:
            return {"priority": _BUILT_IN[named]}
        known = self.objects.get(PRIORITY_CLASSES)
        if known is None:
            if named and spec.get("priority") is None:
                self.unknown[f"PriorityClass {named} is not known: pods that name it count with priority 0"] = None
            return {}
        if named:
            chosen = next((each for each in known if _key(each)[1] == named), None)
            if chosen is None:
                raise ValueError(f"{where}no PriorityClass with name {named} was found")
        else:
            defaults = [each for each in known if each.get("globalDefault")]
            chosen = min(defaults, key=_value, default=None)
        if chosen is None:
            return {}
        return {"priority": _value(chosen), "preemptionPolicy": chosen.get("preemptionPolicy") or _PREEMPT}

    def _with_overhead(self, where: str, spec: Document) -> dict[str, Any]:
        named = spec.get("runtimeClassName")
        known = self.objects.get(RUNTIME_CLASSES)
        if not named:
            return {**spec}
        if known is None:
            self.unknown[f"RuntimeClass {named} is not known: pods that name it count without its overhead"] = None
            return {**spec}
        chosen = next((each for each in known if _key(each)[1] == named), None)
        if chosen is None:
            raise ValueError(f'{where}pod rejected: RuntimeClass "{named}" not found')
        admitted = {**spec}
        overhead = (chosen.get("overhead") or {}).get("podFixed")
        if overhead:
            admitted["overhead"] = overhead
        scheduling = chosen.get("scheduling") or {}
        if scheduling.get("nodeSelector"):
            admitted["nodeSelector"] = {**(spec.get("nodeSelector") or {}), **scheduling["nodeSelector"]}
        if scheduling.get("tolerations"):
            admitted["tolerations"] = [*(spec.get("tolerations") or ()), *scheduling["tolerations"]]
        return admitted

    def _with_limits(self, namespace: str, spec: Document) -> dict[str, Any]:
        ranges = [each for each in self.objects.get(LIMIT_RANGES, ()) if _key(each)[0] == namespace]
        items = [item for each in ranges for item in (each.get("spec") or {}).get("limits") or ()]
        of_containers = [item for item in items if item.get("type") == "Container"]
        if not of_containers:
            return {**spec}
        limited = {**spec}
        for part in ("containers", "initContainers"):
            if spec.get(part):
                limited[part] = [_within(each, of_containers) for each in spec[part]]
        return limited


def _value(priority_class: Document) -> int:
    return int(needed(priority_class, "value", f"PriorityClass {_key(priority_class)[1]}"))


def _within(container: Document, limits: Sequence[Document]) -> dict[str, Any]:
    """A container with the defaults of LimitRanges for what it does not say itself."""
    resources = container.get("resources") or {}
    filled = {
        "limits": {**_merged(limits, "default"), **(resources.get("limits") or {})},
        "requests": {**_merged(limits, "defaultRequest"), **(resources.get("requests") or {})},
    }
    return {**container, "resources": {**resources, **filled}}


def _merged(limits: Iterable[Document], part: str) -> dict[str, Any]:
    return {name: amount for item in limits for name, amount in (item.get(part) or {}).items()}


def _key(document: Document) -> tuple[str, str]:
    metadata = document.get("metadata") or {}
    return metadata.get("namespace") or "default", metadata.get("name") or ""
