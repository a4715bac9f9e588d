"""Gangs whose members and PodGroups come, change and go, on a real API server."""

from collections.abc import Callable

from tests.builders import make_node
from tests.coscheduling.objects import make_member, make_members
from tests.coscheduling.real.conftest import AddNodes, StartMuster
from tests.coscheduling.real.gangs import GangCluster, used
from tests.e2e.eventually import eventually

WAITING = {"placement": "PodByPod", "permitWaitingTimeSeconds": 2, "podGroupRejectPercentage": 100}


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
    gangs.wait_until_said("large-0", "minMember of group: 370.")
    eventually(lambda: gangs.condition("large") == ("WaitingForPods", "369 of 370 pods exist"))
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

    gangs.set_phase("train-0", "Succeeded")
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
            gangs.set_phase(name, "Failed")


def test_a_name_in_two_namespaces_is_two_groups(
    gangs: GangCluster, elsewhere: GangCluster, add_nodes: AddNodes
) -> None:
    add_nodes(make_node("one", cpu="20"))
    for cluster in (gangs, elsewhere):
        cluster.add_group("train", 3)
        cluster.add(*make_members("train", 2))
    for cluster in (gangs, elsewhere):
        cluster.wait_until_said("train-0", "current pods number: 2, minMember of group: 3.")

    gangs.add(make_member("third", "train"))
    gangs.wait_until_started("train", 3)
    assert elsewhere.nodes() == {}


def test_a_timeout_of_nothing_is_the_one_of_the_configuration(
    start_muster: StartMuster, make_gangs: Callable[[str], GangCluster], add_nodes: AddNodes
) -> None:
    """Pod by pod, since a gang that is placed whole has nobody who waits for long."""
    process = start_muster(args=WAITING)
    gangs = make_gangs(process.name)
    add_nodes(make_node("one", cpu="2"))
    gangs.add_group("train", 3, timeout=0)
    gangs.add(*make_members("train", 3))
    said = "rejected due to timeout after waiting 2s at plugin Coscheduling"
    eventually(lambda: any(said in note for number in range(3) for note in gangs.said(f"train-{number}")))

    assert gangs.nodes() == {}
    add_nodes(make_node("two", cpu="1"))
    gangs.wait_until_started("train", 3)


def test_a_timeout_above_a_quarter_of_an_hour_is_cut_and_the_podgroup_is_warned(
    gangs: GangCluster, add_nodes: AddNodes
) -> None:
    add_nodes(make_node("one", cpu="2"))
    gangs.add_group("train", 2, timeout=3600)
    gangs.add(*make_members("train", 2))

    gangs.wait_until_started("train", 2)
    said = "spec.scheduleTimeoutSeconds of 3600 is cut to 900 (15m)"
    eventually(lambda: said in gangs.kubectl("describe", "podgroup", "train"))
