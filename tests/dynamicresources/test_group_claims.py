"""Claims of a PodGroup: its pods share them, and they are reserved for the group, once."""

import asyncio
from collections.abc import Sequence

import pytest

from muster.framework.contract import GroupDecision, PodDecision, PodInfo, Status
from muster.framework.model.meta import from_plain
from muster.framework.model.pod import Pod
from muster.plugins.dynamicresources.consumers import itself
from tests.builders import PodDict, make_node, make_pod
from tests.dynamicresources.bench import CLAIMS, Attempt, Bench, KeptApi
from tests.dynamicresources.objects import GPU, Object, allocated, device, exactly, make_claim, make_class, make_slice
from tests.gangscheduling.world import make_group

TRAIN = "GangScheduling/default/train"
GROUP = {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "train", "uid": "uid-train"}
ENTRY = {"name": "gpu", "resourceClaimTemplateName": "template"}
NAMED = {"name": "gpu", "resourceClaimName": "shared"}
REFUSED = Status.unschedulable("nowhere")


def bench(*claims: Object, entry: Object = ENTRY, nodes: Sequence[str] = ("one",)) -> Bench:
    """Nodes, of which `one` has two devices, and the group, which has a claim of this entry."""
    world = Bench(*map(make_node, nodes))
    world.put(make_class("gpu", f"device.driver == '{GPU}'"))
    world.put(make_slice("gpus", device("a"), device("b"), node="one"), *claims)
    group = make_group("train", 2, resourceClaims=[entry])
    group["metadata"]["uid"] = "uid-train"
    world.put_group(group)
    return world


def shared_claim() -> Object:
    """The claim that was made for the group."""
    claim = make_claim("shared", exactly(1))
    owner = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "name": "train", "uid": "uid-train"}
    claim["metadata"]["ownerReferences"] = [owner | {"controller": True}]
    return claim


def reserved(claim: Object, *consumers: Object, node: str = "one") -> Object:
    """The claim with a device of this node, reserved for these."""
    made = allocated(claim, (GPU, node, "a"), node=node)
    made["status"]["reservedFor"] = list(consumers)
    return made


def make_member(name: str, entry: Object = ENTRY) -> PodDict:
    """A pod of the group that refers to the claim so."""
    pod = make_pod(name)
    pod["spec"]["schedulingGroup"] = {"podGroupName": "train"}
    pod["spec"]["resourceClaims"] = [entry]
    pod["status"] = {"resourceClaimStatuses": [{"name": entry["name"], "resourceClaimName": "shared"}]}
    return pod


def placed(world: Bench, *names: str, entry: Object = ENTRY) -> list[Attempt]:
    """Members of the group with a node reserved for each."""
    members = [world.attempt(make_member(name, entry), TRAIN) for name in names]
    for member in members:
        assert member.nodes() == ["one"]
        assert member.reserve("one") is None
    return members


def refuse(world: Bench, members: Sequence[Attempt], *, fitting: bool = False) -> None:
    """The group is turned away, and so is each of these, unless they would have fitted."""
    reported = [PodDecision(member.pod, member.state, "", None if fitting else REFUSED) for member in members]
    world.plugin.on_group_decision(
        GroupDecision("GangScheduling", "default/train", REFUSED, REFUSED, 0, 2, reported, ())
    )


def tried(world: Bench, *names: str) -> list[Attempt]:
    """Members of the group that find no node."""
    members = [world.attempt(make_member(name), TRAIN) for name in names]
    for member in members:
        member.nodes()
    return members


def status(world: Bench) -> Object:
    found: Object = world.claim("shared")["status"]
    return found


def writes_of_status(world: Bench) -> int:
    return world.api.writes.count(("patch", f"{CLAIMS}/shared/status"))


def run(pod: PodDict) -> PodInfo:
    return PodInfo(from_plain(pod, Pod))


@pytest.mark.parametrize(("entry", "claim"), [(ENTRY, shared_claim()), (NAMED, make_claim("shared", exactly(1)))])
async def test_the_members_have_the_same_devices_and_the_group_is_in_the_reservations_once(
    entry: Object, claim: Object
) -> None:
    world = bench(claim, entry=entry)
    for member in placed(world, "a", "b", "c", entry=entry):
        assert await member.bind("one") is None
    assert status(world)["reservedFor"] == [GROUP]
    assert len(status(world)["allocation"]["devices"]["results"]) == 1
    assert writes_of_status(world) == 1


