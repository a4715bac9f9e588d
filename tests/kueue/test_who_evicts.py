"""Muster evicts nothing of what Kueue admitted, with each of the settings that the page names, and would without."""

import pytest
import yaml

from tests.builders import make_node, make_pod
from tests.coscheduling.objects import make_group
from tests.gangscheduling.world import make_group as make_native
from tests.kueue.cluster import KueueCluster, on_the_page
from tests.kueue.names import PRIORITY_CLASS, ClusterQueue
from tests.kueue.test_stories import gated, job

PREEMPTING = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "pressing"},
    "value": 9,
}
"""What the page advises against."""
QUEUE = ClusterQueue(cpu=8, priorities={"high": 100})
"""More quota than there are nodes, so that what is admitted does not fit."""
NODES = [make_node("a", cpu="2"), make_node("b", cpu="2")]


def full(cluster: KueueCluster) -> None:
    """An admitted gang takes all nodes."""
    cluster.apply(make_group("low", 4), job("low", 4))
    cluster.run(20)
    assert len(cluster.nodes_of("low")) == 4


def test_with_priority_classes_that_preempt_muster_evicts_what_kueue_admitted() -> None:
    with KueueCluster(QUEUE, NODES) as cluster:
        full(cluster)
        cluster.apply(PREEMPTING, make_group("gang", 2), *(pod.priority_class("pressing") for pod in gated("gang", 2)))
        cluster.run(60)
        assert (len(cluster.nodes_of("gang")), cluster.kueue.evictions) == (2, [])


def test_workload_priority_classes_order_workloads_and_evict_no_pod_of_an_admitted_one() -> None:
    with KueueCluster(QUEUE, NODES) as cluster:
        full(cluster)
        cluster.apply(make_group("high", 2), job("high", 2, **{PRIORITY_CLASS: "high"}))
        cluster.run(60)
        assert cluster.kueue.admitted == ["job-high", "job-low"]
        assert (len(cluster.nodes_of("low")), cluster.nodes_of("high")) == (4, [])
        assert cluster.status("high")["conditions"][0]["reason"] == "Unschedulable"


def test_pods_and_gangs_of_the_pages_priority_class_evict_nobody() -> None:
    [queued] = on_the_page("kind: PriorityClass")
    with KueueCluster(QUEUE, NODES) as cluster:
        full(cluster)
        cluster.apply(queued, make_group("gang", 2), *(pod.priority_class("queued") for pod in gated("gang", 2)))
        cluster.apply(make_pod("single").requests(cpu="1").priority_class("queued"))
        cluster.run(60)
        assert (len(cluster.nodes_of("low")), len(cluster.nodes_of())) == (4, 4)
        assert cluster.waits_because("gang") == cluster.waits_because("single") == {"Unschedulable"}


@pytest.mark.parametrize("native", [False, True], ids=["by label", "native"])
def test_with_the_pages_profile_muster_evicts_nobody_whatever_the_priorities(native: bool) -> None:
    [configuration] = on_the_page("kind: KubeSchedulerConfiguration")
    with KueueCluster(QUEUE, NODES, configuration=yaml.safe_dump(configuration).encode()) as cluster:
        full(cluster)
        gang = [pod.priority_class("pressing") for pod in gated("gang", 2)]
        group = make_native("gang", 2, priorityClassName="pressing") if native else make_group("gang", 2)
        for pod in gang if native else ():
            pod["spec"]["schedulingGroup"] = {"podGroupName": "gang"}
        cluster.apply(PREEMPTING, group, *gang)
        cluster.apply(make_pod("single").requests(cpu="1").priority_class("pressing"))
        cluster.run(60)
        assert (len(cluster.nodes_of("low")), len(cluster.nodes_of())) == (4, 4)
        assert cluster.waits_because("gang") == cluster.waits_because("single") == {"Unschedulable"}
