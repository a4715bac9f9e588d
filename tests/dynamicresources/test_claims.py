"""Claims that a pod refers to: which keep it waiting, where they let it go, and which are given up for it."""

from collections.abc import Callable

import msgspec
import pytest

from muster.framework.model.devices import DeviceClass
from tests.builders import PodDict, make_node, make_pod
from tests.dynamicresources.objects import (
    GPU,
    Object,
    allocated,
    claiming_pod,
    device,
    exactly,
    first_of,
    make_claim,
    make_class,
    make_slice,
)
from tests.dynamicresources.world import allocated_to, decide, engine, refusal, refusals, reported

GPU_CLASS = make_class("gpu", f"device.driver == '{GPU}'")
POD = claiming_pod("user", "wanted")
SLICES = [make_slice(f"{node}-gpus", device("a"), node=node) for node in ("one", "two")]
WANTED = make_claim("wanted", exactly(1))


def generated_for(pod: PodDict, claim: str | None) -> PodDict:
    """The pod as it looks once its claim was generated from a template (None: none was needed)."""
    made = {"name": "c"} | ({"resourceClaimName": claim} if claim else {})
    pod["spec"]["resourceClaims"] = [{"name": "c", "resourceClaimTemplateName": "template"}]
    pod["status"] = {"resourceClaimStatuses": [made]}
    return pod


def with_template(pod: PodDict) -> PodDict:
    pod["spec"]["resourceClaims"] = [{"name": "c", "resourceClaimTemplateName": "template"}]
    return pod


def deleted(claim: Object) -> Object:
    gone = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["x"]}
    return claim | {"metadata": claim["metadata"] | gone}


WAITING: dict[str, tuple[Callable[[], PodDict], list[Object], str]] = {
    "a claim that is not there": (lambda: POD, [], 'could not find ResourceClaim "default/wanted"'),
    "a claim that goes": (lambda: POD, [deleted(WANTED)], 'resourceclaim "wanted" is being deleted'),
    "a template that was not used yet": (
        lambda: with_template(make_pod("user")),
        [],
        'pod "default/user": ResourceClaim not created yet',
    ),
    "a claim that was generated for somebody else": (
        lambda: generated_for(make_pod("user"), "wanted"),
        [make_claim("wanted", exactly(1), owner=make_pod("other"))],
        "ResourceClaim default/wanted was not created for Pod default/user (Pod is not owner)",
    ),
    "a class that is not there": (
        lambda: POD,
        [make_claim("wanted", exactly(1, of="nosuch"))],
        "request r0: device class nosuch does not exist",
    ),
    "a class of an alternative that is not there": (
        lambda: POD,
        [make_claim("wanted", first_of(exactly(1), exactly(1, of="nosuch")))],
        "request r0/s1: device class nosuch does not exist",
    ),
}


@pytest.mark.parametrize("case", WAITING)
def test_a_pod_waits_for(case: str) -> None:
    pod, objects, reason = WAITING[case]
    assert refusal(pod(), GPU_CLASS, *SLICES, *objects) == reason


def test_a_generated_claim_is_used() -> None:
    pod = generated_for(make_pod("user"), "wanted")
    claim = make_claim("wanted", exactly(1), owner=pod)
    assert allocated_to(pod, GPU_CLASS, *SLICES, claim) == {"wanted": [("r0", "one", "a")]}


def test_a_claim_that_was_not_needed_is_no_obstacle() -> None:
    assert decide(generated_for(make_pod("user"), None), GPU_CLASS).feasible == ("one", "two")


def test_an_allocated_claim_ties_the_pod_to_where_its_devices_are() -> None:
    claim = allocated(WANTED, (GPU, "two", "a"), node="two", reserved=["somebody"])
    assert refusals(POD, GPU_CLASS, *SLICES, claim) == {"one": "resourceclaim not available on the node"}
    assert allocated_to(POD, GPU_CLASS, *SLICES, claim) == {"wanted": [("r0", "two", "a")]}


