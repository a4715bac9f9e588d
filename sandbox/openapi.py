"""OpenAPI documents, as small as `kubectl apply` can live with.

kubectl reads them to learn whether the server validates fields itself (then it leaves that to the server) and how to
merge. No schema is given beyond the types of the objects: without one kubectl merges built-in kinds by its own
knowledge and custom ones by JSON merge, which is what is wanted here.
"""

from muster.sandbox.discovery import documented, folder, item_path
from muster.sandbox.objects import Object
from muster.sandbox.registry import Kind, Registry

V2_ACCEPTED = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
V2_PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
"""What clients ask for, and what they have to be answered: the one with the `@` is no valid media type."""

_QUERY = ("dryRun", "fieldManager", "fieldValidation")
_VERBS = {"get": "get", "put": "update", "patch": "patch", "delete": "delete"}


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
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "v1.37.1"},
        "paths": {item_path(kind): _operations(kind) for kind in described},
        "components": {"schemas": {_schema_name(kind): _schema(kind) for kind in described}},
    }


def v2() -> Object:
    """`/openapi/v2`: nothing. kubectl turns to it for a `v1.List`, and checks nothing that it does not find."""
    return {"swagger": "2.0", "info": {"title": "Kubernetes", "version": "v1.37.1"}, "paths": {}, "definitions": {}}


def v2_protobuf() -> bytes:
    """The same as a protobuf message, which is the only form that kubectl reads: field 1 is the swagger version."""
    return b"\x0a\x032.0"


def _operations(kind: Kind) -> Object:
    parameters = [{"name": name, "in": "query", "schema": {"type": "string"}} for name in _QUERY]
    return {
        method: {"x-kubernetes-group-version-kind": _gvk(kind), "parameters": parameters, "responses": {}}
        for method, verb in _VERBS.items()
        if verb in kind.verbs
    }


def _schema(kind: Kind) -> Object:
    return {
        "type": "object",
        "x-kubernetes-group-version-kind": [_gvk(kind)],
        "x-kubernetes-preserve-unknown-fields": True,
    }


def _gvk(kind: Kind) -> Object:
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def _schema_name(kind: Kind) -> str:
    return f"{kind.group or 'core'}.{kind.version}.{kind.kind}"