async def test_members_that_are_bound_at_the_same_time_reserve_it_once_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    patch = KeptApi.patch

    async def slow(api: KeptApi, path: str, body: bytes, *, content_type: str = "") -> bytes:
        await asyncio.sleep(0)
        return await patch(api, path, body, content_type=content_type)

    monkeypatch.setattr(KeptApi, "patch", slow)
    world = bench(shared_claim())
    members = placed(world, "a", "b", "c")
    assert await asyncio.gather(*(member.bind("one") for member in members)) == [None] * 3
    assert status(world)["reservedFor"] == [GROUP]


async def test_a_claim_that_another_process_gave_other_devices_meanwhile_is_not_used() -> None:
    world = bench(shared_claim())
    [member] = placed(world, "a")
    other = allocated(shared_claim(), (GPU, "one", "b"), node="one")
    other["status"]["reservedFor"] = [GROUP]
    other["metadata"]["resourceVersion"] = "7"
    world.api.objects[f"{CLAIMS}/shared"] = other
    assert await member.bind("one") == Status.failure("claim default/shared got allocated elsewhere in the meantime")


@pytest.mark.parametrize(
    "entry",
    [{"name": "other", "resourceClaimName": "shared"}, {"name": "gpu", "resourceClaimName": "shared"}],
    ids=["by another name", "from another source"],
)
async def test_a_member_that_refers_to_the_claim_otherwise_has_a_reservation_of_its_own(entry: Object) -> None:
    world = bench(make_claim("shared", exactly(1)))
    for member in placed(world, "a", "b", entry=entry):
        assert await member.bind("one") is None
    assert [each["name"] for each in status(world)["reservedFor"]] == ["a", "b"]


async def test_a_member_that_comes_later_writes_nothing() -> None:
    world = bench(reserved(shared_claim(), GROUP))
    [member] = placed(world, "late")
    assert await member.bind("one") is None
    assert world.api.writes == []


