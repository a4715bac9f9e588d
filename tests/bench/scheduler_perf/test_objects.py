"""Nodes, pods and volumes are what scheduler_perf would make of the same templates."""

from pathlib import Path

import pytest

from bench.scheduler_perf import objects
from bench.scheduler_perf.objects import with_small_letters
from bench.scheduler_perf.operations import CreateNamespaces, CreateNodes, CreateObjects, CreatePods

POD = """
kind: Pod
metadata:
  generateName: pod-
spec:
  nodeSelector: {Zone: a}
  topologySpreadConstraints:
  - NodeTaintsPolicy: Honor
    maxSkew: {{.Count}}
"""


@pytest.fixture
def template(tmp_path: Path) -> Path:
    path = tmp_path / "pod.yaml"
    path.write_text(POD)
    return path


def test_nodes_without_a_template_have_four_cores_and_names_of_their_own() -> None:
    operation = CreateNodes(count=3, prefix="node-1-", label=("zone", ["a", "b"]))
    first, second, third = objects.nodes(operation, 7)

    assert [each["metadata"]["name"] for each in (first, second, third)] == [
        "node-1-00007",
        "node-1-00008",
        "node-1-00009",
    ]
    assert [each["metadata"]["labels"]["zone"] for each in (first, second, third)] == ["a", "b", "a"]
    assert first["metadata"]["labels"]["kubernetes.io/hostname"] == "node-1-00007"
    assert first["status"]["allocatable"] == {"pods": "110", "cpu": "4", "memory": "32Gi"}


def test_a_node_of_a_template_keeps_its_name(tmp_path: Path) -> None:
    path = tmp_path / "node.yaml"
    path.write_text("metadata:\n  name: node-{{.Index}}\n  labels: {a: b}\n")

    [node] = objects.nodes(CreateNodes(count=1, prefix="unused-", template=path), 7)

    labels = {"a": "b", "kubernetes.io/hostname": "node-0"}
    assert node == {"metadata": {"name": "node-0", "labels": labels}}


def test_nodes_that_take_a_number_of_volumes_have_objects_that_say_so() -> None:
    operation = CreateNodes(count=1, prefix="n-", volumes={"ebs": 39}, migrated=["kubernetes.io/aws-ebs"])
    assert list(objects.storage_nodes(operation, ["n-0"])) == [
        {
            "metadata": {
                "name": "n-0",
                "annotations": {"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/aws-ebs"},
            },
            "spec": {"drivers": [{"name": "ebs", "nodeID": "n-0", "allocatable": {"count": 39}}]},
        }
    ]
    assert list(objects.storage_nodes(CreateNodes(count=1, prefix="n-"), ["n-0"])) == []


def test_namespaces_are_numbered_and_have_the_labels_of_their_template(tmp_path: Path) -> None:
    path = tmp_path / "namespace.yaml"
    path.write_text("metadata:\n  labels: {team: devops}\n")
    for template, labels in ((None, {}), (path, {"labels": {"team": "devops"}})):
        made = objects.namespaces(CreateNamespaces(count=2, prefix="init", template=template))
        assert list(made) == [{"metadata": {"name": name, **labels}} for name in ("init-0", "init-1")]


def test_pods_of_a_template_share_a_label_with_as_many_as_are_alike(template: Path) -> None:
    operation = CreatePods(count=25, namespace="n", template=template, alike=10)
    found = [objects.pod(operation, index)["metadata"]["labels"]["signature"] for index in (0, 9, 10, 24)]
    assert found == ["signature-label-0", "signature-label-0", "signature-label-1", "signature-label-2"]


def test_names_of_fields_begin_with_a_small_letter_and_those_of_labels_stay(template: Path) -> None:
    made = objects.pod(CreatePods(count=25, namespace="n", template=template), 0)
    assert made["spec"] == {
        "nodeSelector": {"Zone": "a"},
        "topologySpreadConstraints": [{"nodeTaintsPolicy": "Honor", "maxSkew": 25}],
    }
    assert with_small_letters([{"Spec": 1}, "Text"]) == [{"spec": 1}, "Text"]


def test_a_pod_without_a_template_asks_for_a_tenth_of_a_core_and_has_no_label() -> None:
    made = objects.pod(CreatePods(count=1, namespace="n"), 0)
    [container] = made["spec"]["containers"]
    assert container["resources"]["requests"] == {"cpu": "100m", "memory": "500Mi"}
    assert made["metadata"] == {"generateName": "pod-"}


def test_objects_of_one_template_share_nothing(template: Path) -> None:
    operation = CreatePods(count=1, namespace="n", template=template)
    objects.pod(operation, 0)["spec"]["nodeSelector"]["Zone"] = "b"
    assert objects.pod(operation, 0)["spec"]["nodeSelector"] == {"Zone": "a"}


@pytest.mark.parametrize(
    ("source", "handle"),
    [
        ("csi: {driver: ebs}", {"csi": {"driver": "ebs", "volumeHandle": "n-vol-3"}}),
        ("awsElasticBlockStore: {volumeID: x}", {"awsElasticBlockStore": {"volumeID": "vol-3"}}),
    ],
)
def test_a_claim_and_its_volume_name_each_other_and_the_pod_names_the_claim(
    tmp_path: Path, source: str, handle: dict[str, object]
) -> None:
    claim, volume = tmp_path / "claim.yaml", tmp_path / "volume.yaml"
    claim.write_text("spec: {accessModes: [ReadOnlyMany]}\n")
    volume.write_text(f"spec:\n  {source}\n")
    operation = CreatePods(count=4, namespace="n", claim=claim, volume=volume)

    made = objects.claim_and_volume(operation, 3)

    reference = {"kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": "n", "name": "pvc-3"}
    assert made == (
        {"metadata": {"name": "pvc-3"}, "spec": {"accessModes": ["ReadOnlyMany"], "volumeName": "n-vol-3"}},
        {"metadata": {"name": "n-vol-3"}, "spec": {"claimRef": reference, **handle}},
    )
    [mounted] = objects.pod(operation, 3)["spec"]["volumes"]
    assert mounted["persistentVolumeClaim"] == {"claimName": "pvc-3"}


def test_pods_without_templates_of_volumes_have_none() -> None:
    with pytest.raises(ValueError, match="the pods of n have no templates of volumes"):
        objects.claim_and_volume(CreatePods(count=1, namespace="n"), 0)


def test_any_object_gets_its_values_its_number_and_how_many_there_are(tmp_path: Path) -> None:
    path = tmp_path / "any.yaml"
    path.write_text("name: {{.name}}-{{.Index}}-of-{{.Count}}\n")
    made = objects.any_objects(CreateObjects(count=2, template=path, values={"name": "x"}))
    assert list(made) == [{"name": "x-0-of-2"}, {"name": "x-1-of-2"}]
