"""The first story of gangs, as somebody sees it who has kubectl and nothing else."""

import re

from tests.builders import make_node, make_pod
from tests.coscheduling.objects import make_members
from tests.coscheduling.real.conftest import AddNodes
from tests.coscheduling.real.gangs import GangCluster
from tests.e2e.eventually import eventually


def test_two_of_three_wait_and_say_so_and_the_third_starts_them_all(gangs: GangCluster, add_nodes: AddNodes) -> None:
    add_nodes(make_node("one", cpu="8"))
    gangs.add_group("train", 3)
    first, second, third = make_members("train", 3)
    gangs.add(first, second)
    for name in ("train-0", "train-1"):
        said = (
            f"0/1 nodes are available: pre-filter pod {name} cannot find enough sibling pods, "
            "current pods number: 2, minMember of group: 3."
        )
        eventually(lambda name=name, said=said: said in gangs.describe(name))  # type: ignore[misc]
        assert gangs.wait_until_unschedulable(name) == said
        assert re.search(r"^Status: +Pending$", gangs.describe(name), re.MULTILINE)

    gangs.add(third)
    assert gangs.wait_until_started("train", 3) == dict.fromkeys(("train-0", "train-1", "train-2"), "one")
    eventually(lambda: "Successfully assigned" in gangs.describe("train-2"))
    assert gangs.events("train-2", "FailedScheduling") == []
    eventually(lambda: "Scheduled" in gangs.kubectl("describe", "podgroup", "train"))


def test_three_pods_with_room_for_two_hold_nothing_that_a_smaller_pod_could_use(
    gangs: GangCluster, add_nodes: AddNodes
) -> None:
    add_nodes(make_node("one", cpu="2"))
    gangs.add_group("train", 3)
    gangs.add(*make_members("train", 3))
    said = (
        f"pod group {gangs.namespace}/train is unschedulable, 2 of the 3 members that it needs fit; "
        "with those 2 placed: 0/1 nodes are available: 1 Insufficient cpu."
    )
    for number in range(3):
        assert gangs.wait_until_unschedulable(f"train-{number}") == said
        eventually(lambda number=number: said in gangs.describe(f"train-{number}"))  # type: ignore[misc]

    eventually(lambda: said in gangs.kubectl("describe", "podgroup", "train"))
    gangs.add(make_pod("small").requests(cpu="2"))
    assert gangs.wait_until_bound("small") == ["one"]
    assert gangs.nodes("train") == {}

    add_nodes(make_node("two", cpu="3"))
    assert set(gangs.wait_until_started("train", 3).values()) == {"two"}


def test_pods_that_come_before_their_podgroup_wait_for_it_and_say_so(gangs: GangCluster, add_nodes: AddNodes) -> None:
    add_nodes(make_node("one", cpu="8"))
    gangs.add(*make_members("train", 2))
    said = 'waiting for pods\'s pod group "train" to appear in scheduling queue'
    for number in range(2):
        eventually(lambda number=number: said in gangs.describe(f"train-{number}"))  # type: ignore[misc]

    gangs.add_group("train", 2)
    gangs.wait_until_started("train", 2)


def test_a_gated_member_is_named_to_the_others(gangs: GangCluster, add_nodes: AddNodes) -> None:
    add_nodes(make_node("one", cpu="8"))
    gangs.add_group("train", 3)
    first, second, third = make_members("train", 3)
    gangs.add(first, second, third.gate("example.com/quota"))
    assert gangs.wait_until_unschedulable("train-0") == (
        "0/1 nodes are available: pre-filter pod train-0 cannot proceed due to gated pods in the same PodGroup: "
        "train-2."
    )

    gangs.api.patch(f"/api/v1/namespaces/{gangs.namespace}/pods/train-2", {"spec": {"schedulingGates": None}})
    gangs.wait_until_started("train", 3)
