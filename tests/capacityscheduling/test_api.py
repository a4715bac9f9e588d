"""ElasticQuotas: what is read of them, and each fault with the field that has it."""

from typing import Any

import msgspec
import pytest

from muster.plugins.capacityscheduling.api import (
    PARENT,
    WEIGHT,
    ElasticQuota,
    amounts_of,
    faults,
    parent_of,
    weight_of,
)
from tests.capacityscheduling.objects import make_quota, quota


def test_amounts_are_read_as_the_scheduler_counts_them() -> None:
    found = quota("ml", min={"cpu": "1500m", "memory": "1Gi", "nvidia.com/gpu": 4})
    assert amounts_of(found.spec.min) == {"cpu": 1500, "memory": 1 << 30, "nvidia.com/gpu": 4}
    assert amounts_of(found.spec.max) == {}


def test_an_amount_that_cannot_be_read_is_left_out() -> None:
    assert amounts_of(quota("ml", max={"cpu": "many", "memory": "-1", "pods": "3"}).spec.max) == {"pods": 3}


@pytest.mark.parametrize(
    ("text", "key"), [("", ""), ("all", "ml/all"), ("research/all", "research/all"), ("a/b/c", "")]
)
def test_a_parent_is_named_with_or_without_its_namespace(text: str, key: str) -> None:
    assert parent_of(quota("ml", parent=text)) == key


@pytest.mark.parametrize(("text", "weight"), [("", 1), ("7", 7), ("0", 1), ("-1", 1), ("1.5", 1), ("1" * 30, 1)])
def test_a_weight_is_a_whole_number_from_one(text: str, weight: int) -> None:
    assert weight_of(quota("ml", weight=text)) == weight


FAULTS: list[tuple[dict[str, Any], list[str]]] = [
    ({"min": {"cpu": "2"}, "max": {"cpu": "2", "memory": "1Gi"}, "parent": "all", "weight": "3"}, []),
    (
        {"min": {"cpu": "3"}, "max": {"cpu": "2500m"}},
        ['spec.min[cpu]: Invalid value: "3": must not be more than spec.max[cpu], 2500m'],
    ),
    ({"max": {"cpu": "-1"}}, ['spec.max[cpu]: Invalid value: "-1": must not be negative']),
    (
        {"parent": "/all"},
        [
            f'metadata.annotations[{PARENT}]: Invalid value: "/all": must be the name of an ElasticQuota, or its '
            "namespace/name"
        ],
    ),
    (
        {"weight": "0"},
        [f'metadata.annotations[{WEIGHT}]: Invalid value: "0": must be a whole number from 1 to 1000000'],
    ),
]


@pytest.mark.parametrize(("fields", "lines"), FAULTS)
def test_each_fault_names_its_field(fields: dict[str, Any], lines: list[str]) -> None:
    assert faults(quota("ml", **fields)) == lines


def test_a_quantity_that_is_none_is_named_with_the_form_of_quantities() -> None:
    [line] = faults(quota("ml", min={"cpu": "many"}))
    assert line.startswith('spec.min[cpu]: Invalid value: "many": quantities must match the regular expression')


def test_an_annotation_under_the_prefix_that_means_nothing_is_named_with_the_nearest() -> None:
    document = make_quota("ml")
    document["metadata"]["annotations"]["muster-scheduler.io/quota-wieght"] = "2"
    assert faults(msgspec.convert(document, ElasticQuota)) == [
        f'metadata.annotations[muster-scheduler.io/quota-wieght]: unknown annotation, did you mean "{WEIGHT}"?'
    ]
