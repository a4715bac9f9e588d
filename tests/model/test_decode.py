"""Objects as API servers, old clients and people write them: decoded straight, or converted where they hold null."""

import json
from typing import Any

import msgspec
import pytest

from muster.framework.model.faults import FieldError
from muster.framework.model.meta import from_plain
from muster.framework.model.node import Node
from muster.framework.model.pod import Pod
from muster.framework.model.requests import amounts, pod_requests
from tests.builders import make_node, make_pod


def pod(plain: dict[str, Any]) -> Pod:
    """The pod of a manifest."""
    return from_plain(plain, Pod)


def straight(plain: dict[str, Any]) -> Pod:
    """The pod as an informer decodes it."""
    return msgspec.json.decode(json.dumps(plain), type=Pod)


def test_a_pod_is_decoded_with_the_fields_that_are_read() -> None:
    plain = make_pod("web").labels(app="web").requests(cpu="1").host_port(80).tolerate("k").gate("g").node("n")
    plain["spec"]["affinity"] = {"nodeAffinity": {}}
    decoded = straight(plain)
    assert decoded.metadata.labels == {"app": "web"}
    assert decoded.spec.containers[0].resources.requests == {"cpu": "1"}
    assert decoded.spec.containers[0].ports[0].host_port == 80
    assert decoded.spec.tolerations[0].operator == "Exists"
    assert [gate.name for gate in decoded.spec.scheduling_gates] == ["g"]
    assert decoded.spec.node_name == "n"


def test_unknown_fields_are_ignored() -> None:
    plain = make_pod("web")
    plain["metadata"]["managedFields"] = [{"manager": "kubectl", "fieldsV1": {"f:spec": {}}}]
    plain["spec"]["inventedYesterday"] = {"deeply": [{"nested": None}]}
    plain["status"] = {"podIPs": [{"ip": "10.0.0.1"}], "startTime": None}
    assert straight(plain).metadata.name == "web"


def test_a_host_ip_is_found_under_its_odd_name() -> None:
    assert straight(make_pod("web").host_port(80, ip="10.0.0.1")).spec.containers[0].ports[0].host_ip == "10.0.0.1"


@pytest.mark.parametrize("field", ["creationTimestamp", "deletionTimestamp"])
def test_a_timestamp_may_be_null(field: str) -> None:
    plain = make_pod("web")
    plain["metadata"][field] = None
    assert straight(plain).metadata.creation_timestamp is None


@pytest.mark.parametrize("field", ["labels", "annotations", "ownerReferences", "namespace", "generation"])
def test_null_metadata_is_the_same_as_none(field: str) -> None:
    plain = make_pod("web")
    plain["metadata"][field] = None
    absent = make_pod("web")
    absent["metadata"].pop(field, None)
    assert pod(plain) == pod(absent)


@pytest.mark.parametrize(
    "field", ["containers", "initContainers", "tolerations", "nodeSelector", "overhead", "affinity", "schedulerName"]
)
def test_a_null_in_a_spec_is_the_same_as_nothing(field: str) -> None:
    plain = make_pod("web")
    plain["spec"][field] = None
    absent = make_pod("web")
    absent["spec"].pop(field, None)
    assert pod(plain) == pod(absent)


@pytest.mark.parametrize("field", ["spec", "status"])
def test_a_whole_part_may_be_null(field: str) -> None:
    plain = make_pod("web")
    plain[field] = None
    absent = make_pod("web")
    absent.pop(field, None)
    assert pod(plain) == pod(absent)


def test_a_null_deep_inside_is_the_same_as_nothing() -> None:
    plain = make_pod("web")
    plain["spec"]["containers"][0]["resources"] = {"requests": None, "limits": {"cpu": "1"}}
    plain["spec"]["containers"][0]["ports"] = None
    container = pod(plain).spec.containers[0]
    assert (container.resources.requests, container.resources.limits, container.ports) == ({}, {"cpu": "1"}, ())


def test_a_null_within_a_map_of_strings_is_an_empty_string_as_for_the_api_server() -> None:
    plain = make_pod("web").labels({"empty": "gone", "app": "web"}).node_selector({"gpu": "gone"})
    plain["metadata"]["labels"]["empty"] = None
    plain["spec"]["nodeSelector"]["gpu"] = None
    decoded = pod(plain)
    assert decoded.metadata.labels == {"empty": "", "app": "web"}
    assert decoded.spec.node_selector == {"gpu": ""}


def test_an_image_without_names_is_read() -> None:
    plain = make_node("n")
    plain["status"]["images"] = [{"names": None, "sizeBytes": 5}, {"names": ["a:1"], "sizeBytes": 7}]
    node = msgspec.json.decode(json.dumps(plain), type=Node)
    assert [image.size_bytes for image in node.status.images] == [5, 7]


def test_quantities_may_be_numbers_as_in_manifests() -> None:
    plain = make_pod("web")
    plain["spec"]["containers"][0]["resources"] = {"requests": {"cpu": 0.5, "memory": 1024, "example.com/gpu": "1"}}
    assert pod_requests(straight(plain)) == {"cpu": 500, "memory": 1024, "example.com/gpu": 1}
    node = from_plain({**make_node("n"), "status": {"allocatable": {"cpu": 4, "pods": 110}}}, Node)
    assert amounts(node.status.allocatable) == {"cpu": 4000, "pods": 110}


def test_plain_objects_of_a_manifest_are_converted_alike() -> None:
    plain = make_pod("web").labels(app="web").requests(cpu="1")
    assert pod(plain) == straight(plain)


@pytest.mark.parametrize(
    ("part", "field", "value"),
    [("metadata", "labels", {"version": 1}), ("metadata", "name", 7), ("spec", "containers", {"main": {}})],
)
def test_an_object_that_the_api_server_would_refuse_is_refused(part: str, field: str, value: object) -> None:
    plain = make_pod("web")
    plain[part][field] = value
    with pytest.raises(FieldError):
        pod(plain)


def test_a_boolean_is_no_quantity() -> None:
    plain = make_pod("web")
    plain["spec"]["containers"][0]["resources"] = {"requests": {"cpu": True}}
    with pytest.raises(FieldError):
        pod(plain)
