"""PodGroups against the schema of their definition."""

from typing import Any

import pytest

from tests.api_behaviour.objects import pod_group
from tests.api_behaviour.server import Server

_NUMBER = r"(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
_QUANTITY = rf"^(\+|-)?{_NUMBER}(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?{_NUMBER}))?$"


async def test_fields_that_the_schema_does_not_name_are_dropped(server: Server) -> None:
    group = pod_group("gang", minMember=2, unknown=1) | {"extra": {"more": 1}}

    created = await server.post(server.pod_groups(), group)

    assert created.body["spec"] == {"minMember": 2}
    assert "extra" not in created.body


async def test_nulls_are_dropped(server: Server) -> None:
    created = await server.post(server.pod_groups(), pod_group("gang", minMember=None, minResources={"cpu": None}))

    assert created.body["spec"] == {"minResources": {}}


async def test_a_whole_number_with_a_fraction_of_zero_is_a_whole_number(server: Server) -> None:
    created = await server.post(server.pod_groups(), pod_group("gang", minMember=2.0))

    assert repr(created.body["spec"]["minMember"]) == "2"


async def test_a_group_needs_no_spec(server: Server) -> None:
    group = pod_group("gang")
    del group["spec"]

    assert (await server.post(server.pod_groups(), group)).code == 201


async def test_quantities_are_numbers_or_texts(server: Server) -> None:
    created = await server.post(server.pod_groups(), pod_group("gang", minResources={"cpu": 1, "memory": "1Gi"}))

    assert created.body["spec"]["minResources"] == {"cpu": 1, "memory": "1Gi"}


@pytest.mark.parametrize(
    ("spec", "field", "message"),
    [
        (
            {"minMember": 0},
            "spec.minMember",
            "Invalid value: 0: spec.minMember in body should be greater than or equal to 1",
        ),
        (
            {"minMember": "two"},
            "spec.minMember",
            'Invalid value: "string": spec.minMember in body must be of type integer: "string"',
        ),
        (
            {"minMember": 3_000_000_000},
            "<nil>",
            'Invalid value: "": Checked value must be of type integer with format int32 in spec.minMember',
        ),
        (
            {"minResources": {"cpu": "much"}},
            "spec.minResources.cpu",
            f"Invalid value: \"much\": spec.minResources.cpu in body should match '{_QUANTITY}'",
        ),
        (
            {"minResources": ["cpu"]},
            "spec.minResources",
            'Invalid value: "array": spec.minResources in body must be of type object: "array"',
        ),
        ("all", "spec", 'Invalid value: "string": spec in body must be of type object: "string"'),
    ],
)
async def test_a_wrong_spec_is_refused(server: Server, spec: Any, field: str, message: str) -> None:
    answer = await server.post(server.pod_groups(), pod_group("gang") | {"spec": spec})

    (cause,) = answer.body["details"]["causes"]
    assert (answer.code, answer.reason) == (422, "Invalid")
    assert (cause["field"], cause["message"]) == (field, message)


@pytest.mark.parametrize(
    ("status", "field", "message"),
    [
        (
            {"scheduled": "one"},
            "status.scheduled",
            'Invalid value: "string": scheduled in body must be of type integer: "string"',
        ),
        ({"conditions": [{"type": "Scheduled"}]}, "status.conditions[0].status", "Required value"),
        (
            {"conditions": [{"type": "Scheduled", "status": "True"}] * 2},
            "status.conditions[1]",
            'Duplicate value: {"type":"Scheduled"}',
        ),
        (
            {"conditions": [{"type": "Scheduled", "status": "True", "lastTransitionTime": "noon"}]},
            "status.conditions[0].lastTransitionTime",
            'Invalid value: "noon": conditions[0].lastTransitionTime in body must be of type date-time: "noon"',
        ),
    ],
)
async def test_a_wrong_status_is_refused(server: Server, status: dict[str, Any], field: str, message: str) -> None:
    await server.post(server.pod_groups(), pod_group("gang", minMember=1))

    answer = await server.patch(server.pod_groups("gang", "status"), {"status": status})

    (cause,) = answer.body["details"]["causes"]
    assert (answer.code, answer.reason) == (422, "Invalid")
    assert (cause["field"], cause["message"]) == (field, message)


async def test_applied_conditions_merge_by_their_keys(server: Server) -> None:
    await server.post(server.pod_groups(), pod_group("gang", minMember=1))
    path = server.pod_groups("gang", "status")
    mine = pod_group("gang") | {"status": {"conditions": [{"type": "Mine", "status": "True"}]}}
    yours = pod_group("gang") | {"status": {"conditions": [{"type": "Yours", "status": "False"}]}}

    await server.apply(path, mine, "me")
    answer = await server.apply(path, yours, "you")

    assert {item["type"]: item["status"] for item in answer.body["status"]["conditions"]} == {
        "Mine": "True",
        "Yours": "False",
    }
