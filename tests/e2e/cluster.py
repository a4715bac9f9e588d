"""The cluster as a test sees it: its own namespace, its pods, and what has been said about them."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from tests.builders import PodDict
from tests.controlplane.api import Api, ApiError
from tests.controlplane.plane import ControlPlane
from tests.e2e.eventually import eventually


class Cluster:
    """Pods of one namespace for one scheduler, by their names."""

    def __init__(self, plane: ControlPlane, api: Api, namespace: str) -> None:
        self.api = api
        self.namespace = namespace
        self._plane = plane
        self._pods = f"/api/v1/namespaces/{namespace}/pods"

    @contextmanager
    def from_another_thread(self) -> Iterator["Cluster"]:
        """This namespace over another connection, as connections are not for several threads."""
        with self._plane.api() as api:
            yield Cluster(self._plane, api, self.namespace)

    def create(self, *pods: PodDict, scheduler: str) -> None:
        """Creates pods for a scheduler."""
        for pod in pods:
            metadata = {key: value for key, value in pod["metadata"].items() if key != "uid"}
            metadata["namespace"] = self.namespace
            self.api.post(self._pods, {**pod.scheduler(scheduler), "metadata": metadata})

    def delete(self, name: str) -> None:
        """Deletes a pod at once, as after its grace period."""
        self.api.delete(f"{self._pods}/{name}", gracePeriodSeconds=0)

    def bind(self, name: str, node: str) -> None:
        """Binds a pod, as another scheduler or a person would."""
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        self.api.post(f"{self._pods}/{name}/binding", {"metadata": {"name": name}, "target": target})

    def pod(self, name: str) -> Any:
        """The pod as the API has it."""
        return self.api.get(f"{self._pods}/{name}")

    def node_of(self, name: str) -> str:
        """The pod's node; empty while it has none."""
        node: str = self.pod(name)["spec"].get("nodeName", "")
        return node

    def wait_until_bound(self, *names: str) -> list[str]:
        """The nodes of the pods, once all of them have one."""
        return [eventually(partial(self.node_of, name)) for name in names]

    def scheduled_condition(self, name: str) -> dict[str, Any]:
        """The pod's PodScheduled condition; empty while it has none."""
        conditions = self.pod(name).get("status", {}).get("conditions", [])
        return next((condition for condition in conditions if condition["type"] == "PodScheduled"), {})

    def wait_until_unschedulable(self, name: str) -> str:
        """The message of the condition that says why the pod has no node, once it is there."""
        condition = eventually(lambda: self._with_reason(name, "Unschedulable"))
        message: str = condition["message"]
        return message

    def wait_until_turned_away(self, name: str) -> str:
        """Why no node takes the pod: the same message up to what preemption adds to it."""
        return self.wait_until_unschedulable(name).partition(" preemption: ")[0]

    def events(self, name: str, reason: str) -> list[Any]:
        """Events of a reason about the pod, oldest first."""
        listed = self.api.get(f"/apis/events.k8s.io/v1/namespaces/{self.namespace}/events")["items"]
        about = [event for event in listed if (event["regarding"]["name"], event["reason"]) == (name, reason)]
        return sorted(about, key=lambda event: event["eventTime"])

    def is_there(self, name: str) -> bool:
        """Whether there is such a pod."""
        try:
            self.pod(name)
        except ApiError:
            return False
        return True

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        """What kubectl prints, in this namespace."""
        return self._plane.kubectl("--namespace", self.namespace, *arguments, stdin=stdin)

    def _with_reason(self, name: str, reason: str) -> dict[str, Any]:
        condition = self.scheduled_condition(name)
        return condition if condition.get("reason") == reason else {}
