"""A story for each kind of workload: whole processes create its group, start it together, and follow it to its end."""

import pytest

from muster.sandbox.kinds import NATIVE_POD_GROUPS
from muster.testing.simulation.network import CALM, Weather
from tests.autopodgroups.cluster import WorkloadCluster
from tests.autopodgroups.objects import GROUP_LABEL, job, job_set, leader_worker_set, stateful_set


def test_a_job_starts_whole_reports_and_takes_its_group_along() -> None:
    with WorkloadCluster(2) as cluster:
        cluster.create(job("train", 3))
        cluster.run(30)
        assert (cluster.ever_bound, cluster.sizes()) == (0, {"job-train": 3})

        cluster.add_node("last")
        cluster.run(30)
        assert len(cluster.bound()) == 3
        status = cluster.groups()["job-train"]["status"]
        assert (status["phase"], status["running"], status["occupiedBy"]) == ("Running", 3, "default/train")

        cluster.delete("Job", "train")
        cluster.run(10)
        assert (cluster.bound(), cluster.groups()) == ([], {})


def test_a_job_is_replaced_whole_as_long_as_pods_are_left_to_run() -> None:
    with WorkloadCluster(3) as cluster:
        cluster.create(job("train", 3))
        cluster.run(20)
        first, second, third = cluster.bound()
        cluster.end_pod(first, "Succeeded")
        cluster.end_pod(second, "Failed")
        cluster.run(20)
        assert cluster.sizes() == {"job-train": 2}
        successor = (set(cluster.bound()) - {third}).pop()
        status = cluster.groups()["job-train"]["status"]
        assert (status["phase"], status["succeeded"], status["failed"]) == ("Running", 1, 1)

        for name in (third, successor):
            cluster.end_pod(name, "Succeeded")
        cluster.run(20)
        assert cluster.groups()["job-train"]["status"]["phase"] == "Finished"


def test_a_job_set_is_one_gang_of_all_its_jobs() -> None:
    with WorkloadCluster(4) as cluster:
        cluster.create(job_set("train", ("leader", 1, 1), ("workers", 2, 2)))
        cluster.run(30)
        assert (cluster.ever_bound, cluster.sizes()) == (0, {"jobset-train": 5})

        cluster.add_node("last")
        cluster.run(30)
        assert len(cluster.bound()) == 5

        leader, worker = cluster.pods_of("train-leader-0")[0], cluster.pods_of("train-workers-1")[0]
        cluster.end_pod(leader, "Succeeded")
        cluster.end_pod(worker, "Failed")
        cluster.run(20)
        assert (len(cluster.bound()), cluster.sizes()) == (4, {"jobset-train": 4})

        cluster.delete("JobSet", "train")
        cluster.run(10)
        assert (cluster.bound(), cluster.groups()) == ([], {})


def test_a_leader_worker_set_is_a_gang_for_each_replica() -> None:
    with WorkloadCluster(5) as cluster:
        cluster.create(leader_worker_set("vllm", 2, 3))
        cluster.run(30)
        assert cluster.sizes() == {"leaderworkerset-vllm-0": 3, "leaderworkerset-vllm-1": 3}
        assert cluster.ever_bound == 3
        assert len({name[: len("vllm-0")] for name in cluster.bound()}) == 1

        cluster.add_node("last")
        cluster.run(30)
        assert len(cluster.bound()) == 6
        cluster.change("LeaderWorkerSet", "vllm", replicas=1)
        cluster.run(10)
        assert (cluster.bound(), cluster.sizes()) == (["vllm-0", "vllm-0-0", "vllm-0-1"], {"leaderworkerset-vllm-0": 3})


def test_workers_that_are_created_after_their_leader_runs_do_not_keep_it_waiting() -> None:
    with WorkloadCluster(3) as cluster:
        cluster.create(leader_worker_set("vllm", 1, 3, startupPolicy="LeaderReady"))
        cluster.run(30)
        assert (len(cluster.bound()), cluster.groups()) == (3, {})


