"""Pods, nodes and groups in what people write and in what kubectl prints."""

import json
from typing import Any

import pytest
import yaml

from muster.operator.simulate.manifests import ManifestError, Objects, read
from muster.plugins.coscheduling.api import POD_GROUPS
from tests.builders import make_node, make_pod
from tests.simulate.rehearsing import KINDS, muster, objects, pod_group


def names(found: Objects) -> list[str]:
    return [f"{pod.metadata.namespace}/{pod.metadata.name}" for pod in found.pods]


def workload(kind: str, name: str = "web", **spec: object) -> dict[str, Any]:
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "2"}}}]},
    }
    return {"kind": kind, "metadata": {"name": name, "namespace": "prod"}, "spec": {"template": template, **spec}}


def test_a_stream_of_yaml_documents_is_read_in_order() -> None:
    documents = [make_pod("one"), None, pod_group("gang", 3), {"kind": "ConfigMap"}, make_pod("two")]
    found = read(yaml.safe_dump_all(json.loads(json.dumps(documents))), "file.yaml", [POD_GROUPS], kinds=KINDS)
    assert names(found) == ["default/one", "default/two"]
    assert [(group.metadata.name, group.spec.min_member) for group in found.watched[POD_GROUPS]] == [("gang", 3)]


@pytest.mark.parametrize("kind", ["List", "PodList"])
def test_a_list_of_kubectl_or_of_the_api_is_taken_apart(kind: str) -> None:
    pod = dict(make_pod("one"))
    if kind == "PodList":
        del pod["kind"], pod["apiVersion"]
    assert names(read(json.dumps({"kind": kind, "items": [pod]}), "dump")) == ["default/one"]


def test_lists_in_lists_are_taken_apart() -> None:
    assert names(objects({"kind": "List", "items": [make_pod("one")]}, make_pod("two"))) == [
        "default/one",
        "default/two",
    ]


@pytest.mark.parametrize(
    ("kind", "spec", "pods"),
    [
        ("Deployment", {"replicas": 3}, 3),
        ("Deployment", {}, 1),
        ("ReplicaSet", {"replicas": 0}, 0),
        ("StatefulSet", {"replicas": 2}, 2),
        ("Job", {"parallelism": 4}, 4),
        ("Job", {"parallelism": 4, "completions": 2}, 2),
        ("Job", {"parallelism": 4, "completions": 9}, 4),
        ("Job", {"completions": None}, 1),
    ],
)
def test_a_workload_stands_for_the_pods_that_run_at_once(kind: str, spec: dict[str, Any], pods: int) -> None:
    found = objects(workload(kind, **spec))
    assert names(found) == [f"prod/web-{index}" for index in range(pods)]
    assert all(pod.metadata.labels == {"app": "web"} for pod in found.pods)
    assert len({pod.metadata.uid for pod in found.pods}) == pods


JOB_SET = """
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train, namespace: prod}
spec:
  replicatedJobs:
  - {name: leader, template: {spec: {template: {spec: {containers: [{name: main}]}}}}}
  - name: workers
    replicas: 2
    template:
      spec:
        parallelism: 3
        completions: 2
        template:
          metadata: {labels: {scheduling.x-k8s.io/pod-group: train}}
          spec: {containers: [{name: main, resources: {limits: {cpu: 2}}}]}
"""


def test_a_job_set_stands_for_the_pods_of_its_jobs() -> None:
    found = read(JOB_SET, "file.yaml")
    workers = [f"prod/train-workers-{job}-{index}" for job in range(2) for index in range(2)]
    assert names(found) == ["prod/train-leader-0-0", *workers]
    assert found.pods[-1].spec.containers[0].resources.requests == {"cpu": 2}
    assert found.pods[-1].metadata.labels == {
        "scheduling.x-k8s.io/pod-group": "train",
        "jobset.sigs.k8s.io/jobset-name": "train",
        "jobset.sigs.k8s.io/replicatedjob-name": "workers",
        "jobset.sigs.k8s.io/job-index": "1",
    }


@pytest.mark.parametrize(
    ("written", "wrong", "message"),
    [
        ("limits", "limitz", 'error: unknown field "spec.replicatedJobs[1].template.spec.template.spec.containers[0].'),
        ("replicas: 2", "replicas: two", "spec.replicatedJobs[1].replicas: must be of type integer, not string"),
        ("replicas: 2", "replicas: -2", "spec.replicatedJobs[1].replicas: Invalid value: -2: must be greater than"),
        ("- name: workers", "- nam: workers", "spec.replicatedJobs[1].name: Required value"),
        ("parallelism: 3", "parallelism: [3]", "spec.replicatedJobs[1].template.spec.parallelism: must be of type int"),
        ("replicatedJobs:", "replicatedJobs: {}\n  other:", "spec.replicatedJobs: must be of type array, not object"),
    ],
)
def test_faults_of_a_job_in_a_job_set_are_named(written: str, wrong: str, message: str) -> None:
    with pytest.raises(ManifestError, match=r"^file\.yaml: JobSet train: ") as refused:
        read(JOB_SET.replace(written, wrong), "file.yaml")
    assert message in str(refused.value)


