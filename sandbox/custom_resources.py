"""Custom resources: the kinds that their definitions declare, and the effect of the structural schema on objects.

A CustomResourceDefinition in the store is applied as by a real API server: fields, limits, merging and columns all come
from it. `kinds_of` is called when a definition is written; `pruned` and `validate` for every write of a custom
resource. Schemas may use types, formats, limits, patterns, enums, required fields, defaults, lists with keys and
`x-kubernetes-…` extensions; CEL rules and conversions are not carried out. The sentences are kube-apiserver's.
"""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import msgspec

from muster.sandbox.errors import (
    DUPLICATE,
    INVALID,
    NOT_SUPPORTED,
    REQUIRED,
    TOO_LONG,
    TOO_MANY,
    TYPE_INVALID,
    InvalidField,
)
from muster.sandbox.objects import Object, name_of
from muster.sandbox.registry import Definition, Kind

_TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
}
_TYPE_NAMES = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number"}
_RANGES = {"int32": range(-(2**31), 2**31), "int64": range(-(2**63), 2**63)}
_ALWAYS_KNOWN = ("apiVersion", "kind", "metadata")
_KEEPS_UNKNOWN = "x-kubernetes-preserve-unknown-fields"
_INT_OR_STRING = "x-kubernetes-int-or-string"


def kinds_of(definition: Object) -> list[Kind]:
    """The kinds that a definition serves: the stored version, and the others as views of it."""
    versions = [version for version in definition["spec"]["versions"] if version["served"] or version["storage"]]
    stored = _kind(definition, next(version for version in versions if version["storage"]), None)
    kinds = [
        stored if version["storage"] else _kind(definition, version, stored)
        for version in versions
        if version["served"]
    ]
    return sorted(kinds, key=lambda kind: kind is not stored)


def _kind(definition: Object, version: Object, stored: Kind | None) -> Kind:
    spec, names = definition["spec"], definition["spec"]["names"]
    schema = (version.get("schema") or {}).get("openAPIV3Schema") or {"type": "object", _KEEPS_UNKNOWN: True}
    return Kind(
        group=spec["group"],
        version=version["name"],
        resource=names["plural"],
        kind=names["kind"],
        singular_name=names.get("singular") or names["kind"].lower(),
        list_name=names.get("listKind") or f"{names['kind']}List",
        namespaced=spec["scope"] == "Namespaced",
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        subresources=("status",) if "status" in (version.get("subresources") or {}) else (),
        generation=True,
        unconditional_update=False,
        custom=Definition(
            schema=schema,
            printer_columns=version.get("additionalPrinterColumns") or [],
            list_keys=dict(_list_keys(schema, ())),
        ),
        view_of=stored,
    )