@pytest.mark.parametrize(
    ("owner", "who"),
    [
        ({"apiVersion": "scheduling.k8s.io/v1alpha3", "kind": "PodGroup", "name": "train"}, True),
        ({"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "name": "another"}, False),
        ({"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "Workload", "name": "train"}, False),
        ({"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup", "name": "train"}, False),
        ({"apiVersion": "v1", "kind": "Pod", "name": "train"}, False),
    ],
)
def test_a_generated_claim_is_that_of_the_pod_or_of_its_group(owner: Object, who: bool) -> None:
    claim = make_claim("shared", exactly(1))
    claim["metadata"]["ownerReferences"] = [owner | {"uid": "uid-owner", "controller": True}]
    reported = bench(claim).plugin.pre_enqueue(run(make_member("a")))
    reason = (
        "ResourceClaim default/shared was not created for Pod default/a (neither Pod nor PodGroup train is the owner)"
    )
    assert reported == (None if who else Status.unresolvable(reason))


async def test_a_member_that_is_not_bound_after_all_leaves_the_others_what_is_reserved_for_them() -> None:
    world = bench(shared_claim())
    one, two = placed(world, "a", "b")
    for member in (one, two):
        assert await member.bind("one") is None
    one.unreserve("one")
    await world.do_what_was_spawned()
    assert status(world)["reservedFor"] == [GROUP]
    assert writes_of_status(world) == 1


async def test_a_member_that_is_not_bound_after_all_gives_back_what_was_reserved_for_it_alone() -> None:
    own = {"resource": "pods", "name": "a", "uid": "pod-default-a"}
    world = bench(reserved(shared_claim(), GROUP, own))
    [member] = placed(world, "a")
    assert await member.bind("one") is None
    member.unreserve("one")
    await world.do_what_was_spawned()
    assert status(world)["reservedFor"] == [{"$patch": "delete", "uid": "pod-default-a"}], "the API removes this alone"


@pytest.mark.parametrize("fitting", [False, True])
async def test_a_group_that_is_refused_gives_back_devices_that_are_out_of_its_reach_once(fitting: bool) -> None:
    world = bench(reserved(shared_claim(), GROUP, node="gone"))
    refuse(world, tried(world, "a", "b"), fitting=fitting)
    await world.do_what_was_spawned()
    assert status(world) == {}
    assert writes_of_status(world) == 1


async def test_a_group_that_is_refused_for_something_else_keeps_its_devices_and_not_the_reservation() -> None:
    other = {"resource": "pods", "name": "other", "uid": "uid-other"}
    world = bench(reserved(shared_claim(), other, GROUP))
    refuse(world, tried(world, "a", "b"))
    await world.do_what_was_spawned()
    assert status(world)["reservedFor"] == [other]
    assert "allocation" in status(world)
    assert writes_of_status(world) == 1


@pytest.mark.parametrize("node", ["one", "gone"])
async def test_nothing_is_taken_from_a_group_of_which_a_pod_holds_a_node(node: str) -> None:
    world = bench(reserved(shared_claim(), GROUP, node=node))
    runs = run(make_member("runs").node("one"))
    world.plugin.on_pod(None, runs)
    refuse(world, tried(world, "a", "b"))
    await world.do_what_was_spawned()
    assert status(world)["reservedFor"] == [GROUP]
    world.plugin.on_pod(runs, None)
    refuse(world, tried(world, "a", "b"))
    await world.do_what_was_spawned()
    assert "reservedFor" not in status(world)


async def test_a_later_member_takes_no_devices_away_from_the_members_that_were_placed_before_it() -> None:
    world = bench(reserved(make_claim("shared", exactly(1))), entry=NAMED, nodes=("one", "two"))
    members = placed(world, "a", "b", entry=NAMED)
    late = world.attempt(make_member("late", NAMED), TRAIN)
    assert late.nodes() == ["one"], "the other node cannot use the devices"
    world.plugin.on_pod_decision(PodDecision(late.pod, late.state, "", REFUSED))
    await world.do_what_was_spawned()
    assert world.api.writes == []
    for member in members:
        assert await member.bind("one") is None
    assert status(world)["reservedFor"] == [GROUP]


async def test_a_group_that_is_refused_writes_nothing_into_a_claim_that_was_allocated_in_the_trial_alone() -> None:
    world = bench(make_claim("shared", exactly(1)), entry=NAMED, nodes=("one", "two"))
    [first] = placed(world, "a", entry=NAMED)
    second = world.attempt(make_member("b", NAMED), TRAIN)
    assert second.nodes() == ["one"], "the other node cannot use the devices"
    first.unreserve("one")
    refuse(world, [first, second])
    await world.do_what_was_spawned()
    assert world.api.writes == []


async def test_a_node_that_is_reserved_for_a_pod_counts_until_it_is_given_up_and_one_that_is_bound_keeps_it() -> None:
    world = bench(reserved(shared_claim(), GROUP))
    one, two = placed(world, "a", "b")
    consumers = world.devices.consumers
    one.unreserve("one")
    assert consumers.idle_group(two.pod) == ""
    world.plugin.on_pod(two.pod, bound := run(make_member("b").node("one")))
    two.unreserve("one")
    assert consumers.idle_group(one.pod) == ""
    world.plugin.on_pod(bound, None)
    assert consumers.idle_group(one.pod) == "uid-train"


async def test_a_reservation_that_is_being_taken_back_is_made_again_by_a_group_that_finds_its_place_meanwhile() -> None:
    world = bench(reserved(shared_claim(), GROUP))
    refuse(world, tried(world, "a", "b"))
    [member] = placed(world, "a")
    assert await member.bind("one") is None
    await world.do_what_was_spawned()
    assert status(world)["reservedFor"] == [GROUP]
    assert writes_of_status(world) == 2, "the second was refused: it goes by the version before"


async def test_a_member_is_not_bound_to_devices_that_were_given_back_meanwhile() -> None:
    world = bench(reserved(shared_claim(), GROUP), nodes=("one", "two"))
    refuse(world, tried(world, "a", "b"))
    [member] = placed(world, "a")
    await world.do_what_was_spawned()
    assert status(world) == {}
    reason = "claim default/shared got deallocated elsewhere in the meantime"
    assert await member.bind("one") == Status.failure(reason)


def test_claims_of_a_group_that_no_plugin_follows_are_the_pods_own() -> None:
    world = bench(shared_claim())
    world.handle.follows_groups = False
    [member] = placed(world, "a")
    assert world.devices.consumers.idle_group(member.pod) == ""
    assert world.devices.consumers.consumer(member.pod, member.pod.pod.spec.resource_claims[0]) == itself(member.pod)
