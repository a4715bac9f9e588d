"""What Kueue does to workloads, and what Muster makes of it: admission, eviction, and being queued again."""

from typing import Any

from muster.framework.model.run_seconds import RUN_SECONDS
from muster.testing import configuration_of
from tests.builders import PodDict, make_node, make_pod
from tests.coscheduling.objects import make_group
from tests.kueue.cluster import KueueCluster, on_the_page
from tests.kueue.names import GROUP, PODS_READY_TIMEOUT, PREEMPTED, PRIORITY_CLASS, QUEUE, TOTAL_COUNT, ClusterQueue

NATIVE = "scheduling.k8s.io/v1beta1"


def gated(group: str, count: int, *, first: int = 0, priority: str = "") -> list[PodDict]:
    """A group of pods of one core each, as a user of Kueue makes them."""
    labels = {QUEUE: "team", GROUP: group, "scheduling.x-k8s.io/pod-group": group}
    labels |= {PRIORITY_CLASS: priority} if priority else {}
    pods = [make_pod(f"{group}-{number}").requests(cpu="1").labels(labels) for number in range(first, first + count)]
    return [pod.annotations({TOTAL_COUNT: str(count)}) for pod in pods]


def job(name: str, count: int, cpu: str = "1", **labels: str) -> dict[str, Any]:
    """The Job of the page under another name, with other sizes."""
    _, found = on_the_page("name: sample")
    found["metadata"] = {"name": name, "labels": {QUEUE: "team", **labels}}
    found["spec"] |= {"parallelism": count, "completions": count}
    found["spec"]["template"]["metadata"]["labels"] = {"scheduling.x-k8s.io/pod-group": name}
    found["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = cpu
    return found


def used(cluster: KueueCluster) -> dict[str, str]:
    """What the namespace uses by its ElasticQuota."""
    found: dict[str, str] = cluster.status("quota", kind="ElasticQuota")["used"]
    return found


def test_an_admitted_job_starts_whole_as_soon_as_its_gang_fits() -> None:
    blocker = make_pod("blocker").requests(cpu="1800m")
    with KueueCluster(ClusterQueue(cpu=10), [make_node("a", cpu="2")]) as cluster:
        cluster.apply(blocker)
        cluster.run(5)
        cluster.apply(*on_the_page("name: sample"))
        cluster.run(30)
        assert (cluster.kueue.admitted, cluster.nodes_of("sample")) == (["job-sample"], [])
        assert len(cluster.pods("sample")) == 3

        cluster.delete("blocker")
        cluster.run(30)
        assert cluster.nodes_of("sample") == ["a", "a", "a"]


def test_a_job_without_quota_has_no_pods_and_its_group_waits_for_them() -> None:
    with KueueCluster(ClusterQueue(cpu=0.2), [make_node("a")]) as cluster:
        cluster.apply(*on_the_page("name: sample"))
        cluster.run(30)
        assert (cluster.kueue.admitted, cluster.pods()) == ([], [])
        [condition] = cluster.status("sample")["conditions"]
        assert (condition["reason"], condition["message"]) == ("WaitingForPods", "0 of 3 pods exist")


def test_an_admitted_group_of_plain_pods_passes_its_gates_and_starts_whole() -> None:
    with KueueCluster(ClusterQueue(cpu=2), [make_node("a"), make_node("b")]) as cluster:
        cluster.apply(make_group("busy", 2), *gated("busy", 2))
        cluster.apply(*on_the_page("name: gated-0"))
        cluster.run(10)
        assert (len(cluster.nodes_of("busy")), cluster.nodes_of("gated")) == (2, [])
        assert cluster.status("gated")["conditions"][0]["reason"] == "GatedPods"

        cluster.delete("busy-0")
        cluster.delete("busy-1")
        cluster.run(10)
        assert (cluster.kueue.admitted, len(cluster.nodes_of("gated"))) == (["gated"], 2)


def test_the_gang_goes_to_the_nodes_of_the_flavor_that_it_was_admitted_with() -> None:
    nodes = [make_node("a"), make_node("b").labels(pool="batch")]
    with KueueCluster(ClusterQueue(cpu=4, flavor={"pool": "batch"}), nodes) as cluster:
        cluster.apply(make_group("pods", 2), *gated("pods", 2), make_group("job", 2), job("job", 2))
        cluster.run(20)
        assert cluster.nodes_of() == ["b", "b", "b", "b"]


def test_a_native_group_that_kueue_creates_starts_whole_when_its_pods_are_admitted() -> None:
    with KueueCluster(ClusterQueue(cpu=1), [make_node("a", cpu="1100m")]) as cluster:
        cluster.apply(make_pod("blocker").requests(cpu="1"))
        cluster.run(5)
        cluster.apply(*on_the_page("name: native-0"))
        cluster.run(10)
        assert (cluster.kueue.admitted, cluster.nodes_of("native")) == (["native"], [])
        cluster.delete("blocker")
        cluster.run(30)
        assert cluster.nodes_of("native") == ["a", "a"]
        [condition] = [
            each for each in cluster.status("native", api=NATIVE)["conditions"] if each["type"] != "Disrupted"
        ]
        assert condition["status"] == "True"


def test_gated_pods_are_not_unschedulable_and_hold_and_claim_and_evict_nothing() -> None:
    quota = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "ElasticQuota", "metadata": {"name": "quota"}}
    urgent = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "pressing"}}
    with KueueCluster(ClusterQueue(cpu=0), [make_node("a", cpu="2")]) as cluster:
        cluster.apply(urgent | {"value": 1000}, quota | {"spec": {"min": {"cpu": "2"}, "max": {"cpu": "2"}}})
        cluster.apply(make_pod("first").requests(cpu="1"))
        cluster.apply(make_group("gang", 2), *(pod.priority_class("pressing") for pod in gated("gang", 2)))
        cluster.run(700)
        assert cluster.waits_because("gang") == {"SchedulingGated"}
        assert cluster.status("gang")["conditions"][0]["reason"] == "GatedPods"
        assert (used(cluster), cluster.holds_nothing()) == ({"cpu": "1"}, True)

        cluster.apply(make_pod("second").requests(cpu="1"))
        cluster.run(30)
        assert cluster.nodes_of() == ["a", "a"]
        assert used(cluster) == {"cpu": "2"}


