"""Fields that a kind does not have, and values of the wrong type: refused, warned of or dropped, as requested."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.api_behaviour.objects import deployment, pod_group
from tests.api_behaviour.server import JSON_PATCH, MERGE, STRATEGIC, Answer, Server
from tests.builders import make_pod

Make = Callable[[Server], tuple[str, dict[str, Any]]]


def _pod(**spec: Any) -> dict[str, Any]:
    pod: dict[str, Any] = {"metadata": {"name": "web"}, "spec": {"containers": [{"name": "main", "image": "nginx"}]}}
    pod["spec"] |= spec
    return pod


def _broken_pod(server: Server) -> tuple[str, dict[str, Any]]:
    container = {"name": "main", "image": "nginx", "resources": {"request": {"cpu": "1"}}}
    return server.pods(), _pod(containers=[container], schedulername="muster")


def _broken_group(server: Server) -> tuple[str, dict[str, Any]]:
    group = pod_group("gang", minMember=1, foo=1)
    group["metadata"]["bar"] = 1
    return server.pod_groups(), group


def _broken_deployment(server: Server) -> tuple[str, dict[str, Any]]:
    workload = deployment("web", ("main", "nginx"))
    workload["spec"]["template"]["spec"]["nodename"] = "one"
    workload["replicas"] = 2
    return server.path("deployments", group="apps/v1"), workload


BROKEN = [
    (_broken_pod, "Pod", "v1", ["spec.containers[0].resources.request", "spec.schedulername"]),
    (_broken_group, "PodGroup", "v1alpha1", ["metadata.bar", "spec.foo"]),
    (_broken_deployment, "Deployment", "v1", ["spec.template.spec.nodename", "replicas"]),
]


@pytest.mark.parametrize(("make", "kind", "version", "fields"), BROKEN)
async def test_unknown_fields_are_refused_where_the_request_is_strict(
    server: Server, make: Make, kind: str, version: str, fields: list[str]
) -> None:
    path, obj = make(server)

    answer = await server.post(path, obj, fieldValidation="Strict")

    assert (answer.code, answer.reason) == (400, "BadRequest")
    named = ", ".join(f'unknown field "{field}"' for field in fields)
    assert answer.message == (
        f'{kind} in version "{version}" cannot be handled as a {kind}: strict decoding error: {named}'
    )


@pytest.mark.parametrize(("query", "is_warned"), [({"fieldValidation": "Ignore"}, False), ({}, True)])
@pytest.mark.parametrize(("make", "kind", "version", "fields"), BROKEN)
async def test_unknown_fields_are_dropped_with_a_warning_or_without(
    server: Server, make: Make, kind: str, version: str, fields: list[str], query: dict[str, str], is_warned: bool
) -> None:
    path, obj = make(server)

    answer = await server.post(path, obj, **query)

    assert answer.code == 201
    assert not {"schedulername", "foo"} & set(answer.body["spec"])
    assert list(answer.warnings) == [f'299 - "unknown field \\"{field}\\""' for field in fields if is_warned]


async def test_a_way_to_validate_fields_that_there_is_not_is_refused(server: Server) -> None:
    answer = await server.post(server.pods(), _pod(), fieldValidation="Loose")

    assert (answer.code, answer.reason) == (422, "Invalid")
    assert answer.message == (
        'CreateOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: "Loose": supported values: "", '
        '"Ignore", "Strict", "Warn"'
    )


async def test_an_update_with_an_unknown_field_is_refused_too(server: Server) -> None:
    await server.post(server.pods(), _pod())

    answer = await server.put(server.pods("web"), _pod(foo=1), fieldValidation="Strict")

    assert answer.code == 400
    assert answer.message.endswith('strict decoding error: unknown field "spec.foo"')


@pytest.mark.parametrize(
    ("patch", "media"),
    [
        ({"spec": {"foo": 1}}, MERGE),
        ({"spec": {"foo": 1}}, STRATEGIC),
        ([{"op": "add", "path": "/spec/foo", "value": 1}], JSON_PATCH),
    ],
)
async def test_a_patch_with_an_unknown_field_is_refused_or_warned_of(server: Server, patch: Any, media: str) -> None:
    await server.post(server.pods(), _pod())

    strict = await server.patch(server.pods("web"), patch, media, fieldValidation="Strict")
    warned = await server.patch(server.pods("web"), patch, media)

    assert (strict.code, strict.reason) == (422, "Invalid")
    assert strict.message.startswith(' "" is invalid: patch: Invalid value: ')
    assert strict.message.endswith('strict decoding error: unknown field "spec.foo"')
    assert (warned.code, warned.warnings) == (200, ('299 - "unknown field \\"spec.foo\\""',))
    assert "foo" not in warned.body["spec"]


@pytest.mark.parametrize("validation", ["Strict", "Warn", "Ignore"])
async def test_an_applied_config_with_an_unknown_field_is_refused_in_any_case(server: Server, validation: str) -> None:
    config = {"apiVersion": "v1", "kind": "Pod"} | _pod(foo=1)

    answer = await server.apply(server.pods("web"), config, "someone", fieldValidation=validation)

    assert answer.code == 500
    assert answer.message == (
        "failed to create typed patch object (/web; /v1, Kind=Pod): .spec.foo: field not declared in schema"
    )


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        ({"nodeName": 1}, "number into Go struct field PodSpec.spec.nodeName of type string"),
        ({"priority": "1"}, "string into Go struct field PodSpec.spec.priority of type int32"),
        ({"priority": 1.5}, "number 1.5 into Go struct field PodSpec.spec.priority of type int32"),
        ({"priority": 2**31}, "number 2147483648 into Go struct field PodSpec.spec.priority of type int32"),
        ({"hostNetwork": "yes"}, "string into Go struct field PodSpec.spec.hostNetwork of type bool"),
        ({"containers": {}}, "object into Go struct field PodSpec.spec.containers of type []v1.Container"),
        ({"containers": ["main"]}, "string into Go struct field PodSpec.spec.containers of type v1.Container"),
        ({"containers": [{"name": 1}]}, "number into Go struct field Container.spec.containers.name of type string"),
        ({"nodeSelector": ["a"]}, "array into Go struct field PodSpec.spec.nodeSelector of type map[string]string"),
        ({"nodeSelector": {"a": 1}}, "number into Go struct field PodSpec.spec.nodeSelector of type string"),
        ({"affinity": True}, "bool into Go struct field PodSpec.spec.affinity of type v1.Affinity"),
    ],
)
async def test_a_value_of_the_wrong_type_is_refused_with_its_place(
    server: Server, spec: dict[str, Any], fault: str
) -> None:
    answer = await server.post(server.pods(), _pod(**spec))

    assert (answer.code, answer.reason) == (400, "BadRequest")
    assert answer.message == f'Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal {fault}'


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        (0.5, "500m"),
        (1, "1"),
        ("1000m", "1"),
        ("0.1m", "1m"),
        ("1500", "1500"),
        ("1000", "1k"),
        ("1024Mi", "1Gi"),
        ("1.5Gi", "1536Mi"),
        ("512Ki", "512Ki"),
        ("0.5Ki", "512"),
        ("2e3", "2e3"),
        ("1500e3", "1500e3"),
        ("0", "0"),
        ("0Gi", "0"),
        ("+1.50", "1500m"),
    ],
)
async def test_quantities_are_stored_in_one_form(server: Server, given: object, stored: str) -> None:
    container = {"name": "main", "image": "nginx", "resources": {"requests": {"memory": given}}}

    answer = await server.post(server.pods(), _pod(containers=[container]))

    assert answer.body["spec"]["containers"][0]["resources"]["requests"]["memory"] == stored


@pytest.mark.parametrize("amount", ["a", "1 Gi", "", True, [1]])
async def test_a_value_that_is_no_quantity_is_refused(server: Server, amount: object) -> None:
    container = {"name": "main", "image": "nginx", "resources": {"requests": {"cpu": amount}}}

    answer = await server.post(server.pods(), _pod(containers=[container]))

    assert answer.code == 400
    assert answer.message == (
        'Pod in version "v1" cannot be handled as a Pod: quantities must match the regular expression '
        "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    )


async def test_a_field_that_is_null_is_a_field_that_is_not_set(server: Server) -> None:
    answer: Answer = await server.post(
        server.pods(), make_pod("web", namespace=server.namespace) | {"status": None}, fieldValidation="Strict"
    )

    assert (answer.code, answer.body["status"]["phase"]) == (201, "Pending")
