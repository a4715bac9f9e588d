"""The cluster as one of these tests sees it: a namespace, its gangs, and the nodes that the test adds.

Nothing is removed from the namespace, as controllers would create it again: it ends with the control plane.
"""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import yaml

from tests.builders import make_node
from tests.controlplane.api import Api
from tests.controlplane.plane import ControlPlane, KubectlError
from tests.coscheduling.real.gangs import GangCluster
from tests.e2e.eventually import eventually

WITHIN_SECONDS = 120.0
_EXAMPLES = Path(__file__).parents[2] / "deploy" / "examples"
_AUTOMATIC = "muster-scheduler.io/auto-pod-groups"
_EARLY = "failed calling webhook"


def example(name: str) -> list[Any]:
    """The objects of an example that docs/gangs.md names."""
    return [*yaml.safe_load_all((_EXAMPLES / name).read_text())]


class NeighbourCluster(GangCluster):
    """A namespace with pods of other projects' controllers.

    Attributes:
        quotas: the path of its ElasticQuotas.
    """

    def __init__(self, plane: ControlPlane, api: Api, namespace: str, scheduler: str) -> None:
        super().__init__(plane, api, namespace, scheduler)
        self.quotas = f"/apis/scheduling.x-k8s.io/v1alpha1/namespaces/{namespace}/elasticquotas"
        self._nodes: list[str] = []

    def add_node(self, cpu: str) -> None:
        """Adds a node with so much CPU, and plenty of memory."""
        name = f"{self.namespace}-{len(self._nodes)}"
        self.api.post("/api/v1/nodes", make_node(name, cpu=cpu, memory="64Gi"))
        self._nodes.append(name)

    def remove_nodes(self) -> None:
        """Removes the nodes, with what they run still bound to them."""
        while self._nodes:
            self.api.delete(f"/api/v1/nodes/{self._nodes.pop()}")

    def switch_on_automatic_groups(self) -> None:
        """Marks the namespace, as docs/gangs.md has it."""
        self.api.patch(f"/api/v1/namespaces/{self.namespace}", {"metadata": {"labels": {_AUTOMATIC: "true"}}})

    def apply(self, objects: Iterable[Any]) -> None:
        """Applies objects; a program that has only just started may not serve all of its webhooks yet."""
        text = yaml.safe_dump_all(objects)
        eventually(lambda: self._accepts(text))

    def wait_until_waiting(self, pods: int) -> None:
        """Returns when there are exactly so many pods, Muster has said of each that it does not fit, and none runs."""
        eventually(lambda: self._turned_away() == pods, within=WITHIN_SECONDS)
        assert (len(self.pods()), self.nodes()) == (pods, {})

    def wait_until_whole(self, pods: int) -> dict[str, str]:
        """The nodes of the pods by their names, once exactly so many have one."""
        started = eventually(lambda: found if len(found := self.nodes()) >= pods else {}, within=WITHIN_SECONDS)
        assert len(started) == pods
        return started

    def wait_until_gone(self, uids: Collection[str]) -> None:
        """Returns when the pods with these UIDs are gone; what is deleted ends at once, as a kubelet would have it."""
        eventually(lambda: not self._left(uids), within=WITHIN_SECONDS)

    def uids(self) -> dict[str, str]:
        """The UIDs of the pods by their names."""
        return {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in self.pods()}

    def groups(self) -> dict[str, Any]:
        """The PodGroups by their names."""
        return {group["metadata"]["name"]: group for group in self.api.get(self._groups)["items"]}

    def owners(self, group: str) -> list[tuple[str, str]]:
        """Kind and name of what owns a PodGroup."""
        owners = self.groups()[group]["metadata"].get("ownerReferences", ())
        return [(owner["kind"], owner["name"]) for owner in owners]

    def _left(self, uids: Collection[str]) -> list[str]:
        left = [pod["metadata"] for pod in self.pods() if pod["metadata"]["uid"] in uids]
        for pod in left:
            if "deletionTimestamp" in pod:
                self.delete(pod["name"])
        return [pod["name"] for pod in left]

    def _turned_away(self) -> int:
        said = (self.scheduled_condition(pod["metadata"]["name"]) for pod in self.pods())
        return sum(condition.get("reason") == "Unschedulable" for condition in said)

    def _accepts(self, text: str) -> bool:
        try:
            self.kubectl("apply", "-f", "-", stdin=text)
        except KubectlError as error:
            if _EARLY in str(error):
                return False
            raise
        return True