def test_an_evicted_job_gives_back_at_once_what_its_gang_held() -> None:
    queue = ClusterQueue(cpu=4, priorities={"high": 100})
    with KueueCluster(queue, [make_node("a", cpu="2"), make_node("b", cpu="2")]) as cluster:
        cluster.apply(make_group("low", 4), job("low", 4))
        cluster.run(20)
        assert len(cluster.nodes_of("low")) == 4

        cluster.apply(make_group("high", 3), job("high", 3, **{PRIORITY_CLASS: "high"}))
        cluster.run(20)
        assert (cluster.kueue.evictions, cluster.kueue.admitted) == ([("job-low", PREEMPTED)], ["job-high"])
        assert (len(cluster.nodes_of("high")), cluster.pods("low")) == (3, [])
        assert cluster.status("low")["conditions"][0]["reason"] == "WaitingForPods"
        assert cluster.holds_nothing()


def test_an_evicted_group_holds_no_node_though_a_finalizer_keeps_its_pods_and_starts_anew_with_others() -> None:
    queue = ClusterQueue(cpu=4, priorities={"high": 100})
    with KueueCluster(queue, [make_node("a", cpu="2"), make_node("b", cpu="2")]) as cluster:
        cluster.apply(make_group("low", 4), *gated("low", 4))
        cluster.run(20)
        assert len(cluster.nodes_of("low")) == 4
        cluster.apply(make_group("high", 4), *gated("high", 4, priority="high"))
        cluster.run(20)
        assert (len(cluster.nodes_of("high")), len(cluster.pods("low"))) == (4, 4)
        assert cluster.holds_nothing()

        cluster.apply(*gated("low", 4, first=4))
        cluster.run(20)
        assert cluster.waits_because("low") == {"SchedulingGated"}
        for number in range(4):
            cluster.delete(f"high-{number}")
        cluster.run(20)
        assert [pod["metadata"]["name"] for pod in cluster.pods("low")] == ["low-4", "low-5", "low-6", "low-7"]
        assert len(cluster.nodes_of("low")) == 4