def test_a_claim_without_a_class_gets_the_newest_default_one_of_the_cluster() -> None:
    def storage_class(name: str, year: int, *, default: bool = True) -> dict[str, Any]:
        annotations = {"storageclass.kubernetes.io/is-default-class": str(default).lower()}
        metadata = {"name": name, "annotations": annotations, "creationTimestamp": f"{year}-01-01T00:00:00Z"}
        return {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": metadata, "provisioner": "any"}

    def claim(name: str, **spec: str) -> dict[str, Any]:
        return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}

    classes = [storage_class("old", 2024), storage_class("new", 2025), storage_class("other", 2026, default=False)]
    ours = workload("StatefulSet", volumeClaimTemplates=[{"metadata": {"name": "data"}}])
    wanted = [claim("none"), claim("own", storageClassName="old"), claim("empty", storageClassName=""), ours]
    text = json.dumps({"kind": "List", "items": [*wanted, *classes]})
    found = read(text, "file.yaml", muster().watched(), kinds=KINDS)
    [claims] = (each for kind, each in found.watched.items() if kind.resource == "PersistentVolumeClaim")
    assert {each.metadata.name: each.spec.storage_class_name for each in claims} == {
        "none": "new",
        "own": "old",
        "empty": "",
        "data-web-0": "new",
    }


def test_objects_that_name_no_namespace_are_in_the_one_that_is_asked_for() -> None:
    pod, group = make_pod("one"), pod_group("gang", 1)
    del pod["metadata"]["namespace"], pod["metadata"]["uid"], group["metadata"]["namespace"]
    limits = {"type": "Container", "defaultRequest": {"cpu": "2"}}
    ranges = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "a"}, "spec": {"limits": [limits]}}
    documents = [pod, group, make_pod("two"), ranges]
    text = json.dumps({"kind": "List", "items": documents})
    found = read(text, "file.yaml", [POD_GROUPS], kinds=KINDS, namespace="team")
    assert names(found) == ["team/one", "default/two"]
    assert found.pods[0].spec.containers[0].resources.requests == {"cpu": "2"}
    assert found.watched[POD_GROUPS][0].metadata.namespace == "team"


def test_objects_without_a_namespace_are_in_the_default_one() -> None:
    pod, group = make_pod("one"), pod_group("gang", 1)
    del pod["metadata"]["namespace"], group["metadata"]["namespace"]
    found = objects(pod, group)
    assert names(found) == ["default/one"]
    assert found.watched[POD_GROUPS][0].metadata.namespace == "default"


def test_pods_whose_names_the_api_generates_are_distinguished() -> None:
    pods = [make_pod("") for _ in range(3)]
    for pod in pods:
        pod["metadata"] = {"generateName": "worker-"}
    assert names(objects(*pods)) == ["default/worker-0", "default/worker-1", "default/worker-2"]


