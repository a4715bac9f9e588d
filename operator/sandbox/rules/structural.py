"""Objects of custom resources against the structural schema of their definition: what is dropped, what is refused.

Only what Muster's definitions use is known here: types, formats, minimum, pattern, required fields, lists with keys and
`x-kubernetes-int-or-string`. The sentences are kube-apiserver's.
"""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import msgspec

from muster.operator.sandbox.errors import DUPLICATE, INVALID, REQUIRED, TYPE_INVALID, FieldError
from muster.operator.sandbox.objects import Object

_TYPES: dict[str, type | tuple[type, ...]] = {"object": dict, "array": list, "string": str, "integer": int}
_TYPE_NAMES = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number"}
_INT32 = range(-(2**31), 2**31)
_METADATA = "metadata"


def pruned(schema: Object, obj: Object) -> Object:
    """An object without the fields that its schema does not name; the metadata is not the schema's concern."""
    shown: Object = _pruned(schema, obj)
    return shown | {_METADATA: obj[_METADATA]} if _METADATA in obj else shown


def _pruned(schema: Object, value: Any) -> Any:
    if isinstance(value, dict) and "properties" in schema:
        properties = schema["properties"]
        return {key: _pruned(properties[key], item) for key, item in value.items() if key in properties}
    if isinstance(value, dict) and "additionalProperties" in schema:
        return {key: _pruned(schema["additionalProperties"], item) for key, item in value.items()}
    if isinstance(value, list) and "items" in schema:
        return [_pruned(schema["items"], item) for item in value]
    if isinstance(value, float) and schema.get("type") == "integer" and value.is_integer():
        return int(value)
    return value


def validate(schema: Object, obj: Object) -> Iterator[FieldError]:
    """What the schema refuses. A message names fields of the status by their path inside of it, as the status is
    checked by itself."""
    for name, child in schema["properties"].items():
        if name in obj and name != _METADATA:
            yield from _value(child, obj[name], name, "" if name == "status" else name)


def _value(schema: Object, value: Any, path: str, shown: str) -> Iterator[FieldError]:
    if schema.get("x-kubernetes-int-or-string"):
        yield from _scalar(schema | {"type": "string"} if isinstance(value, str) else schema, value, path, shown)
        return
    expected = _TYPES[schema["type"]]
    if not isinstance(value, expected) or isinstance(value, bool):
        yield _wrong_type(value, schema["type"], path, shown)
    elif isinstance(value, dict):
        yield from _map(schema, value, path, shown)
    elif isinstance(value, list):
        yield from _list(schema, value, path, shown)
    else:
        yield from _scalar(schema, value, path, shown)


def _map(schema: Object, value: Object, path: str, shown: str) -> Iterator[FieldError]:
    for name in schema.get("required") or ():
        if name not in value:
            yield FieldError(REQUIRED, f"{path}.{name}")
    for name, item in value.items():
        child = (schema.get("properties") or {}).get(name) or schema.get("additionalProperties")
        if child:
            yield from _value(child, item, f"{path}.{name}", f"{shown}.{name}".lstrip("."))


def _list(schema: Object, value: list[Any], path: str, shown: str) -> Iterator[FieldError]:
    keys = schema.get("x-kubernetes-list-map-keys") or ()
    seen: list[Object] = []
    for index, item in enumerate(value):
        yield from _value(schema["items"], item, f"{path}[{index}]", f"{shown}[{index}]")
        if keys and isinstance(item, dict):
            identity = {key: item.get(key) for key in keys}
            if identity in seen:
                yield FieldError(DUPLICATE, f"{path}[{index}]", value=identity)
            seen.append(identity)


def _scalar(schema: Object, value: Any, path: str, shown: str) -> Iterator[FieldError]:
    if schema.get("x-kubernetes-int-or-string") and (not isinstance(value, int | str) or isinstance(value, bool)):
        yield _wrong_type(value, "integer,string", path, shown)
    if schema.get("format") == "int32" and value not in _INT32:
        reason = f"Checked value must be of type integer with format int32 in {shown}"
        yield FieldError(INVALID, "<nil>", reason, value="")
    elif "minimum" in schema and value < schema["minimum"]:
        reason = f"{shown} in body should be greater than or equal to {schema['minimum']}"
        yield FieldError(INVALID, path, reason, value=value)
    if isinstance(value, str) and "pattern" in schema and not re.search(schema["pattern"], value):
        yield FieldError(INVALID, path, f"{shown} in body should match '{schema['pattern']}'", value=value)
    if schema.get("format") == "date-time" and not _is_time(value):
        reason = f"{shown} in body must be of type date-time: {msgspec.json.encode(value).decode()}"
        yield FieldError(TYPE_INVALID, path, reason, value=value)


def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _wrong_type(value: Any, expected: str, path: str, shown: str) -> FieldError:
    name = _TYPE_NAMES.get(type(value), "null")
    return FieldError(TYPE_INVALID, path, f'{shown} in body must be of type {expected}: "{name}"', value=name)
