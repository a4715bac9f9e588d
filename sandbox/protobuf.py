"""Reading the few protobuf bodies that kubectl sends.

Since 1.32 the subcommands of kubectl that build objects themselves (`create namespace`, `drain` and the like) send them
as protobuf and take no other answer than that the server understands it. The messages that make sense here are spelled
out below by their field numbers; answers are JSON, which every client takes. Whatever is not in the table is refused
with 415, as all of protobuf is by servers that do not know it.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from muster.sandbox.errors import bad_request, unsupported_media_type
from muster.sandbox.objects import Object

CONTENT_TYPE = "application/vnd.kubernetes.protobuf"

_MAGIC = b"k8s\0"
_JSON_TYPES = ("application/json", "application/yaml")
_INSTEAD = "use kubectl create ... --dry-run=client -o yaml | kubectl apply -f -"
_TEXT, _INT, _BOOL, _MAP = "text", "int", "bool", "map"
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5

_Message = Mapping[int, tuple[str, str]]
"""Field numbers with the JSON name and the type of each field: a scalar or map from above, or a message by its name. A
name in brackets is that of a repeated field."""

_METADATA: _Message = {
    1: ("name", _TEXT),
    2: ("generateName", _TEXT),
    3: ("namespace", _TEXT),
    5: ("uid", _TEXT),
    6: ("resourceVersion", _TEXT),
    11: ("labels", _MAP),
    12: ("annotations", _MAP),
    13: ("[ownerReferences]", "OwnerReference"),
    14: ("[finalizers]", _TEXT),
}
_MESSAGES: dict[str, _Message] = {
    "TypeMeta": {1: ("apiVersion", _TEXT), 2: ("kind", _TEXT)},
    "ObjectMeta": _METADATA,
    "OwnerReference": {
        1: ("kind", _TEXT),
        3: ("name", _TEXT),
        4: ("uid", _TEXT),
        5: ("apiVersion", _TEXT),
        6: ("controller", _BOOL),
        7: ("blockOwnerDeletion", _BOOL),
    },
    "LabelSelector": {1: ("matchLabels", _MAP), 2: ("[matchExpressions]", "LabelSelectorRequirement")},
    "LabelSelectorRequirement": {1: ("key", _TEXT), 2: ("operator", _TEXT), 3: ("[values]", _TEXT)},
    "IntOrString": {1: ("type", _INT), 2: ("intVal", _INT), 3: ("strVal", _TEXT)},
    "Preconditions": {1: ("uid", _TEXT), 2: ("resourceVersion", _TEXT)},
    "PodDisruptionBudgetSpec": {
        1: ("minAvailable", "IntOrString"),
        2: ("selector", "LabelSelector"),
        3: ("maxUnavailable", "IntOrString"),
        4: ("unhealthyPodEvictionPolicy", _TEXT),
    },
    "DeleteOptions": {
        1: ("gracePeriodSeconds", _INT),
        2: ("preconditions", "Preconditions"),
        4: ("propagationPolicy", _TEXT),
        5: ("[dryRun]", _TEXT),
    },
    "DeploymentSpec": {
        1: ("replicas", _INT),
        2: ("selector", "LabelSelector"),
        3: ("template", "PodTemplateSpec"),
        4: ("strategy", "DeploymentStrategy"),
        5: ("minReadySeconds", _INT),
        6: ("revisionHistoryLimit", _INT),
        7: ("paused", _BOOL),
        9: ("progressDeadlineSeconds", _INT),
    },
    "DeploymentStrategy": {1: ("type", _TEXT)},
    "JobSpec": {
        1: ("parallelism", _INT),
        2: ("completions", _INT),
        3: ("activeDeadlineSeconds", _INT),
        6: ("template", "PodTemplateSpec"),
        7: ("backoffLimit", _INT),
    },
    "PodTemplateSpec": {1: ("metadata", "ObjectMeta"), 2: ("spec", "PodSpec")},
    "PodSpec": {2: ("[containers]", "Container"), 3: ("restartPolicy", _TEXT), 19: ("schedulerName", _TEXT)},
    "Container": {
        1: ("name", _TEXT),
        2: ("image", _TEXT),
        3: ("[command]", _TEXT),
        4: ("[args]", _TEXT),
        6: ("[ports]", "ContainerPort"),
        14: ("imagePullPolicy", _TEXT),
    },
    "ContainerPort": {1: ("name", _TEXT), 3: ("containerPort", _INT), 4: ("protocol", _TEXT)},
    "ServiceSpec": {
        1: ("[ports]", "ServicePort"),
        2: ("selector", _MAP),
        3: ("clusterIP", _TEXT),
        4: ("type", _TEXT),
        10: ("externalName", _TEXT),
    },
    "ServicePort": {
        1: ("name", _TEXT),
        2: ("protocol", _TEXT),
        3: ("port", _INT),
        4: ("targetPort", "IntOrString"),
        5: ("nodePort", _INT),
    },
    "Deployment": {1: ("metadata", "ObjectMeta"), 2: ("spec", "DeploymentSpec")},
    "Job": {1: ("metadata", "ObjectMeta"), 2: ("spec", "JobSpec")},
    "Service": {1: ("metadata", "ObjectMeta"), 2: ("spec", "ServiceSpec")},
    "Namespace": {1: ("metadata", "ObjectMeta")},
    "ServiceAccount": {1: ("metadata", "ObjectMeta")},
    "ConfigMap": {1: ("metadata", "ObjectMeta"), 2: ("data", _MAP)},
    "SelfSubjectAccessReview": {1: ("metadata", "ObjectMeta")},
    "Eviction": {1: ("metadata", "ObjectMeta"), 2: ("deleteOptions", "DeleteOptions")},
    "PodDisruptionBudget": {1: ("metadata", "ObjectMeta"), 2: ("spec", "PodDisruptionBudgetSpec")},
    "PriorityClass": {
        1: ("metadata", "ObjectMeta"),
        2: ("value", _INT),
        3: ("globalDefault", _BOOL),
        4: ("description", _TEXT),
        5: ("preemptionPolicy", _TEXT),
    },
}
_ROOTS = (
    *("Namespace", "ServiceAccount", "ConfigMap", "PriorityClass", "Deployment", "Job", "Service"),
    *("PodDisruptionBudget", "Eviction", "DeleteOptions", "SelfSubjectAccessReview"),
)


def decode(data: bytes) -> Object:
    """The object in a protobuf body; 415 for an unknown kind, 400 for a broken body."""
    if not data.startswith(_MAGIC):
        raise bad_request("the request body does not start as a Kubernetes protobuf message does")
    try:
        envelope = dict(_fields(data[len(_MAGIC) :]))
        typed = _message("TypeMeta", envelope[1])
        if typed["kind"] not in _ROOTS:
            hint = f"a {typed['kind']} is not read as protobuf here: {_INSTEAD}"
            raise unsupported_media_type(_JSON_TYPES, hint)
        return typed | _message(typed["kind"], envelope.get(2, b""))
    except (IndexError, KeyError, TypeError, UnicodeDecodeError) as error:
        raise bad_request("the request body is no readable protobuf message") from error


def _message(name: str, data: bytes) -> Object:
    """A message as JSON; empty texts are left out, as they mean that a field is not set."""
    obj: Object = {}
    for number, raw in _fields(data):
        field, kind = _MESSAGES[name].get(number, ("", ""))
        if not field:
            continue
        if kind == _MAP:
            entry = dict(_fields(raw))
            obj.setdefault(field, {})[_text(entry.get(1, b""))] = _text(entry.get(2, b""))
        elif field.startswith("["):
            obj.setdefault(field.strip("[]"), []).append(_value(kind, raw))
        elif (value := _value(kind, raw)) != "":
            obj[field] = value
    return obj


def _value(kind: str, raw: Any) -> Any:
    match kind:
        case "text":
            return _text(raw)
        case "int":
            return raw - (1 << 64) if raw >= 1 << 63 else raw
        case "bool":
            return bool(raw)
        case "IntOrString":
            either = _message(kind, raw)
            return either.get("strVal", "") if either.get("type") else either.get("intVal", 0)
        case _:
            return _message(kind, raw)


def _text(raw: bytes) -> str:
    return raw.decode()


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """The numbers and raw values of all fields: integers for varints, bytes for the rest."""
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        number, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value, position = _varint(data, position)
            yield number, value
            continue
        length = {_FIXED64: 8, _FIXED32: 4}.get(wire)
        if wire == _BYTES:
            length, position = _varint(data, position)
        if length is None or position + length > len(data):
            raise IndexError("a field reaches beyond the message")
        yield number, data[position : position + length]
        position += length


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        value |= (byte & 0x7F) << shift
        position, shift = position + 1, shift + 7
        if byte < 0x80:
            return value, position
