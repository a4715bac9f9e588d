"""PreFilter: whether the members of a group may be tried at all, and what is said when not."""

import pytest

from muster.framework.contract import CycleState, NodeView, PodDecision, Status
from tests.builders import make_node, make_pod
from tests.coscheduling.announced import word
from tests.coscheduling.objects import make_member, make_members
from tests.coscheduling.world import World


def pre_filter(world: World, key: str) -> Status | None:
    """What the plugin says to a pod, which is turned away then."""
    info = world.engine.known.get(key)
    assert info is not None
    snapshot, state = world.engine.cache.snapshot, CycleState()
    status = world.plugin().pre_filter(state, info, NodeView(snapshot, snapshot.live_rows()))
    world.plugin().on_pod_decision(PodDecision(info, state, "", status or Status.unschedulable("no node")))
    return status


def text(status: Status | None) -> tuple[str, str]:
    """Code and message; both empty for success."""
    return ("", "") if status is None else (status.code.wire_name, status.message)


def test_a_pod_of_no_group_passes() -> None:
    world = World()
    world.add_group("g", 1)
    [key] = world.add(make_pod("p"))

    assert pre_filter(world, key) is None


def test_a_pod_whose_podgroup_has_gone_in_the_meantime_waits_for_it() -> None:
    world = World()
    [key] = world.add(make_member("p", "g"))

    assert text(pre_filter(world, key)) == (
        "Pending",
        'waiting for pods\'s pod group "g" to appear in scheduling queue',
    )


def test_fewer_members_than_min_member_are_rejected_with_both_numbers() -> None:
    world = World()
    world.add_group("g", 3)
    world.add_group("other", 3)
    keys = world.add(*make_members("g", 2), *make_members("other", 1))

    assert text(pre_filter(world, keys[1])) == (
        "Pending",
        "pre-filter pod g-1 cannot find enough sibling pods, current pods number: 2, minMember of group: 3",
    )
    assert word(world, "g") == ("WaitingForPods", "2 of 3 pods exist")


@pytest.mark.parametrize("count", [2, 3])
def test_as_many_members_as_minmember_or_more_pass(count: int) -> None:
    world = World()
    world.add_group("g", 2)
    keys = world.add(*make_members("g", count))

    assert pre_filter(world, keys[0]) is None


def test_members_that_another_scheduler_places_count_as_siblings() -> None:
    world = World()
    world.add_group("g", 2)
    keys = world.add(make_member("ours", "g"), make_member("theirs", "g").scheduler("somebody-else"))

    assert pre_filter(world, keys[0]) is None


def test_members_that_are_being_deleted_do_not_count() -> None:
    world = World()
    world.add_group("g", 2)
    keys = world.add(*make_members("g", 2))
    world.terminate(keys[1])

    assert text(pre_filter(world, keys[0]))[1].endswith("current pods number: 1, minMember of group: 2")


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_members_that_have_ended_do_not_count(phase: str) -> None:
    world = World()
    world.add_group("g", 2)
    keys = world.add(make_member("g-0", "g"), make_member("g-1", "g").node("a"))
    world.set_phase(keys[1], phase)

    assert text(pre_filter(world, keys[0]))[1].endswith("current pods number: 1, minMember of group: 2")


def test_members_of_the_same_group_name_elsewhere_do_not_count() -> None:
    world = World()
    world.add_group("g", 2)
    keys = world.add(make_member("g-0", "g"), make_member("g-1", "g", namespace="elsewhere"))

    assert text(pre_filter(world, keys[0]))[1].endswith("current pods number: 1, minMember of group: 2")


def test_gated_members_are_named_when_the_quorum_needs_them() -> None:
    world = World()
    world.add_group("g", 2)
    keys = world.add(make_member("ready", "g"), make_member("b", "g").gate("x"), make_member("a", "g").gate("x"))
    said = "pre-filter pod ready cannot proceed due to gated pods in the same PodGroup: a, b"

    assert text(pre_filter(world, keys[0])) == ("Pending", said)
    assert word(world, "g") == ("GatedPods", said)


