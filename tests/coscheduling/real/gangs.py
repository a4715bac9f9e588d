"""The cluster as tests of gangs see it: one namespace with its PodGroups and pods, looked at all at once."""

from typing import Any

from tests.builders import PodDict
from tests.controlplane.api import Api
from tests.controlplane.plane import ControlPlane
from tests.coscheduling.objects import GROUP_LABEL, make_group
from tests.e2e.cluster import Cluster
from tests.e2e.eventually import eventually

API = "/apis/scheduling.x-k8s.io/v1alpha1"


class GangCluster(Cluster):
    """Pods and PodGroups of one namespace."""

    def __init__(self, plane: ControlPlane, api: Api, namespace: str, scheduler: str = "") -> None:
        super().__init__(plane, api, namespace)
        self.scheduler = scheduler
        self._groups = f"{API}/namespaces/{namespace}/podgroups"

    def add_group(self, name: str, min_member: int | None = None, **more: Any) -> None:
        """Creates a PodGroup; see `make_group`."""
        self.api.post(self._groups, make_group(name, min_member, namespace=self.namespace, **more))

    def change_group(self, name: str, **spec: object) -> None:
        """Changes fields of a PodGroup's spec."""
        self.api.patch(f"{self._groups}/{name}", {"spec": spec})

    def add(self, *pods: PodDict) -> None:
        """Creates pods for this cluster's scheduler."""
        self.create(*pods, scheduler=self.scheduler)

    def set_phase(self, pod: str, phase: str) -> None:
        """Says what a kubelet would say of the pod."""
        path = f"/api/v1/namespaces/{self.namespace}/pods/{pod}/status"
        self.api.patch(path, {"status": {"phase": phase}})

    def pods(self) -> list[Any]:
        """All pods."""
        listed: list[Any] = self.api.get(f"/api/v1/namespaces/{self.namespace}/pods")["items"]
        return listed

    def nodes(self, group: str = "") -> dict[str, str]:
        """The nodes of the bound pods, of one group or of all, by the pods' names."""
        return {
            pod["metadata"]["name"]: pod["spec"]["nodeName"]
            for pod in self.pods()
            if pod["spec"].get("nodeName") and group in ("", pod["metadata"].get("labels", {}).get(GROUP_LABEL))
        }

    def wait_until_started(self, group: str, members: int, *, within: float = 60.0) -> dict[str, str]:
        """The nodes of a group's members, once so many are bound."""
        return eventually(
            lambda: found if len(found := self.nodes(group)) >= members else {},
            within=within,
        )

    def condition(self, group: str) -> tuple[str, str]:
        """Reason and message of the group's condition; both empty while it has none."""
        status = self.api.get(f"{self._groups}/{group}").get("status", {})
        [said] = status.get("conditions") or [{"reason": "", "message": ""}]
        return said["reason"], said["message"]

    def wait_until_said(self, pod: str, text: str) -> str:
        """The last FailedScheduling message of a pod, once it has this text; numbers change every half minute."""
        return eventually(lambda: next((note for note in self.said(pod) if text in note), ""), within=90)

    def said(self, pod: str) -> list[str]:
        """The FailedScheduling messages of a pod."""
        return [event["note"] for event in self.events(pod, "FailedScheduling")]