def test_a_gang_that_is_evicted_while_it_waits_with_a_reservation_leaves_nothing_reserved() -> None:
    with KueueCluster(ClusterQueue(cpu=9), [make_node("a", cpu="2"), make_node("b", cpu="2")]) as cluster:
        for number in range(3):
            cluster.apply(make_pod(f"small-{number}").requests(cpu="1").annotations({RUN_SECONDS: "4000"}))
        cluster.run(5)
        cluster.apply(make_group("big", 4), job("big", 4))
        cluster.run(400)
        assert (cluster.kueue.admitted, cluster.nodes_of("big")) == (["job-big"], [])
        assert not cluster.holds_nothing()

        cluster.kueue.evict("job-big")
        cluster.run(2)
        assert cluster.holds_nothing()


def test_a_workload_whose_topology_assignment_no_longer_fits_waits_whole_and_starts_on_the_next_one() -> None:
    queue = ClusterQueue(cpu=3, levels=("example.com/rack",), ready_within=60, backoff=10)
    nodes = [make_node(f"{rack}-{i}", cpu="2").labels({"example.com/rack": rack}) for rack in "rs" for i in range(2)]
    with KueueCluster(queue, nodes) as cluster:
        cluster.hold_muster()
        cluster.apply(*on_the_page("name: racked"))
        cluster.run(10)
        selected = sorted(pod["spec"]["nodeSelector"]["kubernetes.io/hostname"] for pod in cluster.pods("racked"))
        assert selected == ["r-0", "r-0", "r-1"]
        cluster.apply(make_pod("intruder").requests(cpu="2").node("r-0"))
        cluster.let_muster_go()
        cluster.run(30)
        assert (cluster.kueue.admitted, cluster.nodes_of("racked")) == (["job-racked"], [])
        assert cluster.status("racked")["conditions"][0]["reason"] == "Unschedulable"
        assert cluster.waits_because("racked") == {"Unschedulable"}

        cluster.run(90)
        assert cluster.kueue.evictions == [("job-racked", PODS_READY_TIMEOUT)]
        assert sorted(cluster.nodes_of("racked")) == ["s-0", "s-0", "s-1"]


def test_a_gang_starts_on_exactly_the_nodes_that_kueue_assigned() -> None:
    queue = ClusterQueue(cpu=3, levels=("example.com/rack",))
    nodes = [make_node(f"{rack}-{i}", cpu="2").labels({"example.com/rack": rack}) for rack in "rs" for i in range(2)]
    with KueueCluster(queue, nodes) as cluster:
        cluster.apply(make_pod("intruder").requests(cpu="2").node("r-1"))
        cluster.apply(*on_the_page("name: racked"))
        cluster.run(20)
        assert cluster.nodes_of("racked") == ["s-0", "s-0", "s-1"]


def test_a_job_that_kueue_admits_with_fewer_pods_starts_whole_with_a_group_that_muster_creates() -> None:
    configuration = configuration_of(["Coscheduling", "AutoPodGroups"], args={"AutoPodGroups": {"namespaces": "All"}})
    with KueueCluster(ClusterQueue(cpu=2), [make_node("a", cpu="4")], configuration=configuration) as cluster:
        partly = job("partly", 3)
        partly["metadata"]["annotations"] = {"kueue.x-k8s.io/job-min-parallelism": "2"}
        del partly["spec"]["template"]["metadata"]
        cluster.apply(partly)
        cluster.run(20)
        assert cluster.nodes_of("partly") == ["a", "a"]
        assert cluster.status("job-partly")["phase"] == "Running"
