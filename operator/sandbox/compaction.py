"""Leaving out what is empty, as kube-apiserver's own encoding of objects does.

A field that is set to nothing and a field that is not set are the same to Kubernetes, so they are stored the same; else
a client that sends the one where another sent the other would change objects without changing anything.
"""

from typing import Any

from muster.operator.sandbox.kinds import Kind
from muster.operator.sandbox.objects import Object

_REQUIRED_LISTS = ("containers", "nodeSelectorTerms")
_OPTIONAL_MAPS = (
    *("labels", "annotations", "nodeSelector", "matchLabels"),
    *("limits", "requests", "capacity", "allocatable"),
)


def compact(kind: Kind, obj: Object) -> Object:
    """A copy of an object without nulls, empty lists and empty maps of texts.

    An empty map that means something, such as a selector of everything, stays. Of custom resources, whose fields this
    server does not know, only the metadata is compacted.
    """
    if not kind.custom:
        return _compact_map(obj)
    return {key: _compact_map(value) if key == "metadata" else _without_nulls(value) for key, value in obj.items()}


def _compact_map(value: Object) -> Object:
    compacted = {}
    for key, item in value.items():
        new = _compact(key, item)
        if new is not None:
            compacted[key] = new
    return compacted


def _compact(key: str, value: Any) -> Any:
    if isinstance(value, dict):
        return (_compact_map(value) or None) if key in _OPTIONAL_MAPS else _compact_map(value)
    if isinstance(value, list):
        if not value and key not in _REQUIRED_LISTS:
            return None
        return [_compact_map(item) if isinstance(item, dict) else item for item in value]
    return value


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value
