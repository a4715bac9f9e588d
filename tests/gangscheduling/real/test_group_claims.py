"""Devices that the pods of a native group share, with Kubernetes' own controller that makes the claim for the group."""

from collections.abc import Iterator

import pytest

from tests.dynamicresources.objects import GPU, device, exactly, make_claim, make_class, make_slice
from tests.gangscheduling.real.native import NativeCluster
from tests.gangscheduling.world import make_members

API = "/apis/resource.k8s.io/v1"
ENTRY = {"name": "gpu", "resourceClaimTemplateName": "one-gpu"}


@pytest.fixture(autouse=True)
def devices(native: NativeCluster) -> Iterator[None]:
    """Two nodes, of which the first has a device, and a template of claims for it."""
    native.add_nodes("one", "two", cpu="4")
    native.api.post(f"{API}/deviceclasses", make_class("gpu", f"device.driver == '{GPU}'"))
    native.api.post(f"{API}/resourceslices", make_slice("one-gpus", device("a"), node="one"))
    template = {"metadata": {"name": "one-gpu"}, "spec": {"spec": make_claim("", exactly(1))["spec"]}}
    native.api.post(f"{API}/namespaces/{native.namespace}/resourceclaimtemplates", template)
    yield
    native.api.delete(f"{API}/deviceclasses/gpu")
    native.api.delete(f"{API}/resourceslices/one-gpus")


def test_members_share_the_claim_that_was_made_for_their_group(native: NativeCluster) -> None:
    native.add_group("train", 3, resourceClaims=[ENTRY])
    members = make_members("train", 3)
    for pod in members:
        pod["spec"]["resourceClaims"] = [ENTRY]
    native.add(*members)
    assert set(native.wait_until_started("train", 3).values()) == {"one"}
    claims = native.api.get(f"{API}/namespaces/{native.namespace}/resourceclaims")["items"]
    [claim] = claims
    group = {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "train"}
    assert claim["status"]["reservedFor"] == [group | {"uid": native.group("train")["metadata"]["uid"]}]
    [result] = claim["status"]["allocation"]["devices"]["results"]
    assert (result["pool"], result["device"]) == ("one", "a")


def test_a_group_without_capacity_on_its_devices_node_starts_once_there_is_some(native: NativeCluster) -> None:
    native.add_group("train", 5, resourceClaims=[ENTRY])
    members = make_members("train", 5)
    for pod in members:
        pod["spec"]["resourceClaims"] = [ENTRY]
    native.add(*members)
    native.wait_until_said("train", "False", "Unschedulable")
    [claim] = native.api.get(f"{API}/namespaces/{native.namespace}/resourceclaims")["items"]
    assert "allocation" not in claim.get("status", {})
    native.change_min_count("train", 4)
    assert set(native.wait_until_started("train", 4).values()) == {"one"}
    native.wait_until_said("train", "True", "Scheduled")
