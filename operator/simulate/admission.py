"""The fields that admission sets on a new pod, resolved from the cluster's objects.

A manifest names a PriorityClass or a RuntimeClass, and a namespace may have a LimitRange; the scheduler sees numbers.
`manifests` completes each new pod here. If an object is unknown, the result of a simulation rests on a guess, so the
caller reports the unknown objects.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from muster.framework.model.claims import CLASS_ANNOTATION
from muster.framework.model.faults import needed
from muster.framework.model.requests import amounts

from .limit_ranges import outside_limits, with_limit_defaults

PRIORITY_CLASSES = "PriorityClass"
RUNTIME_CLASSES = "RuntimeClass"
LIMIT_RANGES = "LimitRange"
STORAGE_CLASSES = "StorageClass"
KINDS: Mapping[str, str] = {
    PRIORITY_CLASSES: "/apis/scheduling.k8s.io/v1/priorityclasses",
    RUNTIME_CLASSES: "/apis/node.k8s.io/v1/runtimeclasses",
    LIMIT_RANGES: "/api/v1/limitranges",
    STORAGE_CLASSES: "/apis/storage.k8s.io/v1/storageclasses",
}
"""The kinds that admission reads, with the paths of their lists."""

_BUILT_IN = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
_PREEMPT = "PreemptLowerPriority"
_NO_EXECUTE = "NoExecute"
_TOLERATED = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_TOLERATED_SECONDS = 300
_DEFAULT_CLASS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")

Document = Mapping[str, Any]


@dataclass(slots=True)
class AdmissionObjects:
    """The objects that admission reads, as plain values.

    Attributes:
        objects: the objects of each known kind, which may be none.
        repeated: kind and `namespace/name`, or the name alone, of objects that were added again.
        unread: the API server's reasons why kinds of the cluster could not be read, by kind.
        unknown: sentences for users about unknown objects on which a pod depends.
    """

    objects: dict[str, list[Document]] = field(default_factory=dict)
    repeated: list[tuple[str, str]] = field(default_factory=list)
    unread: dict[str, str] = field(default_factory=dict)
    unknown: dict[str, None] = field(default_factory=dict)

    def add(self, document: Document) -> None:
        """Add an object of one of `KINDS`; the last object of a name counts."""
        kind, key = str(document["kind"]), _key(document)
        found = self.objects.setdefault(kind, [])
        others = [each for each in found if _key(each) != key]
        if len(others) < len(found):
            self.repeated.append((kind, "/".join(key) if kind == LIMIT_RANGES else key[1]))
        found[:] = [*others, document]

    def pod(self, namespace: str, name: str, spec: Document) -> dict[str, Any]:
        """The spec of a new pod after admission. Raises ValueError for a pod that admission rejects."""
        where = f'pods "{name}" is forbidden: '
        ranges = self._ranges(namespace)
        admitted = with_limit_defaults(spec, ranges)
        admitted |= self._own_priority(where, spec)
        admitted["tolerations"] = _with_tolerations(spec.get("tolerations") or ())
        admitted = self._with_overhead(where, admitted)
        if problem := outside_limits(admitted, ranges):
            raise ValueError(f"{where}{problem}")
        return admitted

    def priority(self, where: str, spec: Document) -> dict[str, Any]:
        """The fields that a priority class gives to a pod or a group.

        `where` is the beginning of the error. Raises ValueError if there is no such class.
        """
        named = spec.get("priorityClassName") or ""
        if named in _BUILT_IN:
            return {"priority": _BUILT_IN[named], "preemptionPolicy": _PREEMPT}
        known = self.objects.get(PRIORITY_CLASSES)
        if known is None:
            if spec.get("priority") is None:
                what = f"PriorityClass {named} is not known: pods that name it count"
                default = "PriorityClasses are not known: pods that name none count"
                self._miss(PRIORITY_CLASSES, f"{what if named else default} with priority 0")
            return {}
        if named:
            chosen = next((each for each in known if _key(each)[1] == named), None)
            if chosen is None:
                raise ValueError(f"{where}no PriorityClass with name {named} was found")
        else:
            chosen = min((each for each in known if each.get("globalDefault")), key=_value, default=None)
        if chosen is None:
            return {"priority": 0, "preemptionPolicy": _PREEMPT}
        return {"priority": _value(chosen), "preemptionPolicy": chosen.get("preemptionPolicy") or _PREEMPT}

    def claim(self, claim: Document) -> Document:
        """A new claim or template with a storage class: its own, or else the cluster's default."""
        metadata, spec = claim.get("metadata") or {}, claim.get("spec") or {}
        annotations = metadata.get("annotations") or {}
        if spec.get("storageClassName") is not None or CLASS_ANNOTATION in annotations:
            return claim
        if STORAGE_CLASSES in self.unread:
            self._miss(STORAGE_CLASSES, "StorageClasses are not known: claims that name none count without a class")
        defaults = sorted(filter(_is_default, self.objects.get(STORAGE_CLASSES, ())), key=lambda each: _key(each)[1])
        chosen = max(defaults, key=lambda each: each["metadata"].get("creationTimestamp") or "", default=None)
        return claim if chosen is None else {**claim, "spec": {**spec, "storageClassName": _key(chosen)[1]}}

    def _own_priority(self, where: str, spec: Document) -> dict[str, Any]:
        """The fields that a priority class gives to a pod; a pod with other values is invalid."""
        given = self.priority(where, spec)
        for part, named in (
            ("priority", "integer value of priority"),
            ("preemptionPolicy", "string value of PreemptionPolicy"),
        ):
            own = spec.get(part)
            if part in given and own is not None and own != given[part]:
                raise ValueError(
                    f"{where}the {named} ({own}) must not be provided in pod spec; priority admission controller "
                    f"computed {given[part]} from the given PriorityClass name"
                )
        return given

    def _with_overhead(self, where: str, spec: Document) -> dict[str, Any]:
        named = spec.get("runtimeClassName")
        known = self.objects.get(RUNTIME_CLASSES)
        if named and known is None:
            self._miss(
                RUNTIME_CLASSES, f"RuntimeClass {named} is not known: pods that name it count without its overhead"
            )
            return {**spec}
        chosen = next((each for each in known or () if _key(each)[1] == named), None) if named else {}
        if chosen is None:
            raise ValueError(f'{where}pod rejected: RuntimeClass "{named}" not found')
        admitted = {**spec}
        overhead, own = (chosen.get("overhead") or {}).get("podFixed"), spec.get("overhead")
        if own and not overhead:
            raise ValueError(
                f"{where}pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
            )
        if own and amounts(own) != amounts(overhead or {}):
            raise ValueError(f"{where}pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")
        if overhead:
            admitted["overhead"] = overhead
        scheduling = chosen.get("scheduling") or {}
        if scheduling.get("nodeSelector"):
            admitted["nodeSelector"] = _joined(where, spec.get("nodeSelector") or {}, scheduling["nodeSelector"])
        if scheduling.get("tolerations"):
            admitted["tolerations"] = [*(spec.get("tolerations") or ()), *scheduling["tolerations"]]
        return admitted

    def _ranges(self, namespace: str) -> list[Document]:
        if LIMIT_RANGES in self.unread:
            self._miss(LIMIT_RANGES, "LimitRanges are not known: containers count with what they say themselves")
        return [each for each in self.objects.get(LIMIT_RANGES, ()) if _key(each)[0] == namespace]

    def _miss(self, kind: str, sentence: str) -> None:
        why = self.unread.get(kind)
        self.unknown[f"{sentence} ({why})" if why else sentence] = None


