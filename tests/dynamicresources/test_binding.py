"""An allocation is noted by Reserve, written by PreBind, and given back whole by Unreserve."""

import asyncio
from typing import Any

import numpy as np
import pytest

from muster.framework.contract import Code, CycleState, Diagnosis, PodDecision, Status
from muster.framework.model.meta import from_plain
from muster.framework.model.node import Node
from muster.plugins.dynamicresources.devices import DeviceId
from tests.builders import make_node, make_pod
from tests.dynamicresources.bench import CLAIMS, Attempt, Bench
from tests.dynamicresources.objects import (
    GPU,
    Object,
    allocated,
    claiming_pod,
    device,
    exactly,
    make_claim,
    make_class,
    make_slice,
)

RESOURCE = "example.com/gpu"
UID = "pod-default-user"


def bench(*objects: Object, devices: tuple[Object, ...] = (device("a"),)) -> Bench:
    made = Bench(make_node("one"))
    made.put(
        make_class("gpu", f"device.driver == '{GPU}'", resource=RESOURCE), make_slice("gpus", *devices, node="one")
    )
    made.put(*objects)
    return made


def claim(name: str = "wanted", **more: Any) -> Object:
    return make_claim(name, exactly(1)) | more


def start(world: Bench, name: str = "user", *claims: str, group: str = "") -> Attempt:
    return world.attempt(claiming_pod(name, *(claims or ("wanted",))), group)


async def test_finalizer_allocation_and_reservation_are_written() -> None:
    world = bench(claim())
    attempt = start(world)
    assert attempt.nodes() == ["one"]
    assert attempt.reserve("one") is None
    assert await attempt.bind("one") is None
    written = world.claim("wanted")
    assert written["metadata"]["finalizers"] == ["resource.kubernetes.io/delete-protection"]
    assert written["status"]["reservedFor"] == [{"resource": "pods", "name": "user", "uid": UID}]
    allocation = written["status"]["allocation"]
    assert allocation["devices"]["results"] == [{"request": "r0", "driver": GPU, "pool": "one", "device": "a"}]
    assert allocation["nodeSelector"]["nodeSelectorTerms"][0]["matchFields"][0]["values"] == ["one"]
    assert allocation["allocationTimestamp"].endswith("Z")


async def test_an_allocated_claim_is_reserved_for_one_pod_more() -> None:
    world = bench(allocated(claim(), (GPU, "one", "a"), node="one", reserved=["other"]))
    attempt = start(world)
    assert attempt.nodes() == ["one"]
    assert attempt.reserve("one") is None
    assert await attempt.bind("one") is None
    assert [each["uid"] for each in world.claim("wanted")["status"]["reservedFor"]] == ["other", UID]


async def test_a_claim_that_the_pod_names_twice_is_allocated_once() -> None:
    world = bench(claim(), devices=(device("a"), device("b")))
    attempt = start(world, "user", "wanted", "wanted")
    assert attempt.nodes() == ["one"]
    assert attempt.reserve("one") is None
    assert [each["device"] for each in attempt.planned("one")["allocation"]["claims"]["wanted"]] == ["a"]
    assert await attempt.bind("one") is None
    status = world.claim("wanted")["status"]
    assert [each["device"] for each in status["allocation"]["devices"]["results"]] == ["a"]
    assert [each["uid"] for each in status["reservedFor"]] == [UID]


async def test_nothing_is_written_into_a_claim_that_is_reserved_already() -> None:
    world = bench(allocated(claim(), (GPU, "one", "a"), node="one", reserved=[UID]))
    attempt = start(world)
    attempt.nodes()
    assert attempt.reserve("one") is None
    assert await attempt.bind("one") is None
    assert world.api.writes == []


async def test_a_collision_is_tried_again_with_what_is_there_now() -> None:
    world = bench(claim())
    attempt = start(world)
    attempt.nodes()
    attempt.reserve("one")
    world.api.collide = 2
    world.claim("wanted")["metadata"]["labels"] = {"new": "label"}
    assert await attempt.bind("one") is None
    written = world.claim("wanted")
    assert written["metadata"]["labels"] == {"new": "label"}
    assert written["status"]["allocation"] is not None


