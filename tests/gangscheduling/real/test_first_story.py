"""Native PodGroups as a user sees them who has only kubectl."""

from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from tests.e2e.eventually import eventually
from tests.gangscheduling.real.native import NativeCluster
from tests.gangscheduling.world import make_members

EXAMPLES = Path(__file__).parents[3] / "deploy" / "examples" / "native"


def test_a_gang_that_does_not_fit_reports_it_and_starts_whole_once_there_is_capacity(native: NativeCluster) -> None:
    native.add_nodes("one", cpu="2")
    native.add_group("train", 3)
    native.add(*make_members("train", 3))
    reported = native.wait_until_said("train", "False", "Unschedulable")
    assert reported["message"].startswith("minCount (3) cannot be satisfied: 2 scheduled, 0 remaining")
    assert native.wait_until_turned_away("train-2").startswith("0/1 nodes are available: 1 Insufficient cpu.")
    assert native.wait_until_unschedulable("train-0").startswith("pod group is unschedulable, minCount (3) cannot be ")
    assert native.nodes("train") == {}
    eventually(lambda: native.events("train", "Unschedulable"))

    native.add_nodes("two", cpu="3")
    native.wait_until_started("train", 3)
    scheduled = native.wait_until_said("train", "True", "Scheduled")
    assert scheduled["message"] == ""
    # The API server of 1.37 keeps no generation of PodGroups, so there is none to observe.
    assert (scheduled.get("observedGeneration"), native.group("train")["metadata"].get("generation")) == (None, None)
    eventually(lambda: native.events("train", "Scheduled"))
    assert "Scheduled" in native.kubectl("get", "podgroups.scheduling.k8s.io")


def test_a_pod_without_its_group_and_a_group_without_its_pods_are_reported(native: NativeCluster) -> None:
    native.add_nodes("one", cpu="2")
    native.add(*make_members("train", 1))
    [event] = eventually(lambda: native.events("train-0", "FailedScheduling"))
    assert event["note"] == 'waiting for pods\'s pod group "train" to appear in scheduling queue'
    native.add_group("train", 3)
    [event] = eventually(lambda: native.events("train", "WaitingForPods"))
    assert event["note"] == "1 of the 3 pods that it needs exists"


def test_a_job_that_asks_for_a_gang_gets_one(native: NativeCluster) -> None:
    native.add_nodes("one", cpu="4")
    job = """
        apiVersion: batch/v1
        kind: Job
        metadata: {name: train}
        spec:
          parallelism: 3
          completions: 3
          completionMode: Indexed
          scheduling: {schedulingPolicy: {gang: {minCount: 3}}}
          template:
            spec:
              schedulerName: native
              restartPolicy: Never
              containers: [{name: main, image: pause, resources: {requests: {cpu: "1"}}}]
    """
    native.api.post(f"/apis/batch/v1/namespaces/{native.namespace}/jobs", yaml.safe_load(job))
    [group] = eventually(native.groups)
    name = group["metadata"]["name"]
    assert set(native.wait_until_started(name, 3).values()) == {"one"}
    native.wait_until_said(name, "True", "Scheduled")


def test_groups_of_a_workload_are_placed_in_one_domain(native: NativeCluster) -> None:
    for rack in ("a", "b"):
        native.add_nodes(f"{rack}-1", f"{rack}-2", cpu="2", labels={"rack": rack})
    template = {"name": "worker", "schedulingPolicy": {"gang": {"minCount": 3}}}
    template["schedulingConstraints"] = {"topology": [{"key": "rack"}]}
    native.api.post(
        f"/apis/scheduling.k8s.io/v1beta1/namespaces/{native.namespace}/workloads",
        {"metadata": {"name": "job"}, "spec": {"podGroupTemplates": [template]}},
    )
    spec = {key: value for key, value in template.items() if key not in ("name", "schedulingPolicy")}
    native.add_group("worker", 3, workloadRef={"workloadName": "job", "templateName": "worker"}, **spec)
    native.add(*make_members("worker", 3))
    nodes = native.wait_until_started("worker", 3)
    assert len({node.partition("-")[0] for node in nodes.values()}) == 1


@pytest.mark.parametrize(
    ("example", "groups"),
    [
        ("gang.yaml", {"native-gang": 3}),
        ("rack.yaml", {"native-rack": 3}),
        ("tree.yaml", {"native-leader": 1, "native-workers": 2}),
    ],
)
def test_the_examples_start(native: NativeCluster, example: str, groups: Mapping[str, int]) -> None:
    for rack in ("a", "b"):
        native.add_nodes(f"{rack}-1", f"{rack}-2", cpu="2", labels={"example.com/rack": rack})
    objects = [*yaml.safe_load_all((EXAMPLES / example).read_text())]
    for job in (each for each in objects if each["kind"] == "Job"):
        job["spec"]["template"]["spec"]["schedulerName"] = native.scheduler
    native.kubectl("apply", "--filename=-", stdin=yaml.safe_dump_all(objects))
    for name, count in groups.items():
        native.wait_until_started(name, count)


def test_a_group_that_restarts_evicts_what_is_left_of_it(native: NativeCluster) -> None:
    native.add_nodes("one", cpu="4")
    native.add_group("train", 3)
    native.annotate("train", {"muster-scheduler.io/healing-policy": "Restart"})
    pods = make_members("train", 3)
    for pod in pods:
        pod["spec"]["terminationGracePeriodSeconds"] = 0
    native.add(*pods)
    native.wait_until_said("train", "True", "Scheduled")
    native.delete("train-1")
    eventually(lambda: native.nodes("train") == {})
    assert native.events("train", "Restarting")