def test_nulls_are_the_same_as_nothing() -> None:
    text = """
    kind: Pod
    metadata: {name: one, labels: null}
    spec:
      nodeSelector: null
      tolerations:
      containers: [{name: main, resources: {requests: null}}]
    """
    [pod] = read(text, "file.yaml").pods
    assert pod.spec.node_selector == {}
    assert {each.effect for each in pod.spec.tolerations} == {"NoExecute"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "file.yaml: "),
        ("kind: Pod\nmetadata: {name: one}\nspec: {containers: 3}", "file.yaml: Pod one: "),
        ("kind: Deployment\nmetadata: {name: one}\nspec: 7", "file.yaml: Deployment one: "),
        (
            "kind: Pod\nmetadata: {name: one}\nspec: {containers: [{resources: {requests: {cpu: many}}}]}",
            "file.yaml: Pod one: spec.containers[0].resources.requests[cpu]: quantities must match",
        ),
        (
            "kind: Node\nmetadata: {name: one}\nstatus: {allocatable: {cpu: 1 core}}",
            "file.yaml: Node one: status.allocatable[cpu]: quantities must match the regular expression",
        ),
        ("kind: PodGroup\nmetadata: {name: one}\nspec: {minMember: three}", "file.yaml: PodGroup one: "),
    ],
)
def test_a_manifest_that_cannot_be_read_is_named(text: str, message: str) -> None:
    with pytest.raises(ManifestError) as raised:
        read(text, "file.yaml", [POD_GROUPS], kinds=KINDS)
    assert str(raised.value).startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("just a text", "file.yaml: not a Kubernetes object"),
        ("kind: List\nitems: [7]", "file.yaml: not a Kubernetes object"),
        ("metadata: {name: one}", "file.yaml: Object 'Kind' is missing"),
        ("kind: Pod\nmetadata: [a]", "file.yaml: Pod: metadata: must be of type object"),
        ("kind: Pod\nmetadata: {name: one, creationTimestamp: 2026-13-45}\n", "file.yaml: "),
        (
            "kind: Pod\nmetadata: {name: one}\nspec: {hostNetwork: true, containers: [{ports: [{name: web}]}]}",
            "file.yaml: Pod one: spec.containers[0].ports[0].containerPort: Required value",
        ),
        (
            "kind: Pod\nmetadata: {name: one}\nspec: {containers: [{resources: {requests: {cpu: -1}}}]}",
            "file.yaml: Pod one: spec.containers[0].resources.requests[cpu]: "
            'Invalid value: "-1": must be greater than or equal to 0',
        ),
        (
            "kind: Pod\nmetadata: {name: one}\nspec: {initContainers: [{resources: {limits: {memory: -1Gi}}}]}",
            "file.yaml: Pod one: [spec.initContainers[0].resources.limits[memory]: "
            'Invalid value: "-1Gi": must be greater than or equal to 0, '
            "spec.initContainers[0].resources.requests[memory]: ",
        ),
        (
            "kind: Pod\nmetadata: {name: one}\nspec: {resources: {requests: {cpu: 2}, limits: {cpu: 1500m}}}",
            'file.yaml: Pod one: spec.resources.requests: Invalid value: "2": '
            "must be less than or equal to cpu limit of 1500m",
        ),
        (
            "kind: Pod\nmetadata: {name: one}\n"
            "spec: {containers: [{resources: {requests: {nvidia.com/gpu: 2}, limits: {nvidia.com/gpu: 1}}}]}",
            'file.yaml: Pod one: spec.containers[0].resources.requests: Invalid value: "2": '
            "must be equal to nvidia.com/gpu limit of 1",
        ),
        (
            "kind: Deployment\nmetadata: {name: one}\n"
            "spec: {template: {spec: {containers: [{resources: {requests: {cpu: -500m}}}]}}}",
            "file.yaml: Deployment one: spec.containers[0].resources.requests[cpu]: "
            'Invalid value: "-500m": must be greater than or equal to 0',
        ),
        (
            "kind: Deployment\nmetadata: {name: one}\nspec: {replicas: lots}",
            "file.yaml: Deployment one: spec.replicas: must be of type integer, not string",
        ),
        (
            "kind: Job\nmetadata: {name: one}\nspec: {parallelism: -3}",
            "file.yaml: Job one: spec.parallelism: Invalid value: -3: must be greater than or equal to 0",
        ),
        (
            "kind: PodGroup\nmetadata: {name: one}\nspec: {minMember: -3}",
            "file.yaml: PodGroup one: spec.minMember: Invalid value: -3: should be greater than or equal to 1",
        ),
        (
            "kind: PodGroup\nmetadata: {name: one}\nspec: {minResources: {cpu: foo}}",
            'file.yaml: PodGroup one: spec.minResources[cpu]: Invalid value: "foo": quantities must match',
        ),
    ],
)
def test_a_manifest_that_no_api_server_would_take_is_refused(text: str, message: str) -> None:
    with pytest.raises(ManifestError) as raised:
        read(text, "file.yaml", [POD_GROUPS], kinds=KINDS)
    assert str(raised.value).startswith(message)


def test_a_stored_group_with_a_mistake_is_read_as_the_scheduler_reads_it() -> None:
    group = pod_group("gang", 2, minResources={"cpu": "foo"})
    group["metadata"]["uid"] = "1"
    assert [found.spec.min_resources for found in objects(group).watched[POD_GROUPS]] == [{"cpu": "foo"}]


def test_objects_that_stand_for_no_pods_are_counted_by_api_version_and_kind() -> None:
    daemon_set, foreign_job, foreign_group = workload("DaemonSet"), workload("Job"), pod_group("gang", 3)
    daemon_set["apiVersion"] = "apps/v1"
    foreign_job["apiVersion"] = "batch.volcano.sh/v1alpha1"
    foreign_group["apiVersion"] = "scheduling.volcano.sh/v1beta1"
    found = objects(daemon_set, foreign_job, foreign_job, foreign_group, make_pod("one"))
    assert (names(found), found.watched[POD_GROUPS]) == (["default/one"], [])
    assert found.skipped == {
        "apps/v1 DaemonSet": 1,
        "batch.volcano.sh/v1alpha1 Job": 2,
        "scheduling.volcano.sh/v1beta1 PodGroup": 1,
    }


def test_objects_without_an_api_version_are_taken_by_their_kind() -> None:
    found = objects({"kind": "ConfigMap"}, workload("Job"))
    assert (names(found), found.skipped) == (["prod/web-0"], {"ConfigMap": 1})


def test_nodes_are_read() -> None:
    assert [node.metadata.name for node in objects(make_node("one"), make_node("two")).nodes] == ["one", "two"]


def test_a_dump_of_kubectl_reads_as_the_same_objects_one_by_one() -> None:
    bound = make_pod("bound").requests(cpu="1").node("one").phase("Running")
    broken = make_pod("broken").node("one").labels({"a": "b"})
    broken["spec"]["tolerations"] = None
    nameless = make_pod("nameless").node("one")
    del nameless["metadata"]["uid"], nameless["metadata"]["namespace"]
    found = [make_node("one"), bound, broken, nameless, make_pod("waiting").limits(cpu="2"), pod_group("gang", 2)]
    assert objects(*found) == read(yaml.safe_dump_all(json.loads(json.dumps(found))), "file.yaml", [POD_GROUPS])