FAILURES: dict[str, tuple[Object, str]] = {
    "was allocated by somebody else": (
        allocated(claim(), (GPU, "one", "b"), node="one"),
        "claim default/wanted got allocated elsewhere in the meantime",
    ),
    "is being deleted": (
        claim() | {"metadata": claim()["metadata"] | {"deletionTimestamp": "2026-01-01T00:00:00Z"}},
        "claim default/wanted got deleted in the meantime",
    ),
}


@pytest.mark.parametrize("case", FAILURES)
async def test_binding_fails_when_the_claim(case: str) -> None:
    changed, reason = FAILURES[case]
    world = bench(claim())
    attempt = start(world)
    attempt.nodes()
    attempt.reserve("one")
    changed["metadata"]["resourceVersion"] = "7"
    world.api.objects[f"{CLAIMS}/wanted"] = changed
    assert await attempt.bind("one") == Status.failure(reason)


@pytest.mark.parametrize("lost", [1, 2])
async def test_a_write_whose_answer_is_lost_is_found_to_have_been_done(lost: int) -> None:
    world = bench(claim(), claim("other"))
    attempt = start(world)
    attempt.nodes()
    attempt.reserve("one")
    world.api.unanswered = lost
    assert await attempt.bind("one") is None
    assert [each["name"] for each in world.claim("wanted")["status"]["reservedFor"]] == ["user"]
    assert start(world, "stranger", "other").nodes() == []


async def test_the_status_names_the_write_after_which_binding_was_given_up() -> None:
    world = bench(claim())
    attempt = start(world)
    attempt.nodes()
    attempt.reserve("one")
    world.api.collide = 99
    status = await attempt.bind("one")
    assert status is not None
    assert status.message.startswith(
        "add allocation and reservation to claim default/wanted: the object has been modified"
    )


def test_a_reserved_device_is_unavailable_until_it_is_released() -> None:
    world = bench(claim(), claim("other"))
    first, second = start(world), start(world, "second", "other")
    assert first.nodes() == second.nodes() == ["one"]
    first.reserve("one")
    assert start(world, "second", "other").nodes() == []
    first.unreserve("one")
    first.unreserve("one")
    assert start(world, "second", "other").nodes() == ["one"]


def test_a_claim_in_the_making_is_shared_within_a_group_alone() -> None:
    world = bench(claim())
    member = start(world, group="default/gang")
    member.nodes()
    member.reserve("one")
    assert start(world, "stranger").nodes() == []
    sibling = start(world, "sibling", group="default/gang")
    assert sibling.nodes() == ["one"]
    sibling.reserve("one")
    member.unreserve("one")
    assert start(world, "stranger").nodes() == []
    sibling.unreserve("one")
    assert start(world, "stranger").nodes() == ["one"]


def test_members_of_a_transaction_see_each_others_devices_and_leave_nothing_behind() -> None:
    shared = device("a", capacity={"memory": "10Gi"}) | {"allowMultipleAllocations": True}
    names = [f"claim-{number}" for number in range(4)]
    part = exactly(1, capacity={"requests": {"memory": "4Gi"}})
    world = bench(*(make_claim(name, part) for name in names), devices=(shared, device("b")))
    before = in_use(world)
    placed: list[Attempt] = []
    for number, name in enumerate(names):
        member = start(world, f"member-{number}", name, group="default/gang")
        if member.nodes():
            assert member.reserve("one") is None
            placed.append(member)
    assert len(placed) == 2
    assert in_use(world) != before
    for member in reversed(placed):
        member.unreserve("one")
    assert in_use(world) == before


async def test_siblings_that_share_a_claim_are_all_in_its_reservations() -> None:
    world = bench(claim())
    members = [start(world, name, group="default/gang") for name in ("one", "two")]
    for member in members:
        member.nodes()
        assert member.reserve("one") is None
    for member in members:
        assert await member.bind("one") is None
    assert [each["name"] for each in world.claim("wanted")["status"]["reservedFor"]] == ["one", "two"]


