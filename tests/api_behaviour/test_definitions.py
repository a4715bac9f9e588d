"""Kinds of one's own: what a CustomResourceDefinition says of them holds."""

from typing import Any

import pytest

from tests.api_behaviour.server import TABLE, Server, eventually

_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_NAME = "things.example.com"
_SPEC = {
    "type": "object",
    "required": ["size"],
    "properties": {
        "size": {"type": "integer", "minimum": 1, "maximum": 9},
        "colour": {"type": "string", "enum": ["red", "blue"], "default": "red"},
        "name": {"type": "string", "minLength": 2, "maxLength": 4},
        "parts": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "string"}},
        "share": {"type": "number"},
        "on": {"type": "boolean"},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "limits": {"type": "object", "additionalProperties": {"x-kubernetes-int-or-string": True}},
    },
}


def _version(name: str, *, storage: bool) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"spec": _SPEC}}
    columns = [{"name": "Colour", "type": "string", "jsonPath": ".spec.colour"}]
    shown = {"schema": {"openAPIV3Schema": schema}, "additionalPrinterColumns": columns}
    return {"name": name, "served": True, "storage": storage, **shown}


def _definition() -> dict[str, Any]:
    names = {"plural": "things", "kind": "Thing", "shortNames": ["th"]}
    versions = [_version("v1", storage=True), _version("v2", storage=False)]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": _NAME},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": versions},
    }


@pytest.fixture
async def things(server: Server) -> str:
    """The path of the things, once they are served. The definition stays: to make it takes a real server a second."""
    await server.post(_DEFINITIONS, _definition())
    first, second = (server.path("things", group=f"example.com/{version}") for version in ("v1", "v2"))
    await eventually(lambda: server.get(first), lambda answer: answer.code == 200)
    await eventually(lambda: server.get(second), lambda answer: answer.code == 200)
    return first


def _thing(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "one"}, "spec": spec}


async def test_a_definition_is_established_with_all_its_names(server: Server, things: str) -> None:
    shown = (await server.get(f"{_DEFINITIONS}/{_NAME}")).body

    assert (
        shown["status"]["acceptedNames"]
        == shown["spec"]["names"]
        == {
            "plural": "things",
            "singular": "thing",
            "kind": "Thing",
            "listKind": "ThingList",
            "shortNames": ["th"],
        }
    )
    assert shown["status"]["storedVersions"] == ["v1"]
    assert {item["type"]: item["status"] for item in shown["status"]["conditions"]} == {
        "NamesAccepted": "True",
        "Established": "True",
    }


async def test_defaults_are_filled_in_and_free_fields_are_kept(server: Server, things: str) -> None:
    answer = await server.post(things, _thing(size=3.0, free={"a": {"b": 1}}, unknown=1))

    assert answer.code == 201
    assert answer.body["spec"] == {"size": 3, "colour": "red", "free": {"a": {"b": 1}}}
    assert answer.warnings == ('299 - "unknown field \\"spec.unknown\\""',)


async def test_an_object_is_seen_in_every_version(server: Server, things: str) -> None:
    await server.post(things, _thing(size=3))

    seen = (await server.get(server.path("things", "one", group="example.com/v2"))).body
    listed = (await server.get(server.path("things", group="example.com/v2"))).body
    table = (await server.get(server.path("things", group="example.com/v2"), accept=TABLE)).body

    assert (seen["apiVersion"], seen["spec"]["size"]) == ("example.com/v2", 3)
    assert (listed["kind"], listed["apiVersion"], listed["items"]) == ("ThingList", "example.com/v2", [seen])
    assert [row["cells"] for row in table["rows"]] == [["one", "red"]]


@pytest.mark.parametrize(
    ("spec", "faults"),
    [
        ({}, ["spec.size: Required value"]),
        ({"size": "3"}, ['spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"']),
        ({"size": 0}, ["spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1"]),
        ({"size": 10}, ["spec.size: Invalid value: 10: spec.size in body should be less than or equal to 9"]),
        ({"size": 1, "colour": "green"}, ['spec.colour: Unsupported value: "green": supported values: "red", "blue"']),
        (
            {"size": 1, "name": "a"},
            ['spec.name: Invalid value: "a": spec.name in body should be at least 2 chars long'],
        ),
        ({"size": 1, "name": "abcde"}, ["spec.name: Too long: may not be more than 4 bytes"]),
        ({"size": 1, "parts": []}, ["spec.parts: Invalid value: 0: spec.parts in body should have at least 1 items"]),
        ({"size": 1, "parts": ["a"] * 3}, ["spec.parts: Too many: 3: must have at most 2 items"]),
        (
            {"size": 1, "parts": [1]},
            ['spec.parts[0]: Invalid value: "integer": spec.parts[0] in body must be of type string: "integer"'],
        ),
        (
            {"size": 1, "on": "yes"},
            ['spec.on: Invalid value: "string": spec.on in body must be of type boolean: "string"'],
        ),
        (
            {"size": 1, "share": "x"},
            ['spec.share: Invalid value: "string": spec.share in body must be of type number: "string"'],
        ),
        (
            {"size": 1, "limits": {"a": 1.5}},
            ['spec.limits.a: Invalid value: "number": spec.limits.a in body must be of type integer,string: "number"'],
        ),
    ],
)
async def test_everything_that_the_schema_refuses_is_reported(
    server: Server, things: str, spec: dict[str, Any], faults: list[str]
) -> None:
    answer = await server.post(things, _thing(**spec))

    assert (answer.code, answer.reason) == (422, "Invalid"), answer.body
    causes = [f"{cause['field']}: {cause['message']}" for cause in answer.body["details"]["causes"]]
    assert [cause for cause in causes if not cause.startswith("<nil>")] == faults


@pytest.mark.parametrize(
    ("change", "field", "fault"),
    [
        ({"scope": "All"}, "spec.scope", 'Unsupported value: "All": supported values: "Cluster", "Namespaced"'),
        (
            {"versions": []},
            "spec.versions",
            "Invalid value: []: must have exactly one version marked as storage version",
        ),
        (
            {"group": "other.com"},
            "metadata.name",
            'Invalid value: "things.example.com": must be spec.names.plural+"."+spec.group',
        ),
    ],
)
async def test_a_definition_that_makes_no_sense_is_refused(
    server: Server, change: dict[str, Any], field: str, fault: str
) -> None:
    described = _definition()
    described["spec"] |= change

    answer = await server.post(_DEFINITIONS, described)

    assert (answer.code, answer.reason) == (422, "Invalid"), answer.body
    causes = {cause["field"]: cause["message"] for cause in answer.body["details"]["causes"]}
    assert causes[field] == fault
