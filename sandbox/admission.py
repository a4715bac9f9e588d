"""The changes that kube-apiserver's admission plugins make to new objects, as far as they concern a scheduler.

NamespaceLifecycle for every kind; Priority for pods and native groups; DefaultTolerationSeconds and PodTopologyLabels
for pods. The plugins that need a controller to undo what they do (TaintNodesByCondition, storage protection) are left
out, as is ServiceAccount.
"""

from collections.abc import Iterable
from typing import Protocol

from muster.sandbox.errors import forbidden, not_found
from muster.sandbox.kinds import COMPOSITE_POD_GROUPS, NAMESPACES, NATIVE_POD_GROUPS, NODES, PODS, PRIORITY_CLASSES
from muster.sandbox.ledger import Entry
from muster.sandbox.objects import Object, metadata, name_of, namespace_of, with_defaults, with_metadata
from muster.sandbox.registry import Kind

_TOPOLOGY_LABELS = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")
_DEFAULT_TOLERATIONS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_TOLERATION_SECONDS = 300
_PREEMPT = "PreemptLowerPriority"


class Stored(Protocol):
    """The stored objects that admission reads."""

    def find(self, kind: Kind, name: str, /) -> Entry | None:
        """The newest version of an object that has no namespace, or None."""
        ...

    def objects(self, kind: Kind, /) -> Iterable[Object]:
        """All objects of a kind."""
        ...


def admit(store: Stored, kind: Kind, obj: Object) -> Object:
    """A new object as admission leaves it; 404 for a namespace that does not exist, 403 for what is not allowed."""
    if kind.namespaced:
        _require_namespace(store, kind, obj)
    if kind in (NATIVE_POD_GROUPS, COMPOSITE_POD_GROUPS):
        return obj | {"spec": _with_group_priority(store, kind, obj)}
    if kind is not PODS:
        return obj
    spec = _with_tolerations(_with_priority(store, obj))
    labels = topology_labels(store, spec.get("nodeName") or "")
    if labels:
        obj = with_metadata(obj, labels=(metadata(obj).get("labels") or {}) | labels)
    return obj | {"spec": spec}


def admit_update(kind: Kind, new: Object, old: Object) -> Object:
    """A changed object as admission leaves it: a pod keeps fields that an older client left out."""
    if kind is not PODS:
        return new
    kept = {field: old["spec"].get(field) for field in ("priority", "preemptionPolicy")}
    return new | {"spec": _with_tolerations(with_defaults(new.get("spec"), kept))}


def topology_labels(store: Stored, node: str) -> Object:
    """The zone and region of a node, which its pods get as labels; empty for an unknown node."""
    entry = store.find(NODES, node)
    labels = (metadata(entry.obj).get("labels") or {}) if entry else {}
    return {key: labels[key] for key in _TOPOLOGY_LABELS if key in labels}


def _require_namespace(store: Stored, kind: Kind, obj: Object) -> None:
    namespace = namespace_of(obj)
    entry = store.find(NAMESPACES, namespace)
    if entry is None:
        raise not_found(NAMESPACES, namespace)
    if entry.obj["status"]["phase"] == "Terminating":
        why = f"unable to create new content in namespace {namespace} because it is being terminated"
        raise forbidden(kind, name_of(obj), why)


def _with_priority(store: Stored, pod: Object) -> Object:
    """The spec of a pod with the priority and policy that its class, or the default one, gives it."""
    spec = pod.get("spec") or {}
    chosen = _priority_class(store, PODS, pod)
    priority, policy = (chosen["value"], chosen["preemptionPolicy"]) if chosen else (0, _PREEMPT)
    if spec.get("priority") not in (None, priority):
        why = (
            f"the integer value of priority ({spec['priority']}) must not be provided in pod spec; priority admission "
            f"controller computed {priority} from the given PriorityClass name"
        )
        raise forbidden(PODS, name_of(pod), why)
    if spec.get("preemptionPolicy") not in (None, policy):
        why = (
            f"the string value of PreemptionPolicy ({spec['preemptionPolicy']}) must not be provided in pod spec; "
            f"priority admission controller computed {policy} from the given PriorityClass name"
        )
        raise forbidden(PODS, name_of(pod), why)
    named = {"priorityClassName": name_of(chosen)} if chosen else {}
    return spec | named | {"priority": priority, "preemptionPolicy": policy}


def _with_group_priority(store: Stored, kind: Kind, group: Object) -> Object:
    """The spec of a native group, of pods or of groups, with the priority that its class, or the default, gives it."""
    spec = group.get("spec") or {}
    chosen = _priority_class(store, kind, group)
    priority = chosen["value"] if chosen else 0
    if spec.get("priority") not in (None, priority):
        why = (
            f"priority set in the pod group ({spec['priority']}) must match the priority computed ({priority}) based "
            "on the priority class set in the spec"
        )
        raise forbidden(kind, name_of(group), why)
    named = {"priorityClassName": name_of(chosen)} if chosen else {}
    return spec | named | {"priority": priority}


def _priority_class(store: Stored, kind: Kind, obj: Object) -> Object | None:
    name = (obj.get("spec") or {}).get("priorityClassName")
    if name:
        entry = store.find(PRIORITY_CLASSES, name)
        if entry is None:
            raise forbidden(kind, name_of(obj), f"no PriorityClass with name {name} was found")
        return entry.obj
    defaults = [item for item in store.objects(PRIORITY_CLASSES) if item.get("globalDefault")]
    return min(defaults, key=lambda item: int(item["value"]), default=None)


def _with_tolerations(spec: Object) -> Object:
    tolerations = list(spec.get("tolerations") or ())
    for key in _DEFAULT_TOLERATIONS:
        if not any(
            item.get("key") in (None, "", key) and item.get("effect") in (None, "", "NoExecute")
            for item in spec.get("tolerations") or ()
        ):
            item = {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _TOLERATION_SECONDS}
            tolerations.append(item)
    return spec | {"tolerations": tolerations}