async def test_a_written_change_counts_before_the_watch_reports_it() -> None:
    world = bench(claim(), claim("other"))
    attempt = start(world)
    attempt.nodes()
    attempt.reserve("one")
    await attempt.bind("one")
    assert start(world, "second", "other").nodes() == []
    assert start(world, "third").nodes() == ["one"]


@pytest.mark.parametrize(
    "there",
    [claim(), allocated(claim(), (GPU, "one", "a"), node="one"), allocated(claim(), (GPU, "one", "a"), reserved=[UID])],
    ids=["allocated by this attempt", "allocated before", "reserved by an earlier process"],
)
async def test_a_pod_that_is_not_bound_after_all_leaves_the_reservations(there: Object) -> None:
    world = bench(there)
    attempt = start(world)
    attempt.nodes()
    attempt.reserve("one")
    await attempt.bind("one")
    world.api.writes.clear()
    attempt.unreserve("one")
    await world.do_what_was_spawned()
    assert world.api.writes == [("patch", f"{CLAIMS}/wanted/status")]


async def test_a_claim_is_made_for_extended_resources_and_written_into_the_pods_status() -> None:
    world = bench()
    attempt = world.attempt(make_pod("user").requests({RESOURCE: "1"}))
    assert attempt.nodes() == ["one"]
    assert attempt.reserve("one") is None
    assert await attempt.bind("one") is None
    path, user = f"{CLAIMS}/user-extended-resources-x", "/api/v1/namespaces/default/pods/user"
    assert world.api.writes == [("create", CLAIMS), ("patch", f"{path}/status"), ("patch", f"{user}/status")]
    made = world.claim("user-extended-resources-x")
    assert made["metadata"]["finalizers"] == ["resource.kubernetes.io/delete-protection"]
    assert made["metadata"]["annotations"] == {"resource.kubernetes.io/extended-resource-claim": "true"}
    assert [owner["uid"] for owner in made["metadata"]["ownerReferences"]] == [UID]
    assert made["status"]["allocation"]["devices"]["results"][0]["device"] == "a"
    messages = world.api.objects[user]["status"]["extendedResourceClaimStatus"]
    assert messages["resourceClaimName"] == "user-extended-resources-x"
    made_for = {"admin_access": "false", "owner_api_group": "", "owner_api_kind": "Pod"}
    name = "dynamic_resource_allocation_resourceclaim_creates_total"
    assert world.metrics.value(name, status="success", **made_for) == 1
    attempt.unreserve("one")
    await world.do_what_was_spawned()
    assert path not in world.api.objects


@pytest.mark.parametrize("had_devices", [False, True])
async def test_no_claim_is_made_for_an_extended_resource_that_the_node_itself_offers(had_devices: bool) -> None:
    world = bench(allocated(claim(), (GPU, "one", "a"), node="one") if had_devices else claim())
    world.snapshot.set_node(from_plain(make_node("one").resources({RESOURCE: "1"}), Node))
    pod = make_pod("user").requests({RESOURCE: "1"})
    pod["spec"]["resourceClaims"] = [{"name": "own", "resourceClaimName": "wanted"}]
    attempt = world.attempt(pod)
    assert attempt.nodes() == ["one"]
    assert attempt.reserve("one") is None
    assert await attempt.bind("one") is None
    assert {path for _, path in world.api.writes} <= {f"{CLAIMS}/wanted", f"{CLAIMS}/wanted/status"}
    assert [each["uid"] for each in world.claim("wanted")["status"]["reservedFor"]] == [UID]
    assert not world.devices.claims.under_way()
    attempt.unreserve("one")
    assert len(world.handle.spawned) == 1
    await world.do_what_was_spawned()


CONDITIONS = {"bindingConditions": ["attached"], "bindingFailureConditions": ["broken"]}


def reported(*kinds: str) -> Object:
    conditions = [{"type": kind, "status": "True", "reason": "Said", "message": "so"} for kind in kinds]
    return {"devices": [{"driver": GPU, "pool": "one", "device": "a", "conditions": conditions}]}


