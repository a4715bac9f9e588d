"""ReplicationControllers, ReplicaSets, StatefulSets, Deployments: stored, defaulted and checked, never acted upon."""

from collections.abc import Iterator

from muster.sandbox.errors import INVALID, REQUIRED, FieldError
from muster.sandbox.objects import Object, get_in, metadata, with_defaults, with_metadata
from muster.sandbox.rules import pod_spec
from muster.sandbox.selectors import from_label_selector

_ROLLING: Object = {"type": "RollingUpdate"}
_DEPLOYMENT: Object = {
    "replicas": 1,
    "revisionHistoryLimit": 10,
    "progressDeadlineSeconds": 600,
    "strategy": _ROLLING | {"rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}},
}
_STATEFUL_SET: Object = {
    "replicas": 1,
    "revisionHistoryLimit": 10,
    "podManagementPolicy": "OrderedReady",
    "updateStrategy": _ROLLING | {"rollingUpdate": {"partition": 0, "maxUnavailable": 1}},
    "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
}


def complete_deployment(workload: Object) -> Object:
    """A deployment with its defaults."""
    return _complete(workload, _DEPLOYMENT)


def complete_stateful_set(workload: Object) -> Object:
    """A stateful set with its defaults."""
    return _complete(workload, _STATEFUL_SET)


def complete_replica_set(workload: Object) -> Object:
    """A replica set with its defaults."""
    return _complete(workload, {"replicas": 1})


def complete_replication_controller(workload: Object) -> Object:
    """A replication controller with its defaults; labels of the template stand in for a missing selector."""
    labels = get_in(workload, ("spec", "template", "metadata", "labels"))
    if labels:
        workload = with_metadata(workload, labels=metadata(workload).get("labels") or labels)
    return _complete(workload, {"replicas": 1} | ({"selector": labels} if labels else {}))


def _complete(workload: Object, defaults: Object) -> Object:
    spec = with_defaults(workload.get("spec"), defaults)
    template = spec.get("template") or {}
    spec["template"] = {"metadata": {}} | template | {"spec": pod_spec.complete(template.get("spec") or {})}
    return workload | {"spec": spec}


def begin(workload: Object, now: str) -> Object:
    """A workload as it is when just created."""
    return workload | {"status": {"replicas": 0}}


def begin_stateful_set(workload: Object, now: str) -> Object:
    """A stateful set as it is when just created."""
    return workload | {"status": {"replicas": 0, "availableReplicas": 0}}


def begin_deployment(workload: Object, now: str) -> Object:
    """A deployment as it is when just created."""
    return workload | {"status": {}}


def validate(workload: Object) -> Iterator[FieldError]:
    """What is wrong with a workload of the apps group: selector and template have to be there and to agree."""
    spec = workload["spec"]
    selector = spec.get("selector")
    if not selector:
        yield FieldError(REQUIRED, "spec.selector")
    labels = get_in(spec, ("template", "metadata", "labels"))
    if not selector or not all(item.holds(labels or {}) for item in from_label_selector(selector)):
        reason = "`selector` does not match template `labels`"
        yield FieldError(INVALID, "spec.template.metadata.labels", reason, value=labels)
    yield from pod_spec.validate(spec["template"]["spec"], "spec.template.spec")


def validate_replication_controller(workload: Object) -> Iterator[FieldError]:
    """What is wrong with a replication controller."""
    if not workload["spec"].get("selector"):
        yield FieldError(REQUIRED, "spec.selector")
    yield from pod_spec.validate(workload["spec"]["template"]["spec"], "spec.template.spec")