def _with_tolerations(own: Sequence[Document]) -> list[Document]:
    """The pod's tolerations and those that DefaultTolerationSeconds adds, for nodes that are briefly not ready."""
    return [*own, *(_tolerating(key) for key in _TOLERATED if not any(_tolerates(each, key) for each in own))]


def _tolerating(key: str) -> Document:
    return {"key": key, "operator": "Exists", "effect": _NO_EXECUTE, "tolerationSeconds": _TOLERATED_SECONDS}


def _tolerates(toleration: Document, key: str) -> bool:
    return toleration.get("key") in (None, "", key) and toleration.get("effect") in (None, "", _NO_EXECUTE)


def _joined(where: str, own: Document, given: Document) -> dict[str, Any]:
    for key, value in given.items():
        if own.get(key, value) != value:
            raise ValueError(
                f"{where}conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; "
                f"pod.spec.nodeSelector[{key}] = {own[key]}"
            )
    return {**own, **given}


def _is_default(storage_class: Document) -> bool:
    annotations = (storage_class.get("metadata") or {}).get("annotations") or {}
    return any(annotations.get(key) == "true" for key in _DEFAULT_CLASS)


def _value(priority_class: Document) -> int:
    return int(needed(priority_class, "value", f"PriorityClass {_key(priority_class)[1]}"))


def _key(document: Document) -> tuple[str, str]:
    metadata = document.get("metadata") or {}
    return metadata.get("namespace") or "default", metadata.get("name") or ""
