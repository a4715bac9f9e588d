"""A new pod whose amounts the API server refuses is refused in the same words."""

import json
from typing import Any

import pytest

from muster.operator.simulate.manifests import ManifestError, read
from tests.controlplane.api import Api, ApiError

GPU = "example.com/gpu"
PAGES = "hugepages-2Mi"
OF_CONTAINERS: dict[str, dict[str, dict[str, object]]] = {
    "a device without a limit": {"requests": {GPU: 1}},
    "a device with a limit for another one": {"requests": {GPU: 1}, "limits": {"example.com/nic": 1}},
    "two devices without limits": {"requests": {GPU: 1, "example.com/nic": 2}},
    "a device below its limit": {"requests": {GPU: 1}, "limits": {GPU: 2}},
    "a device above its limit": {"requests": {GPU: 3}, "limits": {GPU: 2}},
    "a device with its limit": {"requests": {GPU: 2}, "limits": {GPU: "2"}},
    "a device with a limit alone": {"limits": {GPU: 2}},
    "half a device": {"limits": {GPU: 0.5}},
    "a device that is none of Kubernetes' own": {"requests": {"kubernetes.io/thing": 1}},
    "more cpu than the limit": {"requests": {"cpu": 2.5}, "limits": {"cpu": "1500m"}},
    "huge pages without a limit": {"requests": {"cpu": 1, PAGES: "4Mi"}},
    "huge pages below their limit": {"requests": {"cpu": 1, PAGES: "4Mi"}, "limits": {PAGES: "8Mi"}},
    "huge pages alone": {"limits": {PAGES: "4Mi"}},
    "huge pages with memory": {"limits": {PAGES: "4096Ki", "memory": "1Gi"}},
    "a page and a half": {"limits": {"cpu": 1, PAGES: "3Mi"}},
    "no huge pages": {"limits": {"cpu": 1, PAGES: 0}},
}
OF_PODS: dict[str, dict[str, dict[str, object]]] = {
    "huge pages without a limit": {"requests": {"cpu": 1, PAGES: "4Mi"}},
    "huge pages beside the cpu of a container": {"limits": {PAGES: "4Mi"}},
}


def container(name: str, **resources: object) -> dict[str, object]:
    return {"name": name, "image": "pause", "resources": resources}


def refused(spec: dict[str, Any], namespace: str) -> str:
    """Muster's reason against a new pod; "" if there is none."""
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": namespace}, "spec": spec}
    try:
        read(json.dumps(pod), "test")
    except ManifestError as error:
        return str(error).removeprefix("test: Pod web: ")
    return ""


def refused_by(api: Api, spec: dict[str, Any], namespace: str) -> str:
    """The API server's reason against a new pod; "" if there is none."""
    try:
        api.post(f"/api/v1/namespaces/{namespace}/pods?dryRun=All", {"metadata": {"name": "web"}, "spec": spec})
    except ApiError as error:
        return str(error).partition('Pod "web" is invalid: ')[2]
    return ""


def causes(reason: str) -> set[str]:
    """The single causes of a reason, which the API server names in no fixed order."""
    return set(reason.removeprefix("[").removesuffix("]").split(", spec."))


@pytest.mark.parametrize("part", ["containers", "initContainers"])
@pytest.mark.parametrize("resources", OF_CONTAINERS.values(), ids=OF_CONTAINERS)
def test_the_amounts_of_a_container_are_refused_as_by_the_api_server(
    part: str, resources: dict[str, dict[str, object]], api: Api, namespace: str
) -> None:
    spec = {"containers": [container("main")], part: [container("asks", **resources)]}
    assert causes(refused(spec, namespace)) == causes(refused_by(api, spec, namespace))


@pytest.mark.parametrize("resources", OF_PODS.values(), ids=OF_PODS)
def test_the_amounts_of_a_whole_pod_are_refused_as_by_the_api_server(
    resources: dict[str, dict[str, object]], api: Api, namespace: str
) -> None:
    spec = {"containers": [container("main", requests={"cpu": 1})], "resources": resources}
    assert causes(refused(spec, namespace)) == causes(refused_by(api, spec, namespace))


def test_a_device_without_a_limit_is_refused_by_name_of_the_field() -> None:
    spec = {"containers": [container("main", requests={GPU: 1})]}
    assert refused(spec, "default") == (
        "spec.containers[0].resources.limits: Required value: Limit must be set for non overcommitable resources"
    )