def _list_keys(node: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    if node.get("x-kubernetes-list-type") == "map":
        yield path, tuple(node["x-kubernetes-list-map-keys"])
    for name, child in (node.get("properties") or {}).items():
        yield from _list_keys(child, (*path, name))
    if "items" in node:
        yield from _list_keys(node["items"], path)


def begin_definition(definition: Object, now: str) -> Object:
    """A definition as the API shows it once it is served: its names accepted, and established."""
    spec = definition.get("spec") or {}
    given = spec.get("names") or {}
    name = given.get("kind") or ""
    names = {"singular": name.lower(), "listKind": f"{name}List"} | given
    accepted = {
        "NamesAccepted": ("NoConflicts", "no conflicts found"),
        "Established": ("InitialNamesAccepted", "the initial names have been accepted"),
    }
    conditions = [
        {"type": name, "status": "True", "reason": reason, "message": message, "lastTransitionTime": now}
        for name, (reason, message) in accepted.items()
    ]
    stored = [version["name"] for version in spec.get("versions") or () if version.get("storage")]
    status = {"acceptedNames": names, "storedVersions": stored, "conditions": conditions}
    return definition | {"spec": spec | {"names": names, "conversion": {"strategy": "None"}}, "status": status}


def validate_definition(definition: Object) -> Iterator[InvalidField]:
    """The problems with a definition that could not be served."""
    spec = definition.get("spec") or {}
    names = spec.get("names") or {}
    required = {"spec.group": spec.get("group"), "spec.scope": spec.get("scope"), "spec.versions": spec.get("versions")}
    required |= {f"spec.names.{field}": names.get(field) for field in ("plural", "kind")}
    yield from (InvalidField(REQUIRED, path) for path, value in required.items() if not value)
    if spec.get("scope") not in (None, "Namespaced", "Cluster"):
        supported = 'supported values: "Cluster", "Namespaced"'
        yield InvalidField(NOT_SUPPORTED, "spec.scope", supported, value=spec["scope"])
    if sum(bool(version.get("storage")) for version in spec.get("versions") or ()) != 1:
        reason = "must have exactly one version marked as storage version"
        yield InvalidField(INVALID, "spec.versions", reason, value=spec.get("versions") or [])
    for index, version in enumerate(spec.get("versions") or ()):
        if not (version.get("schema") or {}).get("openAPIV3Schema"):
            yield InvalidField(REQUIRED, f"spec.versions[{index}].schema.openAPIV3Schema", "schemas are required")
    wanted = f"{names.get('plural')}.{spec.get('group')}"
    if name_of(definition) != wanted:
        yield InvalidField(
            INVALID, "metadata.name", 'must be spec.names.plural+"."+spec.group', value=name_of(definition)
        )


def pruned(schema: Object, obj: Object, unknown: list[str]) -> Object:
    """An object without the fields that its schema does not name; their paths are added to `unknown`.

    Type, kind and metadata are not the schema's concern.
    """
    kept = {key: obj[key] for key in _ALWAYS_KNOWN if key in obj}
    rest = {key: value for key, value in obj.items() if key not in _ALWAYS_KNOWN}
    shown: Object = _pruned(schema, rest, "", unknown)
    return kept | shown


def _pruned(schema: Object, value: Any, path: str, unknown: list[str]) -> Any:
    if isinstance(value, dict) and ("properties" in schema or "additionalProperties" not in schema):
        properties = schema.get("properties") or {}
        shown = {}
        for key, item in value.items():
            inner = f"{path}.{key}" if path else key
            if key in properties:
                shown[key] = _pruned(properties[key], item, inner, unknown)
            elif schema.get(_KEEPS_UNKNOWN):
                shown[key] = item
            else:
                unknown.append(inner)
        return shown
    if isinstance(value, dict):
        others = schema["additionalProperties"]
        others = others if isinstance(others, dict) else {_KEEPS_UNKNOWN: True}
        return {key: _pruned(others, item, f"{path}.{key}", unknown) for key, item in value.items()}
    if isinstance(value, list) and "items" in schema:
        return [_pruned(schema["items"], item, f"{path}[{index}]", unknown) for index, item in enumerate(value)]
    if isinstance(value, float) and schema.get("type") == "integer" and value.is_integer():
        return int(value)
    return value


def completed(schema: Object, value: Any) -> Any:
    """An object, or a part of one, with the defaults of its schema."""
    if isinstance(value, dict):
        properties = schema.get("properties") or {}
        others = schema.get("additionalProperties")
        whole = {key: child["default"] for key, child in properties.items() if "default" in child} | {
            key: item
            for key, item in value.items()
            if item is not None or properties.get(key, {}).get("nullable", "default" not in properties.get(key, {}))
        }
        inner = others if isinstance(others, dict) else {}
        return {key: completed(properties.get(key, inner), item) for key, item in whole.items()}
    if isinstance(value, list):
        return [completed(schema.get("items") or {}, item) for item in value]
    return value


def validate(schema: Object, obj: Object) -> Iterator[InvalidField]:
    """The values that the schema refuses.

    A message names fields of the status by their path inside of it, as the status is checked by itself.
    """
    for name, child in (schema.get("properties") or {}).items():
        if name in obj and name not in _ALWAYS_KNOWN:
            yield from _value(child, obj[name], name, "" if name == "status" else name)


def _value(schema: Object, value: Any, path: str, shown: str) -> Iterator[InvalidField]:
    if value is None and schema.get("nullable"):
        return
    if schema.get(_INT_OR_STRING):
        if not isinstance(value, int | str) or isinstance(value, bool):
            yield _wrong_type(value, "integer,string", path, shown)
        else:
            yield from _scalar(schema, value, path, shown)
        return
    wanted = schema.get("type", "")
    if wanted and (not isinstance(value, _TYPES[wanted]) or (isinstance(value, bool) and wanted != "boolean")):
        yield _wrong_type(value, wanted, path, shown)
    elif isinstance(value, dict):
        yield from _map(schema, value, path, shown)
    elif isinstance(value, list):
        yield from _list(schema, value, path, shown)
    else:
        yield from _scalar(schema, value, path, shown)


def _map(schema: Object, value: Object, path: str, shown: str) -> Iterator[InvalidField]:
    for name in schema.get("required") or ():
        if name not in value:
            yield InvalidField(REQUIRED, f"{path}.{name}")
    others = schema.get("additionalProperties")
    for name, item in value.items():
        child = (schema.get("properties") or {}).get(name) or (others if isinstance(others, dict) else None)
        if child:
            yield from _value(child, item, f"{path}.{name}", f"{shown}.{name}".lstrip("."))


def _list(schema: Object, value: list[Any], path: str, shown: str) -> Iterator[InvalidField]:
    if len(value) < schema.get("minItems", 0):
        yield InvalidField(
            INVALID, path, f"{shown} in body should have at least {schema['minItems']} items", value=len(value)
        )
    if len(value) > schema.get("maxItems", len(value)):
        reason = f"must have at most {schema['maxItems']} items"
        yield InvalidField(TOO_MANY, path, reason, value=len(value))
    keys = schema.get("x-kubernetes-list-map-keys") or ()
    seen: list[Object] = []
    for index, item in enumerate(value):
        yield from _value(schema.get("items") or {}, item, f"{path}[{index}]", f"{shown}[{index}]")
        if keys and isinstance(item, dict):
            identity = {key: item.get(key) for key in keys}
            if identity in seen:
                yield InvalidField(DUPLICATE, f"{path}[{index}]", value=identity)
            seen.append(identity)


def _scalar(schema: Object, value: Any, path: str, shown: str) -> Iterator[InvalidField]:
    if "enum" in schema and value not in schema["enum"]:
        names = ", ".join(msgspec.json.encode(known).decode() for known in schema["enum"])
        yield InvalidField(NOT_SUPPORTED, path, f"supported values: {names}", value=value)
    if isinstance(value, str):
        yield from _text(schema, value, path, shown)
        return
    if (format := schema.get("format")) in _RANGES and value not in _RANGES[format]:
        reason = f"Checked value must be of type integer with format {format} in {shown}"
        yield InvalidField(INVALID, "<nil>", reason, value="")
    elif "minimum" in schema and value < schema["minimum"]:
        reason = f"{shown} in body should be greater than or equal to {schema['minimum']}"
        yield InvalidField(INVALID, path, reason, value=value)
    elif "maximum" in schema and value > schema["maximum"]:
        reason = f"{shown} in body should be less than or equal to {schema['maximum']}"
        yield InvalidField(INVALID, path, reason, value=value)


def _text(schema: Object, value: str, path: str, shown: str) -> Iterator[InvalidField]:
    if len(value) < schema.get("minLength", 0):
        reason = f"{shown} in body should be at least {schema['minLength']} chars long"
        yield InvalidField(INVALID, path, reason, value=value)
    if len(value) > schema.get("maxLength", len(value)):
        yield InvalidField(TOO_LONG, path, f"may not be more than {schema['maxLength']} bytes", value=value)
    if "pattern" in schema and not re.search(schema["pattern"], value):
        yield InvalidField(INVALID, path, f"{shown} in body should match '{schema['pattern']}'", value=value)
    if schema.get("format") == "date-time" and not _is_time(value):
        reason = f"{shown} in body must be of type date-time: {msgspec.json.encode(value).decode()}"
        yield InvalidField(TYPE_INVALID, path, reason, value=value)


def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _wrong_type(value: Any, expected: str, path: str, shown: str) -> InvalidField:
    name = _TYPE_NAMES.get(type(value), "null")
    return InvalidField(TYPE_INVALID, path, f'{shown} in body must be of type {expected}: "{name}"', value=name)
