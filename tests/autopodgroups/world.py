"""The engine with the plugin, on an API in memory whose controllers and groups a test plays, in virtual time."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from muster.plugins.autopodgroups.groups import AutoGroups
from muster.plugins.autopodgroups.plugin import AutoPodGroups
from muster.testing import VirtualScheduler, configuration_of
from tests.builders import make_node

Object = dict[str, Any]
LABEL = "muster-scheduler.io/auto-pod-groups"
JOBS, STATEFUL_SETS = "jobs.v1.batch", "statefulsets"
JOB_SETS = "jobsets.v1alpha2.jobset.x-k8s.io"
LEADER_WORKER_SETS = "leaderworkersets.v1.leaderworkerset.x-k8s.io"
GROUPS, NATIVE_GROUPS = "podgroups", "podgroups.v1beta1.scheduling.k8s.io"


class World(VirtualScheduler):
    """A cluster of nodes with one core each; the namespace `default` is labelled as `mark` says, "" for not at all."""

    def __init__(
        self,
        nodes: int,
        *,
        args: Mapping[str, object] = {},
        names: Sequence[str] = ("muster",),
        plugins: Sequence[str] = ("Coscheduling", "AutoPodGroups"),
        mark: str = "true",
    ) -> None:
        given = {"AutoPodGroups": args} if args else {}
        super().__init__(configuration=configuration_of(plugins, names=names, args=given))
        self.add_nodes(*(make_node(f"node-{number}", cpu="1") for number in range(nodes)))
        self.mark_namespace(mark)

    @property
    def wanted(self) -> AutoGroups:
        """What the plugin says of groups."""
        found = self.engine.shared[AutoPodGroups.name]
        assert isinstance(found, AutoGroups)
        return found

    def mark_namespace(self, mark: str, name: str = "default") -> None:
        """The namespace has this label, or none for ""."""
        self.api.put("namespaces", {"metadata": {"name": name, "labels": {LABEL: mark} if mark else {}}})

    def put(self, kind: str, workload: Mapping[str, Any], *, uid: str = "", **status: Any) -> str:
        """A workload comes, with this UID or that of the controller of `owned` pods, or is as it is now."""
        metadata = {**workload["metadata"], "namespace": "default"}
        stored = {**workload, "metadata": metadata, "status": status}
        return self.api.put(kind, stored, uid=uid or f"uid-{metadata['name']}")

    def create_group(self, group: str) -> None:
        """Create a group as the controller does, which must be wanted."""
        wanted = self.wanted.to_create(f"default/{group}")
        assert wanted is not None
        self.put_group(group, wanted.size, owner=msgspec.to_builtins(wanted.owner))

    def put_group(self, group: str, size: int, *, owner: Object | None = None, native: bool = False) -> None:
        """A PodGroup with this controller comes, or has another size."""
        metadata = {"name": group, "namespace": "default", "ownerReferences": [] if owner is None else [owner]}
        spec = {"schedulingPolicy": {"gang": {"minCount": size}}} if native else {"minMember": size}
        self.api.put(NATIVE_GROUPS if native else GROUPS, {"metadata": metadata, "spec": spec})

    def resize(self, group: str, size: int) -> None:
        """The group needs so many pods from now on."""
        self.api.change(GROUPS, f"default/{group}", lambda found: found["spec"].update(minMember=size))

    def bound(self) -> list[str]:
        """The names of the pods that have a node."""
        return sorted(pod["metadata"]["name"] for pod in self.api.pods.values() if pod["spec"].get("nodeName"))
