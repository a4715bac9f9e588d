"""OpenAPI documents: for `kubectl explain`, and for kubectl to learn how lists merge and that the server validates.

Built-in kinds are described from `schema`, with the names and types of all fields and how they merge, but without a
word on what they mean; custom resources as their definitions describe them.
"""

from collections.abc import Iterable

from muster.sandbox.discovery import documented, folder, item_path
from muster.sandbox.objects import Object, without
from muster.sandbox.registry import Kind, Registry
from muster.sandbox.schema import LIST, MAP, Struct, Type, struct, struct_of

V2_ACCEPTED = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
V2_PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
"""What clients ask for, and what they have to be answered: the one with the `@` is no valid media type."""

_QUERY = ("dryRun", "fieldManager", "fieldValidation")
_VERBS = {"get": "get", "put": "update", "patch": "patch", "delete": "delete"}
_REFERENCE = "#/components/schemas/"
_METADATA = "meta.v1.ObjectMeta"
_SCALARS: dict[str, Object] = {
    "string": {"type": "string"},
    "bool": {"type": "boolean"},
    "int32": {"type": "integer", "format": "int32"},
    "int64": {"type": "integer", "format": "int64"},
    "double": {"type": "number", "format": "double"},
    "bytes": {"type": "string", "format": "byte"},
    "time": {"type": "string", "format": "date-time"},
    "quantity": {"type": "string"},
    "int-or-string": {"type": "string", "format": "int-or-string"},
    "any": {"type": "object"},
}


def index(kinds: Registry) -> Object:
    """`/openapi/v3`: where the documents of the groups are."""
    served = [_document_path(group, version) for group, version in kinds.group_versions()]
    return {"paths": {path: {"serverRelativeURL": f"/openapi/v3/{path}?hash=sandbox"} for path in served}}


def _document_path(group: str, version: str) -> str:
    return f"apis/{group}/{version}" if group else f"api/{version}"


def document(kinds: Registry, path: str) -> Object | None:
    """`/openapi/v3/{path}`: the document of one group and version, or None where nothing is served there."""
    described = [kind for kind in documented(kinds) if folder(kind) == f"/{path}"]
    if not described:
        return None
    schemas = _structs([_METADATA, *(known.name for kind in described if (known := struct_of(kind)))])
    for kind in described:
        schemas[_schema_name(kind)] = _schema(kind)
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "v1.37.1"},
        "paths": {item_path(kind): _operations(kind) for kind in described},
        "components": {"schemas": schemas},
    }


def v2() -> Object:
    """`/openapi/v2`: nothing. kubectl turns to it for a `v1.List`, and checks nothing that it does not find."""
    return {"swagger": "2.0", "info": {"title": "Kubernetes", "version": "v1.37.1"}, "paths": {}, "definitions": {}}


def v2_protobuf() -> bytes:
    """`/openapi/v2` as a protobuf message, the only form that kubectl reads: field 1 is the swagger version."""
    return b"\x0a\x032.0"


def _operations(kind: Kind) -> Object:
    parameters = [{"name": name, "in": "query", "schema": {"type": "string"}} for name in _QUERY]
    return {
        method: {"x-kubernetes-group-version-kind": _gvk(kind), "parameters": parameters, "responses": {}}
        for method, verb in _VERBS.items()
        if verb in kind.verbs
    }


def _schema(kind: Kind) -> Object:
    """The schema of the objects of a kind."""
    named = {"x-kubernetes-group-version-kind": [_gvk(kind)]}
    if kind.custom is None:
        known = struct_of(kind)
        return (_struct(known) if known else {"type": "object"}) | named
    schema = kind.custom.schema
    typed = {"apiVersion": _SCALARS["string"], "kind": _SCALARS["string"], "metadata": _typed(Type(_METADATA))}
    return schema | {"properties": typed | without(schema.get("properties") or {}, "metadata")} | named


def _structs(roots: Iterable[str]) -> Object:
    """The schemas of some structs and of all that they are made of."""
    schemas: Object = {}
    todo = list(roots)
    while todo:
        name = todo.pop()
        known = struct(name)
        if known is not None and name not in schemas:
            schemas[name] = _struct(known)
            todo += [_innermost(field).name for field in known.fields.values()]
    return schemas


def _innermost(field: Type) -> Type:
    return _innermost(field.item) if field.item else field


def _struct(known: Struct) -> Object:
    schema: Object = {
        "type": "object",
        "properties": {name: _typed(field) for name, field in known.fields.items()},
    }
    return schema | {"x-kubernetes-map-type": "atomic"} if known.atomic else schema


def _typed(field: Type) -> Object:
    """The schema of a field, with how it merges."""
    if field.name == LIST and field.item:
        schema: Object = {"type": "array", "items": _typed(field.item)}
    elif field.name == MAP and field.item:
        schema = {"type": "object", "additionalProperties": _typed(field.item)}
    elif field.name in _SCALARS:
        schema = dict(_SCALARS[field.name])
    else:
        schema = {"allOf": [{"$ref": f"{_REFERENCE}{field.name}"}]}
    strategy = [
        name
        for name, holds in (
            ("merge", field.merges),
            ("replace", field.replaced),
            ("retainKeys", field.retains_keys),
        )
        if holds
    ]
    if strategy:
        schema["x-kubernetes-patch-strategy"] = ",".join(strategy)
    if field.merge_key:
        schema["x-kubernetes-patch-merge-key"] = field.merge_key
    if field.keys or field.is_set:
        schema["x-kubernetes-list-type"] = "map" if field.keys else "set"
    if field.keys:
        schema["x-kubernetes-list-map-keys"] = list(field.keys)
    return schema


def _gvk(kind: Kind) -> Object:
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def _schema_name(kind: Kind) -> str:
    known = struct_of(kind)
    return known.name if known else f"{kind.group}.{kind.version}.{kind.kind}"
