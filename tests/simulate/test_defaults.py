"""A pod requests what it requests once the API server has filled in its defaults."""

import json
from typing import Any

import pytest

from muster.framework.model.pod_info import PodInfo
from muster.operator.simulate.manifests import read
from tests.builders import PodDict, make_pod
from tests.controlplane.api import Api

PODS: dict[str, PodDict] = {
    "that asks for nothing": make_pod("pod"),
    "with limits alone": make_pod("pod").limits(cpu="2", memory="1Gi"),
    "with limits above its requests": make_pod("pod").requests(cpu="1").limits(cpu="2", memory="1Gi"),
    "with an init container": make_pod("pod").init_container("first", {"cpu": "3"}),
    "with ports": make_pod("pod").host_port(80),
    "with host network": make_pod("pod"),
    "with resources as a whole": make_pod("pod").container("second"),
    "with resources as a whole and of its own": make_pod("pod").requests(cpu="1").container("second", {"cpu": "1"}),
}
PODS["with host network"]["spec"] |= {
    "hostNetwork": True,
    "containers": [{"name": "main", "image": "pause", "ports": [{"containerPort": 8080}, {"containerPort": 9090}]}],
}
PODS["with resources as a whole"]["spec"]["resources"] = {"limits": {"cpu": "4", "memory": "2Gi"}}
PODS["with resources as a whole and of its own"]["spec"]["resources"] = {"limits": {"cpu": "4", "memory": "2Gi"}}


@pytest.mark.parametrize("pod", PODS.values(), ids=PODS.keys())
def test_a_pod(pod: PodDict, api: Api, namespace: str) -> None:
    sent: dict[str, Any] = {**pod, "metadata": {"name": pod.name, "namespace": namespace}}
    stored = api.post(f"/api/v1/namespaces/{namespace}/pods?dryRun=All", sent)

    [ours], [theirs] = (read(json.dumps({"kind": "Pod", **each}), "test").pods for each in (sent, stored))

    assert PodInfo(ours).signature.requests == PodInfo(theirs).signature.requests
    assert PodInfo(ours).signature.host_ports == PodInfo(theirs).signature.host_ports
