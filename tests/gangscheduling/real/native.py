"""The cluster as tests of native groups see it: one namespace with its PodGroups and pods, and nodes for the test."""

from collections.abc import Mapping
from typing import Any

from tests.builders import PodDict, make_node
from tests.controlplane.api import Api
from tests.controlplane.plane import ControlPlane
from tests.e2e.cluster import Cluster
from tests.e2e.eventually import eventually
from tests.gangscheduling.world import make_composite, make_group

API = "/apis/scheduling.k8s.io/v1beta1"
ALPHA_API = "/apis/scheduling.k8s.io/v1alpha3"
WORKLOAD = {"workloadName": "job", "templateName": "part"}
"""A group that is a part, or has parts, names a Workload; nobody looks whether it exists."""


class NativeCluster(Cluster):
    """PodGroups and pods of one namespace."""

    def __init__(self, plane: ControlPlane, api: Api, namespace: str, scheduler: str) -> None:
        super().__init__(plane, api, namespace)
        self.scheduler = scheduler
        self._groups = f"{API}/namespaces/{namespace}/podgroups"
        self._composites = f"{ALPHA_API}/namespaces/{namespace}/compositepodgroups"
        self._nodes: list[str] = []

    def add_nodes(self, *names: str, cpu: str = "4", labels: Mapping[str, str] = {}) -> None:
        """Nodes come; they go with `remove_nodes`."""
        for name in names:
            self.api.post("/api/v1/nodes", make_node(name, cpu=cpu).labels(labels))
            self._nodes.append(name)

    def remove_nodes(self) -> None:
        """The nodes of this test go."""
        while self._nodes:
            self.api.delete(f"/api/v1/nodes/{self._nodes.pop()}")

    def add_group(self, name: str, min_count: int | None = None, **spec: Any) -> None:
        """Creates a PodGroup; see `make_group`."""
        group = make_group(name, min_count, namespace=self.namespace, **spec)
        self.api.post(self._groups, {**group, "metadata": {"name": name}})

    def add_composite(self, name: str, min_group_count: int | None = None, **spec: Any) -> None:
        """Creates a CompositePodGroup; see `make_composite`."""
        group = make_composite(name, min_group_count, namespace=self.namespace, workloadRef=WORKLOAD, **spec)
        self.api.post(self._composites, {**group, "metadata": {"name": name}})

    def add_part(self, name: str, parent: str, min_count: int | None = None, **spec: Any) -> None:
        """Creates a PodGroup that is a part of a CompositePodGroup."""
        self.add_group(name, min_count, parentCompositePodGroupName=parent, workloadRef=WORKLOAD, **spec)

    def change_min_count(self, name: str, min_count: int) -> None:
        """Changes how many pods a gang needs."""
        self.api.patch(f"{self._groups}/{name}", {"spec": {"schedulingPolicy": {"gang": {"minCount": min_count}}}})

    def annotate(self, name: str, annotations: Mapping[str, str]) -> None:
        """Sets annotations of a PodGroup."""
        self.api.patch(f"{self._groups}/{name}", {"metadata": {"annotations": dict(annotations)}})

    def add(self, *pods: PodDict) -> None:
        """Creates pods for this cluster's scheduler."""
        self.create(*pods, scheduler=self.scheduler)

    def group(self, name: str) -> Any:
        """The PodGroup as the API has it."""
        return self.api.get(f"{self._groups}/{name}")

    def groups(self) -> list[Any]:
        """All PodGroups."""
        listed: list[Any] = self.api.get(self._groups)["items"]
        return listed

    def condition(self, name: str) -> dict[str, Any]:
        """The condition PodGroupInitiallyScheduled; empty while there is none."""
        conditions = self.group(name).get("status", {}).get("conditions", [])
        return next((each for each in conditions if each["type"] == "PodGroupInitiallyScheduled"), {})

    def wait_until_said(self, name: str, status: str, reason: str) -> dict[str, Any]:
        """The group's condition, once it is this."""
        return eventually(
            lambda: (
                found
                if ((found := self.condition(name)).get("status"), found.get("reason")) == (status, reason)
                else {}
            )
        )

    def nodes(self, group: str) -> dict[str, str]:
        """The nodes of the group's bound pods, by the pods' names."""
        pods = self.api.get(f"/api/v1/namespaces/{self.namespace}/pods")["items"]
        return {
            pod["metadata"]["name"]: pod["spec"]["nodeName"]
            for pod in pods
            if pod["spec"].get("nodeName") and pod["spec"].get("schedulingGroup", {}).get("podGroupName") == group
        }

    def wait_until_started(self, group: str, members: int) -> dict[str, str]:
        """The nodes of the group's pods, once so many are bound."""
        return eventually(lambda: found if len(found := self.nodes(group)) >= members else {})
