"""What went wrong with gangs elsewhere, on a real API server. Sizes are those of the reports unless a test says so."""

from tests.builders import make_node, make_pod
from tests.coscheduling.objects import make_member, make_members
from tests.coscheduling.real.conftest import AddNodes
from tests.coscheduling.real.gangs import GangCluster, used
from tests.e2e.eventually import eventually
from tests.e2e.muster_process import MusterProcess


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


def test_pods_that_trickle_in_start_with_the_last_one_though_their_podgroup_comes_in_between(
    gangs: GangCluster, add_nodes: AddNodes
) -> None:
    add_nodes(make_node("one", cpu="20"))
    pods = make_members("late", 10)
    for pod in pods[:5]:
        gangs.add(pod)
    eventually(lambda: gangs.said("late-4"))
    gangs.add_group("late", 10)
    for pod in pods[5:9]:
        gangs.add(pod)
        eventually(lambda name=pod.name: gangs.scheduled_condition(name))  # type: ignore[misc]
    assert gangs.nodes() == {}

    gangs.add(pods[9])
    gangs.wait_until_started("late", 10)
    assert gangs.said("late-9") == []


def test_370_pods_start_whole_on_400_nodes(gangs: GangCluster, add_nodes: AddNodes) -> None:
    add_nodes(*(make_node(f"large-{number}", cpu="1") for number in range(400)))
    gangs.add_group("large", 370)
    gangs.add(*make_members("large", 369))
    gangs.wait_until_said("large-0", "current pods number: 369, minMember of group: 370.")
    assert gangs.nodes() == {}
    gangs.add(make_member("large-369", "large"))

    placed = gangs.wait_until_started("large", 370)
    assert max(used(placed).values()) == 1


def test_a_quorum_that_changes_while_the_gang_waits_and_while_it_runs_is_what_counts(
    gangs: GangCluster, add_nodes: AddNodes
) -> None:
    add_nodes(make_node("one", cpu="20"))
    gangs.add_group("ray", 5)
    gangs.add(*make_members("ray", 3))
    gangs.wait_until_said("ray-2", "current pods number: 3, minMember of group: 5.")
    gangs.change_group("ray", minMember=3)
    gangs.wait_until_started("ray", 3)

    gangs.change_group("ray", minMember=5)
    gangs.add(make_member("fourth", "ray"))
    gangs.wait_until_said("fourth", "current pods number: 4, minMember of group: 5.")
    gangs.add(make_member("fifth", "ray"))
    gangs.wait_until_started("ray", 5)

    # As after a scale-down of KubeRay, which leaves its PodGroup as it is.
    for name in ("ray-0", "ray-1", "fourth"):
        gangs.delete(name)
    gangs.add(make_member("again", "ray"))
    gangs.wait_until_said("again", "current pods number: 3, minMember of group: 5.")
    gangs.change_group("ray", minMember=3)
    gangs.wait_until_bound("again")


def test_members_that_go_and_come_while_siblings_run(gangs: GangCluster, add_nodes: AddNodes) -> None:
    add_nodes(make_node("one", cpu="20"))
    gangs.add_group("train", 3)
    gangs.add(*make_members("train", 3), make_member("gated", "train").gate("example.com/quota"))
    gangs.wait_until_started("train", 3)
    gangs.delete("train-1")
    gangs.add(make_member("successor", "train"))
    gangs.wait_until_bound("successor")

    gangs.kubectl("patch", "pod", "train-0", "--subresource=status", '--patch={"status": {"phase": "Succeeded"}}')
    gangs.add(make_member("next", "train"))
    gangs.wait_until_bound("next")
    gangs.api.patch(f"/api/v1/namespaces/{gangs.namespace}/pods/gated", {"spec": {"schedulingGates": None}})
    gangs.wait_until_bound("gated")


def test_a_name_that_is_used_again_after_its_gang_failed_starts_again(gangs: GangCluster, add_nodes: AddNodes) -> None:
    add_nodes(make_node("one", cpu="20"))
    gangs.add_group("train", 2)
    for life in range(2):
        names = [f"life-{life}-{number}" for number in range(2)]
        gangs.add(*(make_member(name, "train") for name in names))
        gangs.wait_until_bound(*names)
        for name in names:
            patch = '--patch={"status": {"phase": "Failed"}}'
            gangs.kubectl("patch", "pod", name, "--subresource=status", patch)


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


def test_what_nodes_say_is_said_node_by_node_behind_the_word_of_the_group(
    gangs: GangCluster, add_nodes: AddNodes
) -> None:
    """The reason of whoever keeps the gang out must not be hidden behind talk of groups."""
    add_nodes(make_node("one", cpu="9"), make_node("two", cpu="1").labels(disk="ssd"))
    gangs.add_group("train", 2)
    gangs.add(*(pod.node_selector({"disk": "ssd"}) for pod in make_members("train", 2)))

    assert gangs.wait_until_unschedulable("train-1") == (
        f"pod group {gangs.namespace}/train is unschedulable, 1 of the 2 members that it needs fit: "
        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match Pod's node affinity/selector."
    )


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


def test_ordinary_pods_are_bound_beside_gangs_that_wait(gangs: GangCluster, add_nodes: AddNodes) -> None:
    add_nodes(make_node("one", cpu="4"))
    gangs.add_group("train", 9)
    gangs.add(*make_members("train", 9), make_pod("web").requests(cpu="2"))

    assert gangs.wait_until_bound("web") == ["one"]
    assert gangs.nodes("train") == {}
