"""Where pods would go, and what is said of those that would go nowhere."""

from muster.framework.config import load
from muster.framework.contract import Wait
from muster.operator.explain.group_trial import try_group
from muster.operator.process.settings import assemble, muster_configuration
from muster.plugins.capacityscheduling.api import ELASTIC_QUOTAS
from tests.builders import make_node, make_pod
from tests.capacityscheduling.objects import quota
from tests.scheduler.scripted import permitting
from tests.simulate.rehearsing import GANG_ID, GROUP_LABEL, member, muster_with, objects, place, pod_group, simulate

FULL = "0/1 nodes are available: 1 Insufficient cpu."


async def test_pods_are_placed_in_the_order_in_which_they_are_written() -> None:
    cluster = objects(make_node("one", cpu="2"), make_node("two", cpu="1"))
    wanted = objects(*(make_pod(name).requests(cpu="1") for name in ("c", "a", "b", "d")))
    placements, _ = await simulate(cluster, wanted)
    assert [(name, each.node) for name, each in placements.items()] == [
        ("c", "one"),
        ("a", "one"),
        ("b", "two"),
        ("d", ""),
    ]
    assert placements["d"].reason == (
        "0/2 nodes are available: 2 Insufficient cpu. "
        "preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod."
    )


async def test_pods_of_higher_priority_go_first() -> None:
    low, high = (make_pod(name).requests(cpu="1").priority(number) for name, number in (("low", 1), ("high", 2)))
    assert await place(objects(make_node("one", cpu="1")), objects(low, high)) == {"low": "", "high": "one"}


async def test_only_bound_pods_of_the_cluster_take_capacity() -> None:
    bound = make_pod("bound").requests(cpu="2").node("one")
    waiting = make_pod("waiting").requests(cpu="1")
    ended = make_pod("ended").requests(cpu="4").node("one").phase("Succeeded")
    cluster = objects(make_node("one", cpu="3"), bound, waiting, ended)
    assert await place(cluster, objects(make_pod("new").requests(cpu="1"))) == {"new": "one"}
    assert await place(cluster, objects(make_pod("new").requests(cpu="2"))) == {"new": ""}


async def test_pods_beyond_the_max_of_their_quota_wait_for_it_and_not_for_nodes() -> None:
    running = make_pod("running", namespace="ml").requests(cpu="1").node("one")
    cluster = objects(make_node("one", cpu="8"), running)
    cluster.watched[ELASTIC_QUOTAS] = [quota("ml", max={"cpu": "2"})]
    wanted = objects(*(make_pod(name, namespace="ml").requests(cpu="1") for name in ("a", "b")))
    placements, _ = await simulate(cluster, wanted)
    assert [(each.node, each.lacks_nodes) for each in placements.values()] == [("one", False), ("", False)]
    assert "namespace ml uses 2 of 2 cpu, its max; 1 more is needed" in placements["b"].reason


async def test_a_pod_that_is_in_the_cluster_already_is_placed_anew() -> None:
    pod = make_pod("web").requests(cpu="2").node("one").phase("Running")
    cluster = objects(make_node("one", cpu="3"), make_node("two", cpu="2"), pod)
    assert await place(cluster, objects(pod)) == {"web": "one"}


async def test_a_pod_that_names_no_scheduler_is_tried_by_the_first_profile_and_one_that_names_another_is_not() -> None:
    wanted = objects(make_pod("web").scheduler(""), make_pod("foreign").scheduler("default-scheduler"))
    assert await place(objects(make_node("one")), wanted) == {"web": "one", "foreign": ""}


async def test_members_of_a_group_to_which_no_profile_answers_are_not_tried() -> None:
    gang = [pod_group("gang", 2), member("mine", "gang"), member("astray", "gang").scheduler("mustre")]
    trial = await try_group(assemble(muster_configuration()), objects(make_node("one"), *gang), GANG_ID)
    assert trial is not None
    assert (trial.blocked, trial.help) == ("", None)
    placements, _ = await simulate(objects(make_node("one")), objects(*gang))
    assert {name: each.reason for name, each in placements.items()} == {
        "mine": trial.reason,
        "astray": "no profile answers to mustre (did you mean muster?), so the pod waits for a scheduler of that name",
    }


async def test_a_gang_that_fits_is_placed_whole() -> None:
    gang = [member(f"m-{number}", "gang").requests(cpu="1") for number in range(4)]
    cluster = objects(make_node("one", cpu="2"), make_node("two", cpu="2"))
    placements, missing = await simulate(cluster, objects(pod_group("gang", 4), *gang))
    assert sorted(each.node for each in placements.values()) == ["one", "one", "two", "two"]
    assert {each.group for each in placements.values()} == {"default/gang"}
    assert missing is None


