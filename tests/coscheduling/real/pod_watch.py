"""A watch on one namespace's pods, as a client other than Muster sees it."""

from typing import Any

from tests.controlplane.api import Api
from tests.coscheduling.chaos.watch import GangWatch


class PodWatch:
    """Tells a `GangWatch` of every change of a pod, in the order in which the API server made them.

    The time is the number of bindings so far: it says how many others were bound while a gang was, on any machine.
    """

    def __init__(self, api: Api, namespace: str, gangs: GangWatch) -> None:
        self._api = api
        self._path = f"/api/v1/namespaces/{namespace}/pods"
        self._version: str = api.get(self._path)["metadata"]["resourceVersion"]
        self._gangs = gangs
        self._bound: set[str] = set()

    def read(self) -> None:
        """Take in what has happened, and what happens within a second."""
        for change in self._api.watch(self._path, resourceVersion=self._version, timeoutSeconds=1):
            self._take(change["type"], change["object"])
        self._gangs.look(len(self._bound))

    def _take(self, kind: str, pod: dict[str, Any]) -> None:
        assert kind in ("ADDED", "MODIFIED", "DELETED"), pod
        metadata = pod["metadata"]
        self._version = metadata["resourceVersion"]
        key = f"{metadata['namespace']}/{metadata['name']}"
        if pod["spec"].get("nodeName"):
            self._bound.add(key)
        if kind == "DELETED":
            self._gangs.pod_gone(key, pod, len(self._bound))
        else:
            self._gangs.pod_changed(key, pod, len(self._bound))
