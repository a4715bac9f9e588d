"""The rules of a PodGroup's fields, and the reports of mistakes."""

from typing import Any

import pytest

from muster.plugins.coscheduling.api import problems

QUANTITY = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$', got "


@pytest.mark.parametrize(
    "spec",
    [
        None,
        {},
        {"minMember": 1},
        {"minMember": None, "minResources": None, "scheduleTimeoutSeconds": None},
        {"scheduleTimeoutSeconds": 0},
        {"scheduleTimeoutSeconds": 100_000},
        {"minResources": {}},
        {"minResources": {"cpu": "500m", "memory": "1.5Gi", "nvidia.com/gpu": 8}},
        {"minMember": 3, "ofSomeLaterVersion": True},
    ],
)
def test_a_valid_spec_is_no_problem(spec: Any) -> None:
    assert problems({"spec": spec}) == []


def test_a_group_without_a_spec_is_no_problem() -> None:
    assert problems({}) == []


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"minMember": 0}, "spec.minMember: Invalid value: 0: should be greater than or equal to 1"),
        ({"minMember": -3}, "spec.minMember: Invalid value: -3: should be greater than or equal to 1"),
        ({"minMember": "3"}, 'spec.minMember: Invalid value: "3": should be a valid integer'),
        ({"minMember": True}, "spec.minMember: Invalid value: true: should be a valid integer"),
        (
            {"scheduleTimeoutSeconds": -1},
            "spec.scheduleTimeoutSeconds: Invalid value: -1: should be greater than or equal to 0",
        ),
        (
            {"minResources": {"cpu": "two"}},
            f"spec.minResources[cpu]: Invalid value: \"two\": {QUANTITY}'two'",
        ),
        (
            {"minResources": {"nvidia.com/gpu": 1.5}},
            "spec.minResources[nvidia.com/gpu]: Invalid value: 1.5: should be an integer or a string",
        ),
        (
            {"minResources": {"cpu": True}},
            "spec.minResources[cpu]: Invalid value: true: should be an integer or a string",
        ),
        ({"minResources": []}, "spec.minResources: Invalid value: []: should be a valid dictionary"),
    ],
)
def test_a_mistake_is_reported_with_the_path_of_its_field(spec: dict[str, Any], problem: str) -> None:
    assert problems({"spec": spec}) == [problem]


def test_an_annotation_of_musters_that_it_does_not_know_is_refused_and_others_are_not() -> None:
    annotations = {"muster-scheduler.io/disruption-modes": "All", "example.com/required-topology": "zone"}
    assert problems({"metadata": {"annotations": annotations}, "spec": {"minMember": 1}}) == [
        "metadata.annotations[muster-scheduler.io/disruption-modes]: unknown annotation, "
        'did you mean "muster-scheduler.io/disruption-mode"?'
    ]


def test_a_slice_size_that_is_no_number_is_reported_with_and_without_a_slice_topology() -> None:
    size = {"muster-scheduler.io/slice-size": "abc"}
    for more in ({}, {"muster-scheduler.io/slice-topology": "example.com/rack"}):
        assert problems({"metadata": {"annotations": size | more}, "spec": {"minMember": 1}}) == [
            'metadata.annotations[muster-scheduler.io/slice-size]: Invalid value: "abc": '
            "should be an integer greater than 0"
        ]


def test_every_mistake_is_reported() -> None:
    found = problems({"spec": {"minMember": 0, "scheduleTimeoutSeconds": -1, "minResources": {"cpu": "x", "gpu": ""}}})
    assert [line.partition(":")[0] for line in found] == [
        "spec.minMember",
        "spec.minResources[cpu]",
        "spec.minResources[gpu]",
        "spec.scheduleTimeoutSeconds",
    ]