async def test_a_gang_that_does_not_fit_takes_no_capacity_from_others() -> None:
    gang = [member(f"m-{number}", "gang").requests(cpu="1") for number in range(3)]
    single = make_pod("single").requests(cpu="2")
    placements, _ = await simulate(objects(make_node("one", cpu="2")), objects(pod_group("gang", 3), *gang, single))
    assert placements["single"].node == "one"
    reason = "pod group default/gang is unschedulable, 0 of the 3 members that it needs fit: "
    assert {each.reason for each in placements.values() if each.group} == {reason + FULL}


async def test_a_gang_of_the_cluster_counts_its_bound_members() -> None:
    there = [member(f"old-{number}", "gang").requests(cpu="1").node("one") for number in range(2)]
    cluster = objects(make_node("one", cpu="3"), pod_group("gang", 3), *there)
    assert await place(cluster, objects(member("new", "gang").requests(cpu="1"))) == {"new": "one"}


async def test_the_wanted_form_of_a_group_replaces_the_one_of_the_cluster() -> None:
    cluster = objects(make_node("one"), pod_group("gang", 9))
    assert await place(cluster, objects(pod_group("gang", 1), member("m", "gang"))) == {"m": "one"}


async def test_a_pod_that_nodes_cannot_help_has_its_reason_and_lacks_none() -> None:
    gated = make_pod("gated").gate("example.com/quota")
    early, lonely = member("early", "unknown"), member("lonely", "gang")
    placements, missing = await simulate(objects(make_node("one")), objects(gated, early, lonely, pod_group("gang", 2)))
    assert {name: each.reason for name, each in placements.items()} == {
        "gated": "Scheduling is blocked due to non-empty scheduling gates",
        "early": 'waiting for pods\'s pod group "unknown" to appear in scheduling queue',
        "lonely": "0/1 nodes are available: pre-filter pod lonely cannot find enough sibling pods, "
        "current pods number: 1, minMember of group: 2.",
    }
    assert missing is None


async def test_members_that_permit_holds_one_by_one_do_not_hold_up_the_end() -> None:
    config = """
    apiVersion: kubescheduler.config.k8s.io/v1
    kind: KubeSchedulerConfiguration
    profiles:
    - schedulerName: muster
      plugins: {multiPoint: {enabled: [{name: Coscheduling}], disabled: [{name: PrioritySort}]}}
      pluginConfig: [{name: Coscheduling, args: {placement: PodByPod}}]
    """
    gang = [member(f"m-{number}", "gang").requests(cpu="1") for number in range(2)]
    assembly = assemble(load(config, "test"))
    wanted = objects(pod_group("gang", 2), *gang)
    assert set((await place(objects(make_node("one", cpu="1")), wanted, assembly)).values()) == {""}
    assert set((await place(objects(make_node("one", cpu="2")), wanted, assembly)).values()) == {"one"}


async def test_members_that_another_plugin_holds_at_permit_have_a_node_and_the_plugins_reason() -> None:
    gate = permitting("Gate", Wait(900.0, ("closed until noon",)))
    gang = [member(f"m-{number}", "gang").requests(cpu="1") for number in range(2)]
    cluster = objects(make_node("one", cpu="2"), pod_group("gang", 2), *gang)
    wanted = objects(pod_group("gang", 2), *gang)
    placements, _ = await simulate(objects(make_node("one", cpu="2")), wanted, muster_with(gate))
    held = "waits on node one for Gate to permit it: closed until noon"
    assert [(each.node, each.reason) for each in placements.values()] == [("", held)] * 2
    trial = await try_group(muster_with(gate), cluster, GANG_ID)
    assert trial is not None
    assert (trial.reason, trial.lack, trial.help) == (held, None, None)


async def test_the_configuration_decides() -> None:
    config = """
    apiVersion: kubescheduler.config.k8s.io/v1
    kind: KubeSchedulerConfiguration
    profiles:
    - schedulerName: dense
      pluginConfig:
      - name: NodeResourcesFit
        args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}
      plugins: {score: {disabled: [{name: NodeResourcesBalancedAllocation}]}}
    """
    cluster = objects(make_node("empty"), make_node("used"), make_pod("old").requests(cpu="1").node("used"))
    wanted = objects(make_pod("web").scheduler("dense").requests(cpu="1").labels({GROUP_LABEL: "nobody-asks"}))
    assert await place(cluster, wanted, assemble(load(config, "test"))) == {"web": "used"}
    assert await place(cluster, objects(make_pod("web").requests(cpu="1"))) == {"web": "empty"}
