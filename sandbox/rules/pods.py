"""Pods: their defaults, the state they start in, and the few changes that a spec allows once it exists."""

from collections.abc import Iterator, Sequence

from muster.framework.model.quantity import nanos
from muster.sandbox.errors import FORBIDDEN, INVALID, InvalidField
from muster.sandbox.objects import Object, with_defaults, without
from muster.sandbox.rules import pod_spec

_MUTABLE = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
    "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was "
    "previously negative)"
)
_FREE_FIELDS = ("activeDeadlineSeconds", "schedulingGates", "tolerations")


def complete(pod: Object) -> Object:
    """A pod with the defaults of its spec; requests that are missing follow the limits."""
    spec = pod_spec.complete(pod.get("spec") or {})
    spec = with_defaults(spec, {"enableServiceLinks": True})
    for field in ("containers", "initContainers"):
        if spec.get(field):
            spec[field] = [_requests_from_limits(container) for container in spec[field]]
    return pod | {"spec": spec}


def _requests_from_limits(container: Object) -> Object:
    limits = container["resources"].get("limits")
    if not limits:
        return container
    resources = container["resources"]
    return container | {"resources": resources | {"requests": with_defaults(resources.get("requests"), limits)}}


def begin(pod: Object, now: str) -> Object:
    """The state of a new pod: pending, with a condition if scheduling gates hold it back."""
    status: Object = {"phase": "Pending", "qosClass": qos_class(pod["spec"])}
    if pod["spec"].get("schedulingGates"):
        condition = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
            "lastTransitionTime": now,
        }
        status["conditions"] = [condition]
    return pod | {"status": status}


def qos_class(spec: Object) -> str:
    """`Guaranteed`, `Burstable` or `BestEffort`, from the cpu and memory of all containers."""
    guaranteed, any_amount = True, False
    for container in [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]:
        resources = container.get("resources") or {}
        limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
        for name in ("cpu", "memory"):
            limit, request = _amount(limits.get(name)), _amount(requests.get(name))
            any_amount = any_amount or bool(limit or request)
            guaranteed = guaranteed and limit > 0 and limit == request
    if not any_amount:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"


def _amount(text: object) -> int:
    return 0 if text is None else nanos(str(text))


def validate(pod: Object) -> Iterator[InvalidField]:
    """The problems with a completed pod."""
    yield from pod_spec.validate(pod["spec"], "spec")


def validate_create(pod: Object) -> Iterator[InvalidField]:
    """The problems that only a new pod can have."""
    if pod["spec"].get("nodeName") and pod["spec"].get("schedulingGates"):
        yield InvalidField(FORBIDDEN, "spec.nodeName", "cannot be set until all schedulingGates have been cleared")


def validate_update(new: Object, old: Object) -> Iterator[InvalidField]:
    """The problems with a change of a pod's spec."""
    after, before = new["spec"], old["spec"]
    for field in ("containers", "initContainers"):
        if len(after.get(field) or ()) != len(before.get(field) or ()):
            yield InvalidField(FORBIDDEN, f"spec.{field}", "pod updates may not add or remove containers")
            return
    if not _keeps_tolerations(after.get("tolerations") or (), before.get("tolerations") or ()):
        reason = "existing toleration can not be modified except its tolerationSeconds"
        yield InvalidField(FORBIDDEN, "spec.tolerations", reason)
    known = [gate["name"] for gate in before.get("schedulingGates") or ()]
    for index, gate in enumerate(after.get("schedulingGates") or ()):
        if gate["name"] not in known:
            reason = f"only deletion is allowed, but found new scheduling gate '{gate['name']}'"
            yield InvalidField(FORBIDDEN, f"spec.schedulingGates[{index}].name", reason)
    if _fixed_part(after, gated=bool(known)) != _fixed_part(before, gated=bool(known)):
        yield InvalidField(FORBIDDEN, "spec", f"pod updates may not change fields other than {_MUTABLE}")
    if known:
        yield from _narrowed_selector(after.get("nodeSelector") or {}, before.get("nodeSelector") or {})


def _keeps_tolerations(after: Sequence[Object], before: Sequence[Object]) -> bool:
    kept = [without(toleration, "tolerationSeconds") for toleration in after]
    return all(without(toleration, "tolerationSeconds") in kept for toleration in before)


def _fixed_part(spec: Object, *, gated: bool) -> Object:
    """The problems with an update of fixed fields; a gated pod may still narrow its node selection."""
    fixed = without(spec, *_FREE_FIELDS)
    for field in ("containers", "initContainers"):
        if fixed.get(field):
            fixed[field] = [without(container, "image") for container in fixed[field]]
    if gated:
        fixed = without(fixed, "nodeSelector")
        fixed["affinity"] = without(fixed.get("affinity") or {}, "nodeAffinity")
    return fixed


def _narrowed_selector(after: Object, before: Object) -> Iterator[InvalidField]:
    if not before.items() <= after.items():
        reason = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        yield InvalidField(INVALID, "spec.nodeSelector", reason, value=after)