async def test_a_pod_is_bound_once_its_devices_are_ready() -> None:
    world = bench(claim(), devices=(device("a") | CONDITIONS,))
    attempt = start(world)
    attempt.nodes()
    attempt.reserve("one")

    def driver_reports() -> None:
        known = world.claim("wanted")
        known["status"] |= reported("attached")
        known["metadata"]["resourceVersion"] = "99"
        world.put(known)

    began = world.handle.clock.now()
    world.handle.clock.call_later(7, driver_reports)
    binding = asyncio.ensure_future(attempt.bind("one"))
    while not binding.done():
        await asyncio.sleep(0)
        if (due := world.handle.clock.next_due()) is not None:
            world.handle.clock.move_to(due)
    assert await binding is None
    assert world.handle.reported == ["waiting for binding conditions for device on node one"]
    assert world.handle.clock.now() == began + 10
    labels = {"profile": "muster", "driver": GPU, "status": "success"}
    assert world.metrics.value("scheduler_dra_bindingconditions_allocations_total", **labels) == 1
    assert world.metrics.value("scheduler_dra_bindingconditions_wait_duration_seconds_sum", **labels) == 10


@pytest.mark.parametrize(
    ("says", "result"), [("broken", "failure"), ("other", "timeout")], ids=["fail", "are not ready in time"]
)
async def test_devices_that_make_binding_fail_are_counted_when_they(says: str, result: str) -> None:
    world = bench(claim(), devices=(device("a") | CONDITIONS,))
    attempt = start(world)
    attempt.nodes()
    attempt.reserve("one")
    binding = asyncio.ensure_future(attempt.bind("one"))
    await asyncio.sleep(0)
    while not binding.done():
        known = world.claim("wanted")
        known["status"] |= reported(says)
        known["metadata"]["resourceVersion"] = "99"
        world.put(known)
        if (due := world.handle.clock.next_due()) is not None:
            world.handle.clock.move_to(due)
        await asyncio.sleep(0)
    assert await binding is not None
    labels = {"profile": "muster", "driver": GPU, "status": result}
    assert world.metrics.value("scheduler_dra_bindingconditions_allocations_total", **labels) == 1


READINESS: dict[str, tuple[list[str], str]] = {
    "fails": (["broken"], ""),
    "fails after it was ready": (["attached", "broken"], ""),
    "takes too long": (["other"], "2025-01-01T00:00:00Z"),
}


@pytest.mark.parametrize("case", READINESS)
def test_a_claim_is_given_up_when_making_its_device_ready(case: str) -> None:
    kinds, since = READINESS[case]
    stuck = allocated(claim(), (GPU, "one", "a"), node="one")
    stuck["status"] |= reported(*kinds)
    stuck["status"]["allocation"]["devices"]["results"][0] |= CONDITIONS
    if since:
        stuck["status"]["allocation"]["allocationTimestamp"] = since
    world = bench(stuck)
    attempt = start(world)
    assert attempt.nodes() == []
    assert world.plugin.post_filter(attempt.state, attempt.pod, _nothing()) == (
        None,
        Status.unschedulable("deallocation of ResourceClaim completed"),
    )


FREED: dict[str, tuple[list[str], bool]] = {
    "nobody uses": ([], True),
    "the pod alone uses": ([UID], True),
    "somebody else uses": (["somebody"], False),
    "somebody else uses as well": ([UID, "somebody"], False),
}


@pytest.mark.parametrize("case", FREED)
async def test_devices_out_of_reach_are_given_back_of_a_claim_that(case: str) -> None:
    users, freed = FREED[case]
    world = bench(allocated(claim(), (GPU, "gone", "a"), node="gone", reserved=users))
    attempt = start(world)
    assert attempt.nodes() == []
    nominated, status = world.plugin.post_filter(attempt.state, attempt.pod, _nothing())
    reasons = ("deallocation of ResourceClaim completed",) if freed else ()
    assert (nominated, status) == (None, Status(Code.UNSCHEDULABLE, reasons))
    assert world.api.writes == []
    world.plugin.on_pod_decision(PodDecision(attempt.pod, attempt.state, "", Status.unschedulable("nowhere")))
    await world.do_what_was_spawned()
    assert ("allocation" in world.claim("wanted")["status"]) is not freed


