"""Nodes, namespaces, services, leases, priority classes and disruption budgets: small rules of small kinds."""

from collections.abc import Iterator

from muster.sandbox.errors import DUPLICATE, FORBIDDEN, INVALID, NOT_SUPPORTED, REQUIRED, InvalidField
from muster.sandbox.objects import Object, metadata, name_of, with_defaults, without_empty_texts
from muster.sandbox.rules import resources, syntax

NAMESPACE_FINALIZER = "kubernetes"
_SYSTEM_PREFIX = "system-"
_HIGHEST_USER_PRIORITY = 1_000_000_000
_NODE_INFO: Object = dict.fromkeys(
    (
        *("architecture", "bootID", "containerRuntimeVersion", "kernelVersion", "kubeProxyVersion"),
        *("kubeletVersion", "machineID", "operatingSystem", "osImage", "systemUUID"),
    ),
    "",
)
_TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def complete_namespace(namespace: Object) -> Object:
    """A namespace with the label that names it."""
    labels = (metadata(namespace).get("labels") or {}) | {"kubernetes.io/metadata.name": name_of(namespace)}
    return namespace | {"metadata": metadata(namespace) | {"labels": labels}}


def begin_namespace(namespace: Object, now: str) -> Object:
    """A namespace as it is when just created: active, and kept until its contents are gone."""
    return namespace | {"spec": {"finalizers": [NAMESPACE_FINALIZER]}, "status": {"phase": "Active"}}


def complete_node(node: Object) -> Object:
    """A node with its spec, and with allocatable equal to capacity by default."""
    status = node.get("status") or {}
    if status.get("capacity"):
        status = with_defaults(status, {"allocatable": status["capacity"]})
    info = with_defaults(status.get("nodeInfo"), _NODE_INFO)
    status = with_defaults(status, {"daemonEndpoints": {"kubeletEndpoint": {"Port": 0}}}) | {"nodeInfo": info}
    spec = node.get("spec") or {}
    if spec.get("taints"):
        spec = spec | {"taints": [without_empty_texts(taint) for taint in spec["taints"]]}
    return node | {"spec": spec, "status": status}


def validate_node(node: Object) -> Iterator[InvalidField]:
    """The problems with a node's taints, and with its amounts."""
    for field in ("capacity", "allocatable"):
        yield from resources.validate_offer(node["status"].get(field), f"status.{field}")
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(node["spec"].get("taints") or ()):
        path, effect = f"metadata.taints[{index}]", taint.get("effect") or ""
        for reason in syntax.qualified_name(taint.get("key") or ""):
            yield InvalidField(INVALID, f"{path}.key", reason, value=taint.get("key") or "")
        if not effect:
            yield InvalidField(REQUIRED, f"{path}.effect")
        elif effect not in _TAINT_EFFECTS:
            names = ", ".join(f'"{name}"' for name in _TAINT_EFFECTS)
            yield InvalidField(NOT_SUPPORTED, f"{path}.effect", f"supported values: {names}", value=effect)
        if (taint.get("key") or "", effect) in seen:
            shown = {"Key": taint.get("key"), "Value": taint.get("value", ""), "Effect": effect, "TimeAdded": None}
            yield InvalidField(DUPLICATE, path, "taints must be unique by key and effect pair", value=shown)
        seen.add((taint.get("key") or "", effect))


def complete_service(service: Object) -> Object:
    """A service with the defaults of its type and ports; no address is allocated."""
    spec = with_defaults(service.get("spec"), {"type": "ClusterIP", "sessionAffinity": "None"})
    if spec["type"] != "ExternalName":
        spec = with_defaults(spec, {"internalTrafficPolicy": "Cluster"})
    if spec.get("ports"):
        spec["ports"] = [
            with_defaults(port, {"protocol": "TCP", "targetPort": port.get("port")}) for port in spec["ports"]
        ]
    return service | {"spec": spec}


def begin_service(service: Object, now: str) -> Object:
    """A service as it is when just created."""
    return service | {"status": {"loadBalancer": {}}}


def validate_lease(lease: Object) -> Iterator[InvalidField]:
    """The problems with a lease's numbers."""
    spec = lease.get("spec") or {}
    if spec.get("leaseDurationSeconds") is not None and spec["leaseDurationSeconds"] <= 0:
        value = spec["leaseDurationSeconds"]
        yield InvalidField(INVALID, "spec.leaseDurationSeconds", "must be greater than 0", value=value)
    if spec.get("leaseTransitions") is not None and spec["leaseTransitions"] < 0:
        value = spec["leaseTransitions"]
        yield InvalidField(INVALID, "spec.leaseTransitions", "must be greater than or equal to 0", value=value)


def complete_priority_class(priority_class: Object) -> Object:
    """A priority class with its value and preemption policy."""
    return with_defaults(priority_class, {"value": 0, "preemptionPolicy": "PreemptLowerPriority"})


def validate_priority_class(priority_class: Object) -> Iterator[InvalidField]:
    """The problems with priority classes that users create."""
    name, value = name_of(priority_class), priority_class["value"]
    if name.startswith(_SYSTEM_PREFIX):
        if name not in SYSTEM_PRIORITIES:
            reason = (
                "priority class names with 'system-' prefix are reserved for system use only. "
                f"error: {name} is not a known system priority class"
            )
            yield InvalidField(FORBIDDEN, "metadata.name", reason)
    elif value > _HIGHEST_USER_PRIORITY:
        reason = f"maximum allowed value of a user defined priority is {_HIGHEST_USER_PRIORITY}"
        yield InvalidField(FORBIDDEN, "value", reason)


def validate_priority_class_update(new: Object, old: Object) -> Iterator[InvalidField]:
    """The value and the policy of a priority class are fixed."""
    if new["value"] != old["value"]:
        yield InvalidField(FORBIDDEN, "value", "may not be changed in an update.")
    if new["preemptionPolicy"] != old["preemptionPolicy"]:
        yield InvalidField(INVALID, "preemptionPolicy", "field is immutable", value=new["preemptionPolicy"])


SYSTEM_PRIORITIES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


def begin_disruption_budget(budget: Object, now: str) -> Object:
    """A budget as it is when just created: nothing may be disrupted until a controller has counted."""
    counts = ("currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods")
    return budget | {"status": dict.fromkeys(counts, 0)}


def validate_disruption_budget(budget: Object) -> Iterator[InvalidField]:
    """A budget has either minAvailable or maxUnavailable."""
    spec = budget.get("spec") or {}
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        reason = "minAvailable and maxUnavailable cannot be both set"
        yield InvalidField(INVALID, "spec", reason, value=spec)
