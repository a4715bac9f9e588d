"""Pod specs as they stand in pods and in the templates of workloads: the defaults both get, and what is refused."""

from collections.abc import Iterator, Sequence

from muster.sandbox.errors import DUPLICATE, INVALID, NOT_SUPPORTED, REQUIRED, InvalidField
from muster.sandbox.objects import Object, with_defaults, without_empty_texts
from muster.sandbox.rules import resources, syntax

_SPEC_DEFAULTS: Object = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "securityContext": {},
    "schedulerName": "default-scheduler",
}
_CONTAINER_DEFAULTS: Object = {
    "resources": {},
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
_RESTART_POLICIES = ("Always", "OnFailure", "Never")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def complete(spec: Object) -> Object:
    """A spec with the defaults that kube-apiserver fills in for pods and templates alike."""
    completed = with_defaults(spec, _SPEC_DEFAULTS)
    for field in ("containers", "initContainers"):
        if completed.get(field):
            completed[field] = [_complete_container(container) for container in completed[field]]
    if spec.get("tolerations"):
        completed["tolerations"] = [without_empty_texts(toleration) for toleration in spec["tolerations"]]
    if spec.get("serviceAccountName"):
        completed["serviceAccount"] = spec["serviceAccountName"]
    return completed


def _complete_container(container: Object) -> Object:
    image = container.get("image") or ""
    tag = image.rpartition("/")[2].partition("@")[0].partition(":")[2]
    latest = "@" not in image and tag in ("", "latest")
    completed = with_defaults(
        container, _CONTAINER_DEFAULTS | {"imagePullPolicy": "Always" if latest else "IfNotPresent"}
    )
    if container.get("ports"):
        completed["ports"] = [with_defaults(port, {"protocol": "TCP"}) for port in container["ports"]]
    return completed


def validate(spec: Object, path: str) -> Iterator[InvalidField]:
    """The problems with a completed spec at `path`."""
    containers = spec.get("containers") or []
    if not containers:
        yield InvalidField(REQUIRED, f"{path}.containers")
    names: set[str] = set()
    for field in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(field) or ()):
            yield from _container(container, f"{path}.{field}[{index}]", names)
    if spec.get("overhead"):
        yield from resources.validate_requirements({"limits": spec["overhead"]}, f"{path}.overhead")
    if spec["restartPolicy"] not in _RESTART_POLICIES:
        yield _unsupported(f"{path}.restartPolicy", spec["restartPolicy"], _RESTART_POLICIES)
    for index, toleration in enumerate(spec.get("tolerations") or ()):
        yield from _toleration(toleration, f"{path}.tolerations[{index}]")
    yield from _gates(spec.get("schedulingGates") or (), f"{path}.schedulingGates")
    if spec.get("nodeName"):
        for reason in syntax.dns_subdomain(spec["nodeName"]):
            yield InvalidField(INVALID, f"{path}.nodeName", reason, value=spec["nodeName"])


def _container(container: Object, path: str, names: set[str]) -> Iterator[InvalidField]:
    name = container.get("name") or ""
    if not name:
        yield InvalidField(REQUIRED, f"{path}.name")
    else:
        for reason in syntax.dns_label(name):
            yield InvalidField(INVALID, f"{path}.name", reason, value=name)
        if name in names:
            yield InvalidField(DUPLICATE, f"{path}.name", value=name)
        names.add(name)
    if not container.get("image"):
        yield InvalidField(REQUIRED, f"{path}.image")
    yield from resources.validate_requirements(container["resources"], f"{path}.resources")


def _toleration(toleration: Object, path: str) -> Iterator[InvalidField]:
    operator, effect = toleration.get("operator") or "Equal", toleration.get("effect") or ""
    if not toleration.get("key") and operator != "Exists":
        reason = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        yield InvalidField(INVALID, f"{path}.operator", reason, value=toleration.get("operator") or "")
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        reason = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        yield InvalidField(INVALID, f"{path}.effect", reason, value=effect)
    if operator == "Exists" and toleration.get("value"):
        reason = "value must be empty when `operator` is 'Exists'"
        yield InvalidField(INVALID, f"{path}.operator", reason, value=toleration["value"])
    if operator not in ("Equal", "Exists"):
        yield _unsupported(f"{path}.operator", operator, ("Equal", "Exists"))
    if effect and effect not in _EFFECTS:
        yield _unsupported(f"{path}.effect", effect, _EFFECTS)


def _gates(gates: Sequence[Object], path: str) -> Iterator[InvalidField]:
    seen: set[str] = set()
    for index, gate in enumerate(gates):
        for reason in syntax.qualified_name(gate["name"]):
            yield InvalidField(INVALID, f"{path}[{index}]", reason, value=gate["name"])
        if gate["name"] in seen:
            yield InvalidField(DUPLICATE, f"{path}[{index}]", value=gate["name"])
        seen.add(gate["name"])


def _unsupported(path: str, value: str, supported: tuple[str, ...]) -> InvalidField:
    names = ", ".join(f'"{name}"' for name in supported)
    return InvalidField(NOT_SUPPORTED, path, f"supported values: {names}", value=value)
