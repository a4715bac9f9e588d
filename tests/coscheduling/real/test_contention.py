"""Gangs that want the same room, on a real API server. Sizes are those of the reports unless a test says so."""

from tests.builders import make_node, make_pod
from tests.coscheduling.objects import make_member, make_members
from tests.coscheduling.real.conftest import AddNodes
from tests.coscheduling.real.gangs import GangCluster
from tests.e2e.eventually import eventually
from tests.e2e.muster_process import MusterProcess


def failures(muster: MusterProcess) -> float:
    """How often a group was tried and turned away."""
    labels = f'profile="{muster.name}",result="unschedulable"'
    return muster.metric(f"scheduler_podgroup_schedule_attempts_total{{{labels}}}")


def test_two_gangs_whose_pods_come_in_turns_never_keep_each_other_from_starting(
    gangs: GangCluster, add_nodes: AddNodes
) -> None:
    add_nodes(*(make_node(f"slot-{number}", cpu="1") for number in range(10)))
    for name in ("x", "y"):
        gangs.add_group(name, 6)
    for number in range(6):
        gangs.add(make_member(f"pod-{number}-x", "x"), make_member(f"pod-{number}-y", "y"))
    eventually(lambda: len(gangs.nodes()) >= 6)
    [started] = {name.rpartition("-")[2] for name in gangs.nodes()}
    other = "y" if started == "x" else "x"
    gangs.wait_until_said(f"pod-0-{other}", "4 of the 6 members that it needs fit")
    for name in gangs.nodes(started):
        gangs.delete(name)

    gangs.wait_until_started(other, 6)


def test_small_gangs_start_behind_one_that_is_too_large(gangs: GangCluster, add_nodes: AddNodes) -> None:
    add_nodes(make_node("one", cpu="9"))
    gangs.add_group("oversize", 20)
    gangs.add(*make_members("oversize", 20))
    gangs.wait_until_said("oversize-0", "is unschedulable, 9 of the 20 members that it needs fit")
    for number in range(3):
        gangs.add_group(f"small-{number}", 3)
        gangs.add(*make_members(f"small-{number}", 3))

    for number in range(3):
        gangs.wait_until_started(f"small-{number}", 3)
    assert gangs.nodes("oversize") == {}
    assert gangs.events("small-2-0", "FailedScheduling") == []


def test_a_gang_that_fits_in_sum_but_on_no_nodes_holds_nothing_and_is_not_tried_again_and_again(
    gangs: GangCluster, add_nodes: AddNodes, muster: MusterProcess
) -> None:
    gpu = "example.com/gpu"
    for number, free in enumerate(("6", "2", "2", "2")):
        add_nodes(make_node(f"gpu-{number}", cpu="100").resources({gpu: free}))
    gangs.add_group("train", 3, min_resources={gpu: "12"})
    gangs.add(*(pod.requests({gpu: "4"}).limits({gpu: "4"}) for pod in make_members("train", 3)))
    assert gangs.wait_until_unschedulable("train-2").endswith(
        "1 of the 3 members that it needs fit; with that one placed: "
        "0/4 nodes are available: 4 Insufficient example.com/gpu."
    )

    tried = failures(muster)
    assert tried > 0
    for number in range(6):
        gangs.add(make_pod(f"web-{number}").requests({gpu: "1"}).limits({gpu: "1"}))
        gangs.wait_until_bound(f"web-{number}")
    assert failures(muster) == tried
    assert gangs.nodes("train") == {}


def test_a_gang_of_high_priority_gets_the_room_that_one_of_low_priority_waits_for(
    gangs: GangCluster, add_nodes: AddNodes, priority_classes: dict[str, str]
) -> None:
    add_nodes(make_node("one", cpu="4"))
    gangs.create(make_pod("blocker").requests(cpu="4"), scheduler="nobody")
    gangs.bind("blocker", "one")
    for kind, name in priority_classes.items():  # low first
        gangs.add_group(kind, 4)
        gangs.add(*(pod.priority_class(name) for pod in make_members(kind, 4)))
        gangs.wait_until_unschedulable(f"{kind}-3")

    gangs.delete("blocker")
    gangs.wait_until_started("high", 4)
    assert gangs.nodes("low") == {}
    for name in gangs.nodes("high"):
        gangs.delete(name)
    gangs.wait_until_started("low", 4)


def test_with_one_node_free_neither_of_two_is_ever_bound(
    gangs: GangCluster, add_nodes: AddNodes, muster: MusterProcess
) -> None:
    """Forty gangs one after another, some of whose members go in the middle. In virtual time there are a thousand."""
    add_nodes(make_node("one", cpu="1"))
    for number in range(40):
        gangs.add_group(f"g-{number}", 2)
        gangs.add(*make_members(f"g-{number}", 2))
        if number % 4 == 0:
            gangs.delete(f"g-{number}-0")
            gangs.add(make_member(f"g-{number}-again", f"g-{number}"))
        assert gangs.nodes() == {}
    gangs.wait_until_said("g-39-1", "1 of the 2 members that it needs fit")

    assert gangs.nodes() == {}
    eventually(lambda: muster.metric('scheduler_cache_size{type="assumed_pods"}') == 0)


def test_the_second_of_two_spark_apps_waits_while_the_executors_of_the_first_are_coming(
    gangs: GangCluster, add_nodes: AddNodes
) -> None:
    add_nodes(make_node("one", cpu="5"), make_node("two", cpu="5"))
    for app in ("one", "two"):
        gangs.add_group(f"{app}-pg", 1, min_resources={"cpu": "6", "memory": "1Gi"})
    gangs.add(make_member("one-driver", "one-pg"))
    gangs.wait_until_bound("one-driver")
    gangs.add(make_member("two-driver", "two-pg"))
    gangs.wait_until_said("two-driver", "resource gap: map[cpu:2].")

    gangs.add(*(make_member(f"one-exec-{number}", "one-pg") for number in range(5)))
    gangs.wait_until_started("one-pg", 6)
    assert gangs.nodes("two-pg") == {}
    for name in gangs.nodes("one-pg"):
        gangs.delete(name)
    gangs.wait_until_bound("two-driver")


def test_ordinary_pods_are_bound_beside_gangs_that_wait(gangs: GangCluster, add_nodes: AddNodes) -> None:
    add_nodes(make_node("one", cpu="4"))
    gangs.add_group("train", 9)
    gangs.add(*make_members("train", 9), make_pod("web").requests(cpu="2"))

    assert gangs.wait_until_bound("web") == ["one"]
    assert gangs.nodes("train") == {}


def test_what_nodes_say_is_said_node_by_node_behind_the_word_of_the_group(
    gangs: GangCluster, add_nodes: AddNodes
) -> None:
    """The reason of whoever keeps the gang out must not be hidden behind talk of groups."""
    add_nodes(make_node("one", cpu="9"), make_node("two", cpu="1").labels(disk="ssd"))
    gangs.add_group("train", 2)
    gangs.add(*(pod.node_selector({"disk": "ssd"}) for pod in make_members("train", 2)))

    assert gangs.wait_until_unschedulable("train-1") == (
        f"pod group {gangs.namespace}/train is unschedulable, 1 of the 2 members that it needs fit; "
        "with that one placed: 0/2 nodes are available: "
        "1 Insufficient cpu, 1 node(s) didn't match Pod's node affinity/selector."
    )