def test_only_some_of_many_gated_members_are_named() -> None:
    world = World()
    world.add_group("g", 8)
    keys = world.add(make_member("ready", "g"), *(pod.gate("x") for pod in make_members("g", 7)))

    assert text(pre_filter(world, keys[0]))[1].endswith(": g-0, g-1, g-2, g-3, g-4 and 2 more")


def test_gated_members_beyond_the_quorum_do_not_delay_the_group() -> None:
    world = World()
    world.add_group("g", 2)
    keys = world.add(*make_members("g", 2), make_member("gated", "g").gate("x"))

    assert pre_filter(world, keys[0]) is None


def test_minresources_that_are_free_in_sum_pass_although_no_node_has_them() -> None:
    world = World()
    world.add_nodes(make_node("a", cpu="4"), make_node("b", cpu="4"))
    world.add_group("g", 2, min_resources={"cpu": "6"})
    keys = world.add(*make_members("g", 2, cpu="3"))

    assert pre_filter(world, keys[0]) is None


def test_resources_that_minresources_lacks_are_named() -> None:
    world = World()
    world.add_nodes(make_node("a", cpu="4", memory="4Gi"), make_node("b", cpu="4", memory="4Gi"))
    world.add_group("g", 2, min_resources={"cpu": "10", "memory": "10Gi", "example.com/gpu": 4, "pods": "1"})
    keys = world.add(*make_members("g", 2, cpu="3"))
    said = "resource gap: map[cpu:2 example.com/gpu:4 memory:2Gi]"

    assert text(pre_filter(world, keys[0])) == ("Unschedulable", said)
    assert word(world, "g") == ("NotEnoughResources", said)


def test_places_for_as_many_pods_as_minmember_belong_to_minresources() -> None:
    world = World()
    world.add_nodes(make_node("a", pods="2"))
    world.add_group("g", 3, min_resources={"cpu": "1"})
    keys = world.add(*make_members("g", 3))

    assert text(pre_filter(world, keys[0]))[1] == "resource gap: map[pods:1]"


def test_capacity_that_other_pods_use_is_not_free() -> None:
    world = World()
    world.add_nodes(make_node("a", cpu="3"), make_node("b", cpu="3"))
    world.add(make_pod("x").requests(cpu="2").node("a"), make_pod("y").requests(cpu="1").node("b"))
    world.add_group("g", 1, min_resources={"cpu": "4"})
    keys = world.add(make_member("g-0", "g"))

    assert text(pre_filter(world, keys[0]))[1] == "resource gap: map[cpu:1]"


def test_capacity_that_the_groups_own_members_use_counts_as_free() -> None:
    world = World()
    world.add_nodes(make_node("a", cpu="3"), make_node("b", cpu="3"))
    world.add(make_pod("y").requests(cpu="1").node("b"))
    world.add_group("g", 1, min_resources={"cpu": "4"})
    keys = world.add(make_member("mine", "g", cpu="2").node("a"), make_member("g-0", "g"))

    assert pre_filter(world, keys[1]) is None


def test_capacity_of_nodes_that_no_member_may_use_does_not_count() -> None:
    world = World()
    world.add_nodes(
        make_node("fine", cpu="2"),
        make_node("tainted", cpu="8").taint("dedicated"),
        make_node("cordoned", cpu="8").unschedulable(),
        make_node("elsewhere", cpu="8").labels(disk="hdd"),
    )
    world.api.change("nodes", "fine", lambda node: node["metadata"]["labels"].update(disk="ssd"))
    world.add_group("g", 2, min_resources={"cpu": "4"})
    keys = world.add(*(pod.node_selector({"disk": "ssd"}) for pod in make_members("g", 2, cpu="2")))

    assert text(pre_filter(world, keys[0]))[1] == "resource gap: map[cpu:2]"


