"""The gangs of the benchmarks: a PodGroup of either kind whose quorum is all of its pods, and the pods."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from bench import scale
from bench.scale import NAMESPACE, Body

GROUPS = f"/apis/scheduling.x-k8s.io/v1alpha1/namespaces/{NAMESPACE}/podgroups"
NATIVE_GROUPS = f"/apis/scheduling.k8s.io/v1beta1/namespaces/{NAMESPACE}/podgroups"
_LABEL = "scheduling.x-k8s.io/pod-group"


@dataclass(frozen=True, slots=True)
class Gang:
    """A group and its pods by name."""

    group: Body
    pods: Mapping[str, Body]


def make_gang(
    name: str,
    size: int,
    *,
    make: Callable[[str, Mapping[str, str]], Body] = scale.pod,
    annotations: Mapping[str, str] = {},
    labels: Mapping[str, str] = {},
) -> Gang:
    """A group of `scheduling.x-k8s.io` that needs `size` pods; `make` creates a pod from a name and labels.

    The group gets `annotations`; the group and its pods get `labels`.
    """
    group = {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": NAMESPACE, "annotations": annotations, "labels": labels},
        "spec": {"minMember": size},
    }
    pods = {pod: make(pod, {_LABEL: name, **labels}) for pod in _names(name, size)}
    return Gang((GROUPS, msgspec.json.encode(group)), pods)


def make_native_gang(name: str, size: int, *, within: str | None = None) -> Gang:
    """A native group whose pods all go to nodes with one value of the label `within`."""
    spec: dict[str, Any] = {"schedulingPolicy": {"gang": {"minCount": size}}}
    if within is not None:
        spec["schedulingConstraints"] = {"topology": [{"key": within}]}
    group = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": spec,
    }
    pods = {pod: _native_member(pod, name) for pod in _names(name, size)}
    return Gang((NATIVE_GROUPS, msgspec.json.encode(group)), pods)


def gang_names(count: int, *, prefix: str = "gang") -> Iterator[str]:
    """The names of `count` gangs."""
    return (f"{prefix}-{number:04}" for number in range(count))


def _names(gang: str, size: int) -> list[str]:
    return [f"{gang}-{member:04}" for member in range(size)]


def _native_member(name: str, group: str) -> Body:
    path, body = scale.pod(name)
    pod = msgspec.json.decode(body)
    pod["spec"]["schedulingGroup"] = {"podGroupName": group}
    return path, msgspec.json.encode(pod)
