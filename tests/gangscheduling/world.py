"""The engine with PodGroups of scheduling.k8s.io in its cluster, and what tests do to them."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from muster.framework.groups import Announcement
from muster.plugins.gangscheduling.api import NAME
from muster.plugins.gangscheduling.book import NativePodGroups
from muster.testing import VirtualScheduler
from tests.builders import PodDict, make_pod

KIND = "podgroups.v1beta1.scheduling.k8s.io"
COMPOSITE_KIND = "compositepodgroups.v1alpha3.scheduling.k8s.io"
NO_VICTIMS = ", pod group preemption: No preemption victims found for incoming preemptor"
"""The end of a group's reason that could evict no pod."""


def make_group(name: str, min_count: int | None = None, *, namespace: str = "default", **spec: Any) -> dict[str, Any]:
    """A PodGroup that needs `min_count` pods at once, or whose policy is basic; `spec` are more fields of its spec."""
    policy: dict[str, Any] = {"basic": {}} if min_count is None else {"gang": {"minCount": min_count}}
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": namespace, "generation": 1},
        "spec": {"schedulingPolicy": policy, **spec},
    }


def make_composite(
    name: str, min_group_count: int | None = None, *, namespace: str = "default", **spec: Any
) -> dict[str, Any]:
    """A CompositePodGroup that needs so many of its parts at once, or whose policy is basic."""
    policy: dict[str, Any] = {"basic": {}} if min_group_count is None else {"gang": {"minGroupCount": min_group_count}}
    return {
        "apiVersion": "scheduling.k8s.io/v1alpha3",
        "kind": "CompositePodGroup",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"schedulingPolicy": policy, **spec},
    }


def make_members(
    group: str, count: int, *, first: int = 0, cpu: str = "1", priority: int | None = None
) -> list[PodDict]:
    """Pods `<group>-<number>` that name the group."""
    pods = [make_pod(f"{group}-{number}").requests(cpu=cpu) for number in range(first, first + count)]
    for pod in pods:
        pod["spec"]["schedulingGroup"] = {"podGroupName": group}
        if priority is not None:
            pod["spec"]["priority"] = priority
    return pods


class World(VirtualScheduler):
    """A cluster with Muster on it, and groups."""

    @property
    def groups(self) -> NativePodGroups:
        """What the plugin knows."""
        found = self.engine.shared[NAME]
        assert isinstance(found, NativePodGroups)
        return found

    def add_group(self, name: str, min_count: int | None = None, **more: Any) -> str:
        """A PodGroup comes; see `make_group`."""
        return self.api.put(KIND, make_group(name, min_count, **more))

    def add_composite(self, name: str, min_group_count: int | None = None, **more: Any) -> str:
        """A CompositePodGroup comes; see `make_composite`."""
        return self.api.put(COMPOSITE_KIND, make_composite(name, min_group_count, **more))

    def reported(self, key: str) -> tuple[StrEnum, str] | None:
        """The last word on a group, without what only people read."""
        said = self.said(key)
        return None if said is None else (said.reason, said.message)

    def change_min_count(self, key: str, min_count: int) -> None:
        """The one thing in a spec that may change."""

        def change(group: dict[str, Any]) -> None:
            group["spec"]["schedulingPolicy"] = {"gang": {"minCount": min_count}}
            group["metadata"]["generation"] += 1

        self.api.change(KIND, key, change)

    def change_min_group_count(self, key: str, min_group_count: int) -> None:
        """The one thing in a composite's spec that may change, from 1.38 on."""

        def change(group: dict[str, Any]) -> None:
            group["spec"]["schedulingPolicy"] = {"gang": {"minGroupCount": min_group_count}}

        self.api.change(COMPOSITE_KIND, key, change)

    def delete_group(self, key: str) -> None:
        """A PodGroup goes."""
        self.api.delete(KIND, key)

    def said(self, key: str) -> Announcement | None:
        """The last word on a group."""
        return self.groups.record(key).announced

    def bound(self, group: str) -> list[str]:
        """Names of a group's pods that are bound, sorted."""
        return sorted(
            pod["metadata"]["name"]
            for pod in self.api.pods.values()
            if pod["spec"].get("nodeName") and _group(pod) == group
        )


def _group(pod: Mapping[str, Any]) -> str | None:
    found: str | None = pod["spec"].get("schedulingGroup", {}).get("podGroupName")
    return found