@pytest.mark.parametrize(("end", "freed"), [("waits", False), ("is bound", False), ("gives its node up", True)])
async def test_devices_that_another_pod_with_a_node_is_to_use_are_not_given_back_unless_that_pod(
    end: str, freed: bool
) -> None:
    world = bench(allocated(claim(), (GPU, "one", "a"), node="one"))
    world.snapshot.set_node(from_plain(make_node("two"), Node))
    first, second = start(world, "first"), start(world)
    for attempt in (first, second):
        assert attempt.nodes() == ["one"]
    assert first.reserve("one") is None
    if end == "gives its node up":
        first.unreserve("one")
    elif end == "is bound":
        assert await first.bind("one") is None
        second = start(world)
        assert second.nodes() == ["one"]
    world.api.writes.clear()
    _, status = world.plugin.post_filter(second.state, second.pod, _nothing())
    assert status is not None
    assert status.message == ("deallocation of ResourceClaim completed" if freed else "")
    world.plugin.on_pod_decision(PodDecision(second.pod, second.state, "", Status.unschedulable("nowhere")))
    await world.do_what_was_spawned()
    assert world.api.writes == ([("patch", f"{CLAIMS}/wanted/status")] if freed else [])


async def test_the_last_pod_that_shares_devices_keeps_them_while_it_waits() -> None:
    world = bench(claim())
    world.snapshot.set_node(from_plain(make_node("two"), Node))
    members = [start(world, name, group="default/gang") for name in ("first", "last")]
    for member in members:
        member.nodes()
        assert member.reserve("one") is None
    first, last = members
    assert await first.bind("one") is None
    first.unreserve("one")
    world.handle.spawned.pop().close()
    left = world.claim("wanted")
    left["status"]["reservedFor"] = []
    left["metadata"]["resourceVersion"] = "9"
    world.put(left)
    other = start(world, "other")
    assert other.nodes() == ["one"]
    world.plugin.on_pod_decision(PodDecision(other.pod, other.state, "", Status.unschedulable("nowhere")))
    assert world.handle.spawned == []
    assert await last.bind("one") is None


async def test_a_claim_that_is_left_of_an_earlier_attempt_is_deleted() -> None:
    pod = make_pod("user").requests({RESOURCE: "1"})
    left = make_claim("left", exactly(1), owner=pod)
    left["metadata"] |= {
        "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
        "finalizers": ["resource.kubernetes.io/delete-protection"],
    }
    world = bench(left)
    attempt = world.attempt(pod)
    assert attempt.nodes() == []
    _, status = world.plugin.post_filter(attempt.state, attempt.pod, _nothing())
    assert status == Status.unschedulable("deletion of ResourceClaim completed")
    world.plugin.on_pod_decision(PodDecision(attempt.pod, attempt.state, "", Status.unschedulable("nowhere")))
    await world.do_what_was_spawned()
    assert f"{CLAIMS}/left" not in world.api.objects


def test_a_pod_without_claims_is_let_through_everywhere() -> None:
    world = bench()
    attempt = world.attempt(make_pod("user"))
    assert attempt.nodes() == ["one"]
    assert attempt.reserve("one") is None
    attempt.unreserve("one")
    preflight = world.plugin.pre_bind_pre_flight(CycleState(), attempt.pod, "one")
    assert preflight == Status.skip()


def in_use(world: Bench) -> dict[str, tuple[bool, bool, dict[str, int]]]:
    """What is taken and shared of each device, and how much of it."""
    use, ids = world.devices.inventory.use, [DeviceId(GPU, "one", name) for name in ("a", "b")]
    return {id_.device: (use.taken(id_), use.shared(id_), dict(use.consumed(id_))) for id_ in ids}


def _nothing() -> Diagnosis:
    return Diagnosis((), np.zeros(0, np.int32), np.zeros(0, np.int32))
