"""Names that Kubernetes allows."""

import pytest

from muster.framework.model.names import (
    is_extended_resource,
    label_key_faults,
    label_value_faults,
    subdomain_faults,
)


@pytest.mark.parametrize("key", ["a", "A.b-c_d", "example.com/a", "a" * 63])
def test_good_label_keys_have_no_faults(key: str) -> None:
    assert label_key_faults(key) == []


@pytest.mark.parametrize(
    ("key", "beginnings"),
    [
        ("", ["name part must be non-empty", "name part must consist of"]),
        ("-a", ["name part must consist of"]),
        ("a" * 64, ["name part must be no more than 63 bytes"]),
        ("/a", ["prefix part must be non-empty"]),
        ("A/a", ["prefix part a lowercase RFC 1123 subdomain must consist of"]),
        ("a/b/c", ["a valid label key must consist of"]),
        ("a\n", ["name part must consist of"]),
    ],
)
def test_each_fault_of_a_label_key_is_named(key: str, beginnings: list[str]) -> None:
    faults = label_key_faults(key)
    assert len(faults) == len(beginnings)
    assert all(fault.startswith(beginning) for fault, beginning in zip(faults, beginnings, strict=True))


@pytest.mark.parametrize(("value", "count"), [("", 0), ("a.b", 0), ("a b", 1), ("é" * 32, 2), ("a" * 64, 1)])
def test_label_values_may_be_empty_and_have_63_bytes_at_most(value: str, count: int) -> None:
    assert len(label_value_faults(value)) == count


def test_a_subdomain_has_253_bytes_at_most() -> None:
    assert subdomain_faults("a" * 254) == ["must be no more than 253 bytes"]


@pytest.mark.parametrize(
    ("name", "extended"),
    [
        ("example.com/gpu", True),
        ("cpu", False),
        ("kubernetes.io/gpu", False),
        ("requests.example.com/gpu", False),
        (f"{'a' * 250}/gpu", False),
    ],
)
def test_extended_resources_have_a_prefix_that_is_not_kubernetes_own(name: str, extended: bool) -> None:
    assert is_extended_resource(name) is extended
