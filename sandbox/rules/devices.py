"""Claims of devices, and native groups of pods: the defaults that a scheduler reads, and how they start."""

from collections.abc import Iterator

from muster.sandbox.errors import INVALID, REQUIRED, InvalidField
from muster.sandbox.objects import Object, get_in, with_defaults

_TOLERATION: Object = {"operator": "Equal"}
_EXACT_COUNT = "ExactCount"


def complete_claim(claim: Object) -> Object:
    """A resource claim with its defaults."""
    return claim | {"spec": _complete_claim_spec(claim.get("spec") or {})}


def begin_claim(claim: Object, now: str) -> Object:
    """A resource claim as it is when just created: allocated nothing."""
    return claim | {"status": {}}


def complete_template(template: Object) -> Object:
    """A template of resource claims with the defaults of its claims."""
    spec = with_defaults(template.get("spec"), {"metadata": {}})
    return template | {"spec": spec | {"spec": _complete_claim_spec(spec.get("spec") or {})}}


def _complete_claim_spec(spec: Object) -> Object:
    devices = spec.get("devices") or {}
    if devices.get("requests"):
        devices = devices | {"requests": [_complete_request(request) for request in devices["requests"]]}
    return spec | {"devices": devices}


def _complete_request(request: Object) -> Object:
    if request.get("exactly") is not None:
        request = request | {"exactly": _complete_device_request(request["exactly"])}
    if request.get("firstAvailable"):
        request = request | {
            "firstAvailable": [_complete_device_request(wanted) for wanted in request["firstAvailable"]]
        }
    return request


def _complete_device_request(wanted: Object) -> Object:
    """Complete a request for devices of one class: one device by default."""
    wanted = with_defaults(wanted, {"allocationMode": _EXACT_COUNT})
    if wanted["allocationMode"] == _EXACT_COUNT:
        wanted = with_defaults(wanted, {"count": 1})
    if wanted.get("tolerations"):
        wanted["tolerations"] = [with_defaults(toleration, _TOLERATION) for toleration in wanted["tolerations"]]
    return wanted


def validate_claim(claim: Object) -> Iterator[InvalidField]:
    """The problems with a claim's requests."""
    yield from _requests(claim["spec"]["devices"], "spec.devices.requests")


def validate_template(template: Object) -> Iterator[InvalidField]:
    """The problems with the requests of a template's claims."""
    yield from _requests(template["spec"]["spec"]["devices"], "spec.spec.devices.requests")


def _requests(devices: Object, path: str) -> Iterator[InvalidField]:
    for index, request in enumerate(devices.get("requests") or ()):
        exactly, listed = request.get("exactly"), request.get("firstAvailable")
        if exactly is not None and listed:
            reason = "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set"
            yield InvalidField(INVALID, f"{path}[{index}]", reason, value=None)
        elif exactly is None and not listed:
            yield InvalidField(REQUIRED, f"{path}[{index}]", "exactly one of `exactly` or `firstAvailable` is required")
        elif exactly is not None and not exactly.get("deviceClassName"):
            yield InvalidField(REQUIRED, f"{path}[{index}].exactly.deviceClassName")


def begin_taint_rule(rule: Object, now: str) -> Object:
    """A rule that taints devices as it is when just created: its taint counts from now on."""
    spec = rule.get("spec") or {}
    return rule | {"spec": spec | {"taint": with_defaults(spec.get("taint"), {"timeAdded": now})}, "status": {}}


def begin_pod_group(group: Object, now: str) -> Object:
    """A native group of pods as it is when just created: no condition is known."""
    return group | {"status": {}}


def complete_pod_group(group: Object) -> Object:
    """A native group of pods with its defaults."""
    return group | {"spec": with_defaults(group.get("spec"), {"disruptionMode": {"single": {}}})}


def validate_pod_group(group: Object) -> Iterator[InvalidField]:
    """A native group of pods says how it is scheduled, and a gang of how many pods it is at least."""
    yield from _policy(group, "minCount")


def validate_composite_pod_group(group: Object) -> Iterator[InvalidField]:
    """A group of groups says how they are scheduled, and a gang of how many groups it is at least."""
    yield from _policy(group, "minGroupCount")
    if not get_in(group, ("spec", "workloadRef")):
        yield InvalidField(REQUIRED, "spec.workloadRef")


def _policy(group: Object, least: str) -> Iterator[InvalidField]:
    policy = get_in(group, ("spec", "schedulingPolicy")) or {}
    given = [name for name in ("basic", "gang") if policy.get(name) is not None]
    if not given:
        reason = "must specify one of: `basic`, `gang`"
        yield InvalidField(INVALID, "spec.schedulingPolicy", reason, value="")
    elif len(given) > 1:
        reason = "must specify exactly one of: `basic`, `gang`"
        yield InvalidField(INVALID, "spec.schedulingPolicy", reason, value="{basic, gang}")
    elif "gang" in given and not policy["gang"].get(least):
        yield InvalidField(REQUIRED, f"spec.schedulingPolicy.gang.{least}")
    elif "gang" in given and policy["gang"][least] < 1:
        reason, value = "must be greater than or equal to 1", policy["gang"][least]
        yield InvalidField(INVALID, f"spec.schedulingPolicy.gang.{least}", reason, value=value)


def validate_workload(workload: Object) -> Iterator[InvalidField]:
    """A workload describes groups of pods, or groups of such groups."""
    spec = workload.get("spec") or {}
    if not spec.get("podGroupTemplates") and not spec.get("compositePodGroupTemplates"):
        reason = "must specify one of: `podGroupTemplates`, `compositePodGroupTemplates`"
        yield InvalidField(INVALID, "spec", reason, value="")
