"""Races: in any order of the watches, and under any leader, no pod of a workload is started alone.

All kinds of workloads come at once while the watches are seconds apart, requests get lost, and leaders are killed. Each
of them lacks a node, so that any pod that is bound would have started alone; then the nodes come.
"""

from random import Random

import pytest

from muster.testing.simulation.network import CALM, Weather
from tests.autopodgroups.cluster import WorkloadCluster
from tests.autopodgroups.objects import Object, job, job_set, leader_worker_set, stateful_set

LATE = Weather(latency=0.5, lag=3.0)
BAD = Weather(latency=0.5, lag=3.0, lost=0.1, unanswered=0.1, refusals=0.1)
WORKLOADS: list[tuple[Object, int]] = [
    (job("job", 3), 3),
    (job_set("set", ("a", 1, 1), ("b", 2, 1)), 3),
    (leader_worker_set("replicated", 1, 3), 3),
    (stateful_set("parallel", 3), 3),
]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(("workload", "pods"), WORKLOADS, ids=["Job", "JobSet", "LeaderWorkerSet", "StatefulSet"])
def test_no_pod_starts_alone_however_far_the_watches_are_apart(workload: Object, pods: int, seed: int) -> None:
    with WorkloadCluster(pods - 1, seed=f"late/{seed}", weather=LATE) as cluster:
        cluster.create(workload)
        cluster.run(60)
        assert (cluster.ever_bound, [*cluster.sizes().values()]) == (0, [pods])
        cluster.add_node("last")
        cluster.run(60)
        assert len(cluster.bound()) == pods


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(
    ("workload", "larger"),
    [
        (job("job", 2), {"parallelism": 4, "completions": 4}),
        (job("job", 1), {"parallelism": 3, "completions": 3}),
        (stateful_set("parallel", 2), {"replicas": 4}),
        (stateful_set("parallel", 1), {"replicas": 3}),
    ],
    ids=["Job", "Job of one pod", "StatefulSet", "StatefulSet of one pod"],
)
def test_new_pods_of_a_workload_that_grows_start_together_however_far_the_watches_are_apart(
    workload: Object, larger: dict[str, int], seed: int
) -> None:
    size, grown = workload["spec"].get("replicas") or workload["spec"]["parallelism"], max(larger.values())
    with WorkloadCluster(grown - 1, seed=f"grows/{seed}", weather=LATE) as cluster:
        cluster.create(workload)
        cluster.run(60)
        assert cluster.ever_bound == size
        cluster.change(workload["kind"], workload["metadata"]["name"], **larger)
        cluster.run(60)
        assert (cluster.ever_bound, [*cluster.sizes().values()]) == (size, [grown])
        cluster.add_node("last")
        cluster.run(60)
        assert len(cluster.bound()) == grown


@pytest.mark.parametrize("seed", range(8))
def test_no_pod_starts_alone_while_leaders_die_and_requests_get_lost(seed: int) -> None:
    random = Random(seed)
    with WorkloadCluster(2, seed=f"bad/{seed}", weather=BAD, replicas=2) as cluster:
        cluster.run(random.random() * 20)
        for workload, _ in WORKLOADS:
            cluster.create(workload)
            cluster.run(random.random() * 3)
            random.choice(cluster.stage.replicas).kill()
        cluster.run(60)
        assert cluster.ever_bound == 0
        for replica in cluster.stage.replicas:
            replica.weather = CALM
        cluster.run(240)
        assert cluster.ever_bound == 0
        assert sorted(cluster.sizes().values()) == [3, 3, 3, 3]

        for number in range(10):
            cluster.add_node(f"new-{number}")
        cluster.run(60)
        assert len(cluster.bound()) == 12
