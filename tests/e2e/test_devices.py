"""Devices on a real API server: allocations are written into the claims, and released when no pod needs them."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.builders import make_node, make_pod
from tests.controlplane.api import Api
from tests.dynamicresources.objects import (
    GPU,
    Object,
    claiming_pod,
    device,
    exactly,
    make_claim,
    make_class,
    make_slice,
)
from tests.e2e.cluster import Cluster
from tests.e2e.eventually import eventually
from tests.e2e.muster_process import MusterProcess

_API = "/apis/resource.k8s.io/v1"
RESOURCE = "example.com/gpu"

Claims = Callable[[str], Any]


@pytest.fixture(autouse=True)
def devices(api: Api, add_nodes: Callable[..., None]) -> Iterator[None]:
    """Two nodes with two devices each, of a class that stands for an extended resource as well."""
    add_nodes(make_node("one"), make_node("two"))
    api.post(f"{_API}/deviceclasses", make_class("gpu", f"device.driver == '{GPU}'", resource=RESOURCE))
    for node in ("one", "two"):
        api.post(f"{_API}/resourceslices", make_slice(f"{node}-gpus", device("a"), device("b"), node=node))
    yield
    api.delete(f"{_API}/deviceclasses/gpu")
    for node in ("one", "two"):
        api.delete(f"{_API}/resourceslices/{node}-gpus")


def create_claim(cluster: Cluster, name: str, *requests: Object) -> str:
    """Creates a claim in the test's namespace. Its path."""
    claim = make_claim(name, *requests, namespace=cluster.namespace)
    claim["metadata"] = {"name": name}
    cluster.api.post(f"{_API}/namespaces/{cluster.namespace}/resourceclaims", claim)
    return f"{_API}/namespaces/{cluster.namespace}/resourceclaims/{name}"


def test_a_claim_is_allocated_and_reserved_for_the_pod_before_that_is_bound(
    muster: MusterProcess, cluster: Cluster
) -> None:
    path = create_claim(cluster, "wanted", exactly(2))

    cluster.create(claiming_pod("user", "wanted"), scheduler=muster.name)

    [node] = cluster.wait_until_bound("user")
    claim = cluster.api.get(path)
    results = [{"request": "r0", "driver": GPU, "pool": node, "device": name} for name in ("a", "b")]
    assert claim["status"]["allocation"]["devices"]["results"] == results
    [term] = claim["status"]["allocation"]["nodeSelector"]["nodeSelectorTerms"]
    assert term["matchFields"] == [{"key": "metadata.name", "operator": "In", "values": [node]}]
    pod = cluster.pod("user")
    assert claim["status"]["reservedFor"] == [{"resource": "pods", "name": "user", "uid": pod["metadata"]["uid"]}]
    assert claim["metadata"]["finalizers"] == ["resource.kubernetes.io/delete-protection"]


def test_devices_are_given_out_once_and_again_when_a_claim_gives_them_back(
    muster: MusterProcess, cluster: Cluster
) -> None:
    paths = [create_claim(cluster, f"claim-{number}", exactly(2)) for number in range(3)]
    cluster.create(claiming_pod("user-0", "claim-0"), claiming_pod("user-1", "claim-1"), scheduler=muster.name)
    assert sorted(cluster.wait_until_bound("user-0", "user-1")) == ["one", "two"]

    cluster.create(claiming_pod("late", "claim-2"), scheduler=muster.name)
    assert cluster.wait_until_unschedulable("late").startswith("0/2 nodes are available: 2 cannot allocate all claims.")

    freed = cluster.node_of("user-0")
    cluster.delete("user-0")
    gone = {"status": {"allocation": None, "reservedFor": None}}
    cluster.api.patch(f"{paths[0]}/status", gone)
    assert cluster.wait_until_bound("late") == [freed]


def test_an_extended_resource_comes_from_a_claim_that_is_made_for_the_pod(
    muster: MusterProcess, cluster: Cluster
) -> None:
    cluster.create(make_pod("user").requests({RESOURCE: "1"}).limits({RESOURCE: "1"}), scheduler=muster.name)

    [node] = cluster.wait_until_bound("user")
    reported = cluster.pod("user")["status"]["extendedResourceClaimStatus"]
    assert reported["requestMappings"] == [
        {"containerName": "main", "resourceName": RESOURCE, "requestName": "container-0-request-0"}
    ]
    name = reported["resourceClaimName"]
    claim = cluster.api.get(f"{_API}/namespaces/{cluster.namespace}/resourceclaims/{name}")
    assert name.startswith("user-extended-resources-")
    assert claim["metadata"]["annotations"] == {"resource.kubernetes.io/extended-resource-claim": "true"}
    [result] = claim["status"]["allocation"]["devices"]["results"]
    assert (result["pool"], result["device"]) == (node, "a")


def test_an_unused_claim_that_no_node_can_serve_is_deallocated_for_the_pod(
    muster: MusterProcess, cluster: Cluster
) -> None:
    path = create_claim(cluster, "stuck", exactly(1))
    results = [{"request": "r0", "driver": GPU, "pool": "gone", "device": "a"}]
    field = {"key": "metadata.name", "operator": "In", "values": ["gone"]}
    allocation = {
        "devices": {"results": results},
        "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field]}]},
    }
    cluster.api.patch(f"{path}/status", {"status": {"allocation": allocation}})

    cluster.create(claiming_pod("user", "stuck"), scheduler=muster.name)

    [node] = cluster.wait_until_bound("user")
    [result] = cluster.api.get(path)["status"]["allocation"]["devices"]["results"]
    assert result["pool"] == node


def test_a_pod_waits_for_its_claim_and_goes_on_when_it_comes(muster: MusterProcess, cluster: Cluster) -> None:
    cluster.create(claiming_pod("early", "later"), scheduler=muster.name)
    eventually(lambda: cluster.pod("early"))
    create_claim(cluster, "later", exactly(1))
    assert cluster.wait_until_bound("early")[0] in ("one", "two")
