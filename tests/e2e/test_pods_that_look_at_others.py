"""Pods that go by other pods, and by Services, on the real API server."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from tests.builders import make_node, make_pod
from tests.controlplane.api import Api
from tests.e2e.cluster import Cluster
from tests.e2e.eventually import eventually
from tests.e2e.muster_process import MusterProcess

AddNodes = Callable[..., None]
HOST = "kubernetes.io/hostname"
WEB = {"app": "web"}


def test_pods_of_a_service_are_spread_over_zones(
    muster: MusterProcess, cluster: Cluster, api: Api, add_nodes: AddNodes
) -> None:
    zones = {"a1": "a", "a2": "a", "a3": "a", "b1": "b"}
    add_nodes(*(make_node(name, cpu="32").zone(zone) for name, zone in zones.items()))
    service: dict[str, Any] = {"metadata": {"name": "web"}, "spec": {"selector": WEB, "ports": [{"port": 80}]}}
    api.post(f"/api/v1/namespaces/{cluster.namespace}/services", service)
    names = [f"web-{number}" for number in range(6)]
    for name in names:
        cluster.create(make_pod(name).labels(WEB), scheduler=muster.name)
        cluster.wait_until_bound(name)

    hosts = Counter(cluster.pod(name)["spec"]["nodeName"] for name in names)
    assert max(hosts.values()) <= 3
    assert {zones[host] for host in hosts} == {"a", "b"}


def test_a_pod_that_keeps_apart_is_tried_again_when_one_that_it_keeps_apart_from_is_gone(
    muster: MusterProcess, cluster: Cluster, add_nodes: AddNodes
) -> None:
    add_nodes(make_node("one"), make_node("two"))
    names = ["first", "second"]
    for name in names:
        cluster.create(make_pod(name).labels(WEB).apart(HOST, WEB), scheduler=muster.name)
        cluster.wait_until_bound(name)
    assert {cluster.pod(name)["spec"]["nodeName"] for name in names} == {"one", "two"}

    cluster.create(make_pod("third").labels(WEB).apart(HOST, WEB), scheduler=muster.name)
    [said] = eventually(lambda: cluster.events("third", "FailedScheduling"))
    assert "0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules" in said["note"]
    cluster.delete("first")
    cluster.wait_until_bound("third")