def test_a_claim_that_cannot_be_allocated_is_reported_before_a_claim_on_another_node() -> None:
    pod = claiming_pod("user", "there", "wanted")
    there = allocated(make_claim("there", exactly(1)), (GPU, "gone", "a"), node="gone")
    wanted = make_claim("wanted", exactly(2))
    slices = [*SLICES, make_slice("more", device("b"), device("c"), node="one", pool="more")]
    assert refusals(pod, GPU_CLASS, *slices, there, wanted) == {
        "one": "resourceclaim not available on the node",
        "two": "cannot allocate all claims",
    }


def test_two_claims_share_what_there_is() -> None:
    pod = claiming_pod("user", "first", "second")
    claims = [make_claim(name, exactly(1)) for name in ("first", "second")]
    slices = [*SLICES, make_slice("more", device("b"), node="two", pool="more")]
    assert allocated_to(pod, GPU_CLASS, *claims, *slices) == {
        "first": [("r0", "more", "b")],
        "second": [("r0", "two", "a")],
    }


RESOURCE = "example.com/gpu"
BACKED = make_class("gpu", f"device.driver == '{GPU}'", resource=RESOURCE)
IMPLICIT = "deviceclass.resource.kubernetes.io/gpu"


@pytest.mark.parametrize("resource", [RESOURCE, IMPLICIT])
def test_devices_provide_an_extended_resource_that_a_class_stands_for(resource: str) -> None:
    pod = make_pod("user").requests({resource: "1"})
    [picked] = allocated_to(pod, BACKED, *SLICES).values()
    assert picked == [("container-0-request-0", "one", "a")]


def test_a_node_that_offers_the_resource_itself_needs_no_devices() -> None:
    nodes = [make_node("one").resources({RESOURCE: "1"}), make_node("two")]
    pod = make_pod("user").requests({RESOURCE: "1"})
    assert decide(pod, BACKED, nodes=nodes).feasible == ("one",)
    assert refusals(pod, BACKED, nodes=nodes) == {"two": "cannot allocate all claims"}


def test_a_resource_without_a_class_is_short_as_ever() -> None:
    pod = make_pod("user").requests({"example.com/nosuch": "1", RESOURCE: "1"})
    message = decide(pod, BACKED, *SLICES).message
    assert message.startswith("0/2 nodes are available: 2 Insufficient example.com/nosuch.")


def test_containers_that_run_before_others_use_the_same_devices() -> None:
    pod = (
        make_pod("user")
        .init_container("small", {RESOURCE: "1"})
        .init_container("large", {RESOURCE: "3"})
        .requests({RESOURCE: "1"})
        .container("second", {"cpu": "1", RESOURCE: "1"})
    )
    slices = [make_slice("gpus", *(device(name) for name in "abcd"), node="one")]
    [picked] = allocated_to(pod, BACKED, *slices).values()
    assert [request for request, _, _ in picked] == [
        "container-1-request-0",
        "container-2-request-0",
        "container-3-request-1",
    ]


def test_a_claim_that_is_left_of_an_earlier_attempt_keeps_the_pod_off_all_nodes_until_it_is_deleted() -> None:
    pod = make_pod("user").requests({RESOURCE: "1"})
    left = make_claim("user-extended-resources-x", exactly(1), owner=pod)
    left["metadata"]["annotations"] = {"resource.kubernetes.io/extended-resource-claim": "true"}
    assert set(refusals(pod, BACKED, *SLICES, left).values()) == {"cannot schedule extended resource claim"}


def test_a_class_that_comes_later_changes_what_was_said_of_the_resource() -> None:
    world = engine(*SLICES)
    pod = make_pod("user").requests({RESOURCE: "1"})
    assert reported(world, pod).message.startswith(f"0/2 nodes are available: 2 Insufficient {RESOURCE}.")
    [classes] = [handler for kind, handler in world.object_handlers.items() if kind.resource == "DeviceClass"]
    known = msgspec.convert(BACKED, DeviceClass)
    classes.on_add(known)
    assert reported(world, pod).feasible == ("one", "two")
    classes.on_delete(known)
    assert reported(world, pod).message.startswith(f"0/2 nodes are available: 2 Insufficient {RESOURCE}.")
