"""Request bodies in other forms than JSON."""

import pytest

from muster.sandbox import protobuf, requests
from muster.sandbox.errors import StatusError

_NAMESPACE = (
    b"k8s\0"
    b"\x0a\x0f\x0a\x02v1\x12\x09Namespace"  # type: v1 Namespace
    b"\x12\x1f\x0a\x19\x0a\x04team\x12\x00\x1a\x00\x5a\x0d\x0a\x04tier\x12\x05front\x12\x00\x1a\x00"  # the object
)

_TYPE_END = 21


def test_yaml_is_read_as_json_would_be() -> None:
    body = requests.body("application/yaml", b"metadata:\n  name: a\n  creationTimestamp: 2026-01-01T00:00:00Z\n")

    assert body == {"metadata": {"name": "a", "creationTimestamp": "2026-01-01T00:00:00Z"}}


def test_a_namespace_is_read_from_protobuf() -> None:
    body = requests.body(protobuf.CONTENT_TYPE, _NAMESPACE)

    assert body == {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "team", "labels": {"tier": "front"}},
    }


@pytest.mark.parametrize("length", [length for length in range(4, len(_NAMESPACE)) if length != _TYPE_END])
def test_protobuf_that_is_cut_off_is_refused(length: int) -> None:
    with pytest.raises(StatusError) as refusal:
        protobuf.decode(_NAMESPACE[:length])

    assert refusal.value.code == 400


def test_a_kind_that_is_not_known_in_protobuf_is_refused_as_a_media_type() -> None:
    with pytest.raises(StatusError, match="accepted media types include: application/json") as refusal:
        protobuf.decode(b"k8s\0\x0a\x09\x0a\x02v1\x12\x03Pod\x12\x00")

    assert refusal.value.code == 415


@pytest.mark.parametrize(
    ("content_type", "data", "code"),
    [
        ("text/plain", b"{}", 415),
        ("application/json", b"[]", 400),
        ("application/json", b"{:", 400),
        (protobuf.CONTENT_TYPE, b"{}", 400),
    ],
)
def test_a_body_that_is_no_object_is_refused(content_type: str, data: bytes, code: int) -> None:
    with pytest.raises(StatusError) as refusal:
        requests.body(content_type, data)

    assert refusal.value.code == code
