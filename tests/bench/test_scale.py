"""The objects that benchmarks are made of."""

import json

from bench import scale
from bench.podgroups import gang_names, make_gang


def test_nodes_are_spread_over_three_zones_and_have_their_hostname() -> None:
    nodes = [json.loads(body) for _, body in scale.nodes(6)]
    labels = [node["metadata"]["labels"] for node in nodes]
    assert [label["topology.kubernetes.io/zone"] for label in labels] == ["zone-a", "zone-b", "zone-c"] * 2
    assert [label["kubernetes.io/hostname"] for label in labels] == [node["metadata"]["name"] for node in nodes]
    assert nodes[0]["status"]["allocatable"] == {"cpu": "4000m", "memory": "32Gi", "pods": "110"}


def test_pods_differ_in_nothing_but_their_names() -> None:
    pods = [json.loads(body) for _, body in scale.pods(3)]
    assert [pod["metadata"].pop("name") for pod in pods] == ["pod-00000", "pod-00001", "pod-00002"]
    for pod in pods:
        del pod["metadata"]["uid"]
    assert pods[0] == pods[1] == pods[2]
    assert pods[0]["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "100m", "memory": "500Mi"}


def test_a_gang_is_a_group_that_needs_all_of_its_pods() -> None:
    first, second = (make_gang(name, 3) for name in gang_names(2))
    group = json.loads(first.group[1])
    assert group["spec"] == {"minMember": 3}
    assert len(first.pods) == 3
    for name, (_, body) in first.pods.items():
        metadata = json.loads(body)["metadata"]
        assert metadata["name"] == name
        assert metadata["labels"] == {"scheduling.x-k8s.io/pod-group": group["metadata"]["name"]}
    assert not first.pods.keys() & second.pods.keys()


def test_pods_that_do_not_fit_are_refused_beforehand() -> None:
    assert scale.overfull(2, 80) is None
    assert scale.overfull(2, 81) == "2 nodes have no capacity for 81 pods: 40 fit on each"