def test_capacity_that_one_kind_of_member_may_use_counts_for_the_group() -> None:
    world = World()
    world.add_nodes(make_node("fine", cpu="2"), make_node("tainted", cpu="2").taint("dedicated"))
    world.add_group("g", 2, min_resources={"cpu": "4"})
    plain, tolerant = make_members("g", 2, cpu="2")
    keys = world.add(plain, tolerant.tolerate("dedicated"))

    assert pre_filter(world, keys[0]) is None


def test_capacity_of_every_node_counts_while_members_are_missing() -> None:
    world = World()
    world.add_nodes(make_node("fine", cpu="2"), make_node("tainted", cpu="8").taint("dedicated"))
    world.add_group("g", 1, min_resources={"cpu": "8"})
    keys = world.add(make_member("driver", "g"))

    assert pre_filter(world, keys[0]) is None


def test_min_resources_without_min_member_are_checked_too() -> None:
    world = World()
    world.add_nodes(make_node("a", cpu="1"))
    world.add_group("g", min_resources={"cpu": "2"})
    keys = world.add(make_member("p", "g"))

    assert text(pre_filter(world, keys[0]))[1] == "resource gap: map[cpu:1]"


def test_minresources_that_cannot_be_read_are_named() -> None:
    world = World()
    world.add_nodes(make_node("a"))
    world.add_group("g", 1, min_resources={"cpu": "a lot"})
    keys = world.add(make_member("p", "g"))

    code, message = text(pre_filter(world, keys[0]))
    assert code == "UnschedulableAndUnresolvable"
    assert message.startswith("spec.minResources: ")
    assert "a lot" in message
    assert word(world, "g")[0] == "NotEnoughResources"


def test_minresources_of_another_group_that_cannot_be_read_hold_nobody_back() -> None:
    world = World()
    world.add_nodes(make_node("a", cpu="4"))
    world.add_group("broken", 1, min_resources={"cpu": "a lot"})
    world.add_group("g", 1, min_resources={"cpu": "1"})
    keys = world.add(make_member("b", "broken").node("a"), make_member("p", "g"))

    assert pre_filter(world, keys[1]) is None


@pytest.mark.parametrize(
    ("amount", "said"),
    [("1500m", "1500m"), ("2", "2"), (3, "3")],
)
def test_missing_cores_are_written_as_go_writes_them(amount: object, said: str) -> None:
    world = World()
    world.add_nodes(make_node("a", cpu="0"))
    world.add_group("g", 1, min_resources={"cpu": amount})
    keys = world.add(make_member("p", "g"))

    assert text(pre_filter(world, keys[0]))[1] == f"resource gap: map[cpu:{said}]"


@pytest.mark.parametrize(
    ("amount", "said"), [("1Gi", "1Gi"), ("1536Mi", "1536Mi"), ("1000", "1000"), ("1G", "1000000000"), ("1Ti", "1Ti")]
)
def test_missing_memory_is_written_with_the_largest_unit_that_divides_it(amount: str, said: str) -> None:
    world = World()
    world.add_nodes(make_node("a", memory="0"))
    world.add_group("g", 1, min_resources={"memory": amount})
    keys = world.add(make_member("p", "g"))

    assert text(pre_filter(world, keys[0]))[1] == f"resource gap: map[memory:{said}]"


async def test_a_negative_timeout_that_no_webhook_refused_is_reported_on_the_group_until_it_is_mended(
    world: World,
) -> None:
    world.add_nodes(make_node("one", cpu="8"))
    key = world.add_group("g", 2, timeout=-5)
    world.add(*make_members("g", 2))
    await world.settle()

    text = "spec.scheduleTimeoutSeconds: Invalid value: -5: should be greater than or equal to 0"
    assert word(world, "g") == ("Unschedulable", text)
    assert world.bound("g") == []

    world.api.change("podgroups", key, lambda group: group["spec"].update(scheduleTimeoutSeconds=5))
    await world.run(20)
    assert len(world.bound("g")) == 2
