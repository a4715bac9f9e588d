"""PodGroups and their members for these tests, in the API's own JSON shape."""

from collections.abc import Mapping
from typing import Any

import msgspec

from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import PodInfo
from muster.plugins.coscheduling.api import PodGroup
from tests.builders import PodDict, make_pod

GROUP_LABEL = "scheduling.x-k8s.io/pod-group"


def make_group(
    name: str,
    min_member: int | None = None,
    *,
    namespace: str = "default",
    min_resources: Mapping[str, object] | None = None,
    timeout: int | None = None,
    annotations: Mapping[str, str] = {},
) -> dict[str, Any]:
    """A PodGroup; what is None is absent."""
    spec = {"minMember": min_member, "minResources": min_resources, "scheduleTimeoutSeconds": timeout}
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": namespace, **({"annotations": {**annotations}} if annotations else {})},
        "spec": {field: value for field, value in spec.items() if value is not None},
    }


def make_member(name: str, group: str, *, namespace: str = "default", cpu: str = "1") -> PodDict:
    """A pod that asks for so many cores and carries its group's label."""
    return make_pod(name, namespace=namespace).requests(cpu=cpu).labels({GROUP_LABEL: group})


def make_members(group: str, count: int, *, namespace: str = "default", cpu: str = "1") -> list[PodDict]:
    """Members `<group>-0` and so on."""
    return [make_member(f"{group}-{number}", group, namespace=namespace, cpu=cpu) for number in range(count)]


def typed_pod(pod: Mapping[str, Any]) -> PodInfo:
    """The pod as the engine knows it."""
    return PodInfo(msgspec.convert(pod, Pod))


def typed_group(group: Mapping[str, Any]) -> PodGroup:
    """The PodGroup as the plugin knows it."""
    return msgspec.json.decode(msgspec.json.encode(group), type=PodGroup)
