"""Operations on Kubernetes objects as plain JSON values.

Objects in the store are shared by the log, by watchers and by in-process readers, so no code changes one in place: a
changed object is a new dictionary that shares the unchanged parts.
"""

from collections.abc import Iterable
from typing import Any

from muster.sandbox.registry import Kind

Object = dict[str, Any]
"""A Kubernetes object, or a part of one, as decoded JSON."""


def get_in(value: Any, path: Iterable[str]) -> Any:
    """The value at a path of keys, or None where a step of it is missing."""
    for step in path:
        if not isinstance(value, dict):
            return None
        value = value.get(step)
    return value


def without(value: Object, *keys: str) -> Object:
    """A copy of a dictionary that lacks `keys`."""
    return {key: item for key, item in value.items() if key not in keys}


def with_defaults(value: Object | None, defaults: Object) -> Object:
    """A copy of `value` with the missing (or null) keys filled in from `defaults`."""
    copy = dict(value or {})
    copy.update({key: default for key, default in defaults.items() if copy.get(key) is None})
    return copy


def without_empty_texts(value: Object) -> Object:
    """A copy of a dictionary that lacks the keys whose value is an empty text."""
    return {key: item for key, item in value.items() if item != ""}


def metadata(obj: Object) -> Object:
    """The metadata of an object, empty where it has none."""
    return obj.get("metadata") or {}


def with_metadata(obj: Object, **changes: Any) -> Object:
    """A copy of an object with some metadata fields set, or removed where the new value is None."""
    fields = metadata(obj) | changes
    return obj | {"metadata": {key: value for key, value in fields.items() if value is not None}}


def name_of(obj: Object) -> str:
    """`metadata.name`, or an empty text."""
    return metadata(obj).get("name") or ""


def namespace_of(obj: Object) -> str:
    """`metadata.namespace`, or an empty text."""
    return metadata(obj).get("namespace") or ""


def set_condition(conditions: list[Object] | None, condition: Object) -> list[Object]:
    """A copy of a list of conditions in which `condition` takes the place of the one of its type, or comes last.

    `lastTransitionTime` stays that of the old one as long as the status does not change.
    """
    old = next((item for item in conditions or [] if item["type"] == condition["type"]), None)
    if old is None:
        return [*(conditions or []), condition]
    if old.get("status") == condition["status"] and "lastTransitionTime" in old:
        condition = condition | {"lastTransitionTime": old["lastTransitionTime"]}
    return [condition if item is old else item for item in conditions or []]


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
