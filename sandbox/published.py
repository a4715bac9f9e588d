"""Makes `schema.json`: the part of kube-apiserver's published OpenAPI document that the sandbox keeps.

A test compares the file with the document of a real API server. To make it again, for another version of Kubernetes or
after a kind was added, run in the repository's root, with a document that describes all groups:

    python -m muster.sandbox.published < swagger.json > sandbox/schema.json
"""

import json
import sys
from collections.abc import Iterable, Iterator

import msgspec

from muster.sandbox.kinds import KINDS, NATIVE_GROUP_KINDS
from muster.sandbox.objects import Object
from muster.sandbox.registry import Kind
from muster.sandbox.schema import LIST, MAP

_REFERENCE = "#/definitions/"
_PREFIXES = ("io.k8s.api.", "io.k8s.apimachinery.pkg.apis.", "io.k8s.apiextensions-apiserver.pkg.apis.")
_SCALARS = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "quantity",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": "time",
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": "time",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "int-or-string",
    "io.k8s.apimachinery.pkg.runtime.RawExtension": "any",
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": "any",
}


def condensed(published: Object, kinds: Iterable[Kind]) -> Object:
    """The contents of `schema.json`: structs of some kinds, from the document that a server has at `/openapi/v2`."""
    definitions: Object = published["definitions"]
    wanted = {(kind.group, kind.version, kind.kind): kind for kind in kinds}
    roots = {
        f"{kind.api_version} {kind.kind}": name
        for name, definition in definitions.items()
        for named in definition.get("x-kubernetes-group-version-kind") or ()
        if (kind := wanted.get((named["group"], named["version"], named["kind"])))
    }
    structs: dict[str, dict[str, str]] = {}
    todo = [*roots.values()]
    while todo:
        name = todo.pop()
        if _short(name) in structs or "properties" not in definitions[name]:
            continue
        properties = definitions[name]["properties"]
        structs[_short(name)] = {key: _written(definitions, value) for key, value in sorted(properties.items())}
        todo += [reference for value in properties.values() for reference in _references(value)]
    atomic = [name for name in definitions if definitions[name].get("x-kubernetes-map-type") == "atomic"]
    return {
        "kinds": {key: _short(name) for key, name in sorted(roots.items())},
        "atomic": sorted(_short(name) for name in atomic if _short(name) in structs),
        "structs": dict(sorted(structs.items())),
    }


def _short(name: str) -> str:
    return next((name.removeprefix(prefix) for prefix in _PREFIXES if name.startswith(prefix)), name)


def _references(value: Object) -> Iterator[str]:
    if "$ref" in value:
        yield value["$ref"].removeprefix(_REFERENCE)
    for inside in (value.get("items"), value.get("additionalProperties")):
        if isinstance(inside, dict):
            yield from _references(inside)


def _written(definitions: Object, value: Object) -> str:
    """A field as `schema.json` has it."""
    options = [_type_name(definitions, value)]
    strategy = (value.get("x-kubernetes-patch-strategy") or "").split(",")
    if "merge" in strategy:
        options.append(f"merge={value.get('x-kubernetes-patch-merge-key', '')}")
    if value.get("x-kubernetes-list-type") == "map":
        options.append(f"keys={','.join(value['x-kubernetes-list-map-keys'])}")
    if value.get("x-kubernetes-list-type") == "set":
        options.append("set")
    if value.get("x-kubernetes-map-type") == "atomic":
        options.append("atomic")
    if "replace" in strategy:
        options.append("replace")
    if "retainKeys" in strategy:
        options.append("retain")
    return " ".join(options)


def _type_name(definitions: Object, value: Object) -> str:
    if "$ref" in value:
        name = value["$ref"].removeprefix(_REFERENCE)
        if name in _SCALARS or "properties" in definitions[name]:
            return _SCALARS.get(name) or _short(name)
        return "any"
    match value.get("type"):
        case "array":
            return LIST + _type_name(definitions, value["items"])
        case "object" if "additionalProperties" in value:
            return MAP + _type_name(definitions, value["additionalProperties"])
        case "integer":
            return str(value.get("format") or "int64")
        case "number":
            return "double"
        case "boolean":
            return "bool"
        case "string":
            return "bytes" if value.get("format") == "byte" else "string"
        case _:
            return "any"


if __name__ == "__main__":
    served = condensed(msgspec.json.decode(sys.stdin.buffer.read()), (*KINDS, *NATIVE_GROUP_KINDS))
    lines = [f" {json.dumps(name)}: {json.dumps(fields)}" for name, fields in served["structs"].items()]
    head = json.dumps({"kinds": served["kinds"], "atomic": served["atomic"]}, indent=1)
    print(head[:-2] + ',\n "structs": {\n' + ",\n".join(lines) + "\n }\n}")
