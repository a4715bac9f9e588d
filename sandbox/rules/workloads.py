"""ReplicationControllers, ReplicaSets, StatefulSets, Deployments and Jobs: their defaults, and what is wrong with them.

`controllers` creates their pods.
"""

from collections.abc import Iterator

from muster.sandbox.errors import INVALID, NOT_SUPPORTED, REQUIRED, InvalidField
from muster.sandbox.objects import Object, get_in, metadata, name_of, with_defaults, with_metadata
from muster.sandbox.rules import pod_spec
from muster.sandbox.selectors import from_label_selector

_TEMPLATE_SPEC = "spec.template.spec"
_ROLLING: Object = {"type": "RollingUpdate"}
_DEPLOYMENT: Object = {
    "replicas": 1,
    "revisionHistoryLimit": 10,
    "progressDeadlineSeconds": 600,
}
_DEPLOYMENT_ROLLING: Object = {"maxUnavailable": "25%", "maxSurge": "25%"}
_STATEFUL_SET: Object = {
    "replicas": 1,
    "revisionHistoryLimit": 10,
    "podManagementPolicy": "OrderedReady",
    "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
}
_STATEFUL_SET_ROLLING: Object = {"partition": 0, "maxUnavailable": 1}
_JOB: Object = {
    "backoffLimit": 6,
    "completionMode": "NonIndexed",
    "manualSelector": False,
    "parallelism": 1,
    "podReplacementPolicy": "TerminatingOrFailed",
    "suspend": False,
}
_JOB_RESTART_POLICIES = ("OnFailure", "Never")


def complete_deployment(workload: Object) -> Object:
    """A deployment with its defaults."""
    return _with_strategy(_complete(workload, _DEPLOYMENT), "strategy", _DEPLOYMENT_ROLLING)


def complete_stateful_set(workload: Object) -> Object:
    """A stateful set with its defaults."""
    workload = _complete(workload, _STATEFUL_SET | {"serviceName": ""})
    return _with_strategy(workload, "updateStrategy", _STATEFUL_SET_ROLLING)


def complete_replica_set(workload: Object) -> Object:
    """A replica set with its defaults."""
    return _complete(workload, {"replicas": 1})


def complete_replication_controller(workload: Object) -> Object:
    """A replication controller with its defaults; labels of the template stand in for a missing selector."""
    labels = get_in(workload, ("spec", "template", "metadata", "labels"))
    if labels:
        workload = with_metadata(workload, labels=metadata(workload).get("labels") or labels)
    return _complete(workload, {"replicas": 1} | ({"selector": labels} if labels else {}))


def _with_strategy(workload: Object, field: str, rolling: Object) -> Object:
    """A workload that says how it is updated: step by step by default."""
    spec = workload["spec"]
    strategy = with_defaults(spec.get(field), _ROLLING)
    if strategy["type"] == "RollingUpdate":
        strategy["rollingUpdate"] = with_defaults(strategy.get("rollingUpdate"), rolling)
    return workload | {"spec": spec | {field: strategy}}


def complete_job(job: Object) -> Object:
    """A job with its defaults: it is completed by one pod, unless it says how many run side by side."""
    spec = job.get("spec") or {}
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec = spec | {"completions": 1}
    return _complete(job | {"spec": spec}, _JOB)


def begin_job(job: Object, now: str) -> Object:
    """A job as it is when just created: with a selector of its own, unless it brings one."""
    spec, uid = job["spec"], metadata(job)["uid"]
    labels = get_in(spec, ("template", "metadata", "labels")) or {}
    if not spec["manualSelector"]:
        mine = {"controller-uid": uid, "job-name": name_of(job)}
        labels = labels | mine | {f"batch.kubernetes.io/{key}": value for key, value in mine.items()}
        selector = {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
        template = with_metadata(spec["template"], labels=labels)
        job = job | {"spec": spec | {"selector": selector, "template": template}}
    return with_metadata(job, labels=metadata(job).get("labels") or labels or None) | {"status": {}}


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


def validate(workload: Object) -> Iterator[InvalidField]:
    """The problems with a workload of the apps group: selector and template have to be there and to agree."""
    spec = workload["spec"]
    yield from _numbers(spec, "replicas")
    selector = spec.get("selector")
    if not selector:
        yield InvalidField(REQUIRED, "spec.selector")
    labels = get_in(spec, ("template", "metadata", "labels"))
    if not selector or not all(item.holds(labels or {}) for item in from_label_selector(selector)):
        reason = "`selector` does not match template `labels`"
        yield InvalidField(INVALID, "spec.template.metadata.labels", reason, value=labels)
    yield from _template(spec["template"]["spec"])


def validate_replication_controller(workload: Object) -> Iterator[InvalidField]:
    """The problems with a replication controller."""
    yield from _numbers(workload["spec"], "replicas")
    if not workload["spec"].get("selector"):
        yield InvalidField(REQUIRED, "spec.selector")
    yield from _template(workload["spec"]["template"]["spec"])


def validate_job(job: Object) -> Iterator[InvalidField]:
    """The problems with a job: its pods have to be able to end."""
    spec = job["spec"]
    yield from _numbers(spec, "parallelism", "completions", "backoffLimit")
    yield from pod_spec.validate(spec["template"]["spec"], _TEMPLATE_SPEC)
    if spec["template"]["spec"]["restartPolicy"] == "Always":
        reason = 'valid values: "OnFailure", "Never"'
        yield InvalidField(REQUIRED, f"{_TEMPLATE_SPEC}.restartPolicy", reason)


def _template(spec: Object) -> Iterator[InvalidField]:
    yield from pod_spec.validate(spec, _TEMPLATE_SPEC)
    policy = spec["restartPolicy"]
    if policy in _JOB_RESTART_POLICIES:
        yield InvalidField(NOT_SUPPORTED, f"{_TEMPLATE_SPEC}.restartPolicy", 'supported values: "Always"', value=policy)


def _numbers(spec: Object, *names: str) -> Iterator[InvalidField]:
    for name in names:
        if (spec.get(name) or 0) < 0:
            reason = "must be greater than or equal to 0"
            yield InvalidField(INVALID, f"spec.{name}", reason, value=spec[name])