def test_a_stateful_set_grows_and_shrinks_with_its_group() -> None:
    with WorkloadCluster(3) as cluster:
        cluster.create(stateful_set("web", 2))
        cluster.run(20)
        assert (cluster.bound(), cluster.sizes()) == (["web-0", "web-1"], {"statefulset-web": 2})

        cluster.change("StatefulSet", "web", replicas=4)
        cluster.run(20)
        assert (cluster.bound(), cluster.sizes()) == (["web-0", "web-1"], {"statefulset-web": 4})
        cluster.add_node("last")
        cluster.run(20)
        assert len(cluster.bound()) == 4

        cluster.change("StatefulSet", "web", replicas=1)
        cluster.run(20)
        assert (cluster.bound(), cluster.sizes()) == (["web-0"], {"statefulset-web": 1})


def test_a_stateful_set_that_starts_pod_by_pod_gets_no_group() -> None:
    with WorkloadCluster(1) as cluster:
        cluster.create(stateful_set("web", 2, policy="OrderedReady"))
        cluster.run(20)
        assert (cluster.bound(), cluster.groups()) == (["web-0"], {})


def test_native_groups_are_created_where_they_are_asked_for() -> None:
    with WorkloadCluster(1, args={"apiGroup": "scheduling.k8s.io"}) as cluster:
        cluster.create(job("train", 2))
        cluster.run(20)
        assert cluster.ever_bound == 0
        [(name, group)] = cluster.groups(NATIVE_POD_GROUPS).items()
        assert (name, group["spec"]["schedulingPolicy"]) == ("job-train", {"gang": {"minCount": 2}})

        cluster.add_node("last")
        cluster.run(20)
        assert (len(cluster.bound()), cluster.groups()) == (2, {})
        [group] = cluster.groups(NATIVE_POD_GROUPS).values()
        assert [each["reason"] for each in group["status"]["conditions"]] == ["Scheduled"]
        cluster.delete("Job", "train")
        cluster.run(10)
        assert cluster.groups(NATIVE_POD_GROUPS) == {}


def test_a_job_of_a_single_pod_and_one_whose_pods_name_a_group_get_none() -> None:
    with WorkloadCluster(1) as cluster:
        cluster.create(job("alone", 1))
        cluster.create(job("named", 2, labels={GROUP_LABEL: "own"}))
        cluster.run(20)
        assert (len(cluster.bound()), cluster.groups()) == (1, {})


def test_a_suspended_job_gets_its_group_when_it_is_resumed() -> None:
    with WorkloadCluster(2) as cluster:
        cluster.create(job("train", 2, suspend=True))
        cluster.run(20)
        assert (cluster.pods(), cluster.groups()) == ([], {})
        cluster.change("Job", "train", suspend=False)
        cluster.run(20)
        assert (len(cluster.bound()), cluster.sizes()) == (2, {"job-train": 2})


def test_a_job_that_is_created_again_under_its_name_gets_a_group_of_its_own() -> None:
    with WorkloadCluster(3) as cluster:
        cluster.create(job("train", 2))
        cluster.run(20)
        cluster.delete("Job", "train")
        cluster.create(job("train", 3))
        cluster.run(30)
        [group] = cluster.groups().values()
        [owner] = group["metadata"]["ownerReferences"]
        [current] = {pod["metadata"]["ownerReferences"][0]["uid"] for pod in cluster.pods()}
        assert (len(cluster.bound()), group["spec"]["minMember"], owner["uid"]) == (3, 3, current)


def test_pods_that_ended_count_after_a_restart_however_late_the_groups_are_known() -> None:
    with WorkloadCluster(3) as cluster:
        cluster.create(job("train", 3, completions=9))
        cluster.run(20)
        cluster.end_pod(cluster.bound()[0], "Succeeded")
        cluster.run(20)
        assert cluster.groups()["job-train"]["status"]["succeeded"] == 1

        [replica] = cluster.stage.replicas
        replica.weather = Weather(refusals=1.0, about="/podgroups")
        replica.kill()
        cluster.run(40)
        replica.weather = CALM
        cluster.run(60)
        cluster.end_pod(cluster.bound()[0], "Succeeded")
        cluster.run(20)
        assert cluster.groups()["job-train"]["status"]["succeeded"] == 2


@pytest.mark.parametrize("mark", ["false", ""])
def test_in_a_namespace_that_does_not_ask_pods_start_as_they_fit(mark: str) -> None:
    with WorkloadCluster(1, mark=mark) as cluster:
        cluster.create(job("train", 2))
        cluster.run(20)
        assert (len(cluster.bound()), cluster.groups()) == (1, {})
